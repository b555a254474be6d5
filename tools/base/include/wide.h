/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wide.h - products of 64-bit numbers, exactly; also where the compiler has no type of 128 bits.
 */
#ifndef WIDE_H
#define WIDE_H

#include <stdbool.h>
#include <stdint.h>

struct wide {
    uint64_t high, low;
};

static inline struct wide wide_product(uint64_t a, uint64_t b)
{
    const uint64_t a_low = (uint32_t)a, a_high = a >> 32, b_low = (uint32_t)b, b_high = b >> 32;
    const uint64_t low = a_low * b_low, one = a_high * b_low, other = a_low * b_high;
    const uint64_t middle = (low >> 32) + (uint32_t)one + (uint32_t)other;
    return (struct wide){a_high * b_high + (one >> 32) + (other >> 32) + (middle >> 32),
                         middle << 32 | (uint32_t)low};
}

static inline struct wide wide_plus(struct wide wide, uint64_t more)
{
    const uint64_t low = wide.low + more;
    return (struct wide){wide.high + (low < more), low};
}

static inline bool wide_less(struct wide a, struct wide b)
{
    return a.high < b.high || (a.high == b.high && a.low < b.low);
}

/* high < divisor. Bit by bit: what every compiler can do. */
static inline uint64_t wide_long_division(struct wide wide, uint64_t divisor)
{
    uint64_t rest = wide.high, quotient = 0;
    for (int bit = 63; bit >= 0; bit--) {
        const bool over = rest >> 63;
        rest = rest << 1 | (wide.low >> bit & 1);
        if (over || rest >= divisor) {
            rest -= divisor;
            quotient |= UINT64_C(1) << bit;
        }
    }
    return quotient;
}

/* Rounded down; UINT64_MAX if it is more. divisor is not 0. */
static inline uint64_t wide_quotient(struct wide wide, uint64_t divisor)
{
    if (wide.high == 0)
        return wide.low / divisor;
    if (wide.high >= divisor)
        return UINT64_MAX;
#ifdef __SIZEOF_INT128__
    __extension__ typedef unsigned __int128 whole;
    return (uint64_t)(((whole)wide.high << 64 | wide.low) / divisor);
#else
    return wide_long_division(wide, divisor);
#endif
}

#endif /* WIDE_H */
