/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_grow.h - arrays that grow. */
#ifndef PTX_GROW_H
#define PTX_GROW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

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

#endif /* PTX_GROW_H */
