/* SPDX-License-Identifier: Apache-2.0 */
/*
 * digits.h - integers, and what stands between them, as text, fast.
 *
 * Two digits a step from a table, and eight digits at once below a power of
 * ten that is a constant, so a 64-bit number costs at most two wide
 * multiplications. Header only: the calls are in the inner loop of dump.
 */
#ifndef DIGITS_H
#define DIGITS_H

#include <stdint.h>
#include <string.h>

#define DIGITS_MAX 20 /* of a 64-bit integer, sign included */

/* A literal at at; the end. */
#define PUT(at, literal) ((char *)memcpy(at, literal, sizeof(literal) - 1) + sizeof(literal) - 1)

static const char digit_pairs[201] = "00010203040506070809101112131415161718192021222324"
                                     "25262728293031323334353637383940414243444546474849"
                                     "50515253545556575859606162636465666768697071727374"
                                     "75767778798081828384858687888990919293949596979899";

static inline char *put_2_digits(char *at, uint32_t value)
{
    memcpy(at, digit_pairs + 2 * value, 2);
    return at + 2;
}

static inline char *put_4_digits(char *at, uint32_t value)
{
    return put_2_digits(put_2_digits(at, value / 100), value % 100);
}

/* Exactly eight digits, leading zeros included; value is below 10^8. */
static inline char *put_8_digits(char *at, uint32_t value)
{
    return put_4_digits(put_4_digits(at, value / 10000), value % 10000);
}

/* Without leading zeros; value is below 10^8. */
static inline char *put_below_1e8(char *at, uint32_t value)
{
    if (value >= 10000) {
        at = put_below_1e8(at, value / 10000);
        return put_4_digits(at, value % 10000);
    }
    if (value >= 100) {
        at = put_below_1e8(at, value / 100);
        return put_2_digits(at, value % 100);
    }
    if (value >= 10)
        return put_2_digits(at, value);
    *at = (char)('0' + value);
    return at + 1;
}

/* Writes value at at, which has room for DIGITS_MAX bytes. Returns the end. */
static inline char *put_u64(char *at, uint64_t value)
{
    if (value < 100000000)
        return put_below_1e8(at, (uint32_t)value);
    uint64_t high = value / 100000000;
    if (high < 100000000) {
        at = put_below_1e8(at, (uint32_t)high);
    } else {
        at = put_below_1e8(at, (uint32_t)(high / 100000000));
        at = put_8_digits(at, (uint32_t)(high % 100000000));
    }
    return put_8_digits(at, (uint32_t)(value % 100000000));
}

static inline char *put_i64(char *at, int64_t value)
{
    if (value >= 0)
        return put_u64(at, (uint64_t)value);
    *at = '-';
    return put_u64(at + 1, 0 - (uint64_t)value);
}

#endif /* DIGITS_H */
