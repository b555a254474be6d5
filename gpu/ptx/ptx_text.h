/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_text.h - which bytes names and numbers are made of, whatever the locale; arrays that grow. */
#ifndef PTX_TEXT_H
#define PTX_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

static inline bool ptx_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool ptx_name_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || ptx_digit(c) || c == '_' ||
           c == '$' || c == '%';
}

/* items with room for one more behind count; NULL without memory, items is as it was. */
static inline void *ptx_grow(void *items, uint32_t count, uint32_t *room, size_t item_bytes)
{
    if (count < *room)
        return items;
    uint32_t more = *room ? *room * 2 : 64;
    void *grown = more > *room ? realloc(items, more * item_bytes) : NULL;
    if (grown)
        *room = more;
    return grown;
}

#endif /* PTX_TEXT_H */
