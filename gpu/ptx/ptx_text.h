/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_text.h - which bytes names and numbers are made of, whatever the locale. */
#ifndef PTX_TEXT_H
#define PTX_TEXT_H

#include <stdbool.h>

static inline bool ptx_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool ptx_name_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || ptx_digit(c) || c == '_' ||
           c == '$' || c == '%';
}

#endif /* PTX_TEXT_H */
