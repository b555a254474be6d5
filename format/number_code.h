/* SPDX-License-Identifier: Apache-2.0 */
/*
 * number_code.h - a number as a symbol of one byte and the bits below it (SPEC.md, section 16.4).
 *
 * Small numbers have a symbol of their own; of larger ones the symbol says the highest bit and the
 * three or one behind it, and the rest follow as they are. Noise is in those; what can be foreseen
 * is in the symbols, which an entropy coder takes.
 */
#ifndef NUMBER_CODE_H
#define NUMBER_CODE_H

#include <stdint.h>

#define NUMBER_EXACT 64u    /* numbers below have a symbol each */
#define NUMBER_FINE_TOP 18u /* from this highest bit on one bit behind it is told, not three */
#define NUMBER_COARSE (NUMBER_EXACT + 8 * (NUMBER_FINE_TOP - 6))
#define NUMBER_SYMBOLS (NUMBER_COARSE + 2 * (64 - NUMBER_FINE_TOP))

/* The symbol of a number, and how many of its lowest bits it does not tell. */
static inline unsigned number_symbol(uint64_t number, unsigned *bits_out)
{
    if (number < NUMBER_EXACT) {
        *bits_out = 0;
        return (unsigned)number;
    }
    unsigned top = 63u - (unsigned)__builtin_clzll(number);
    if (top < NUMBER_FINE_TOP) {
        *bits_out = top - 3;
        return NUMBER_EXACT + (top - 6) * 8 + ((unsigned)(number >> (top - 3)) & 7);
    }
    *bits_out = top - 1;
    return NUMBER_COARSE + (top - NUMBER_FINE_TOP) * 2 + ((unsigned)(number >> (top - 1)) & 1);
}

/* The smallest number of a symbol below NUMBER_SYMBOLS, and its bits. */
static inline uint64_t number_base(unsigned symbol, unsigned *bits_out)
{
    if (symbol < NUMBER_EXACT) {
        *bits_out = 0;
        return symbol;
    }
    if (symbol < NUMBER_COARSE) {
        unsigned top = (symbol - NUMBER_EXACT) / 8 + 6;
        *bits_out = top - 3;
        return (uint64_t)(8 | (symbol & 7)) << (top - 3);
    }
    unsigned top = (symbol - NUMBER_COARSE) / 2 + NUMBER_FINE_TOP;
    *bits_out = top - 1;
    return (uint64_t)(2 | (symbol & 1)) << (top - 1);
}

#endif /* NUMBER_CODE_H */
