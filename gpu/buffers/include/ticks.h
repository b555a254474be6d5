/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ticks.h - ticks of a device's timer as nanoseconds.
 */
#ifndef TICKS_H
#define TICKS_H

#include <stdint.h>

#define TICKS_NS_HZ 1000000000u     /* of %globaltimer: a tick is a nanosecond */
#define TICKS_HZ_MAX 10000000000ull /* times 10^9 it fits a uint64_t */

/* Saturates; hz is 1 to TICKS_HZ_MAX. */
static inline int64_t ticks_ns(int64_t ticks, uint64_t hz)
{
    uint64_t size = ticks < 0 ? 0 - (uint64_t)ticks : (uint64_t)ticks, ns;
    if (hz == TICKS_NS_HZ)
        return ticks;
    if (__builtin_mul_overflow(size / hz, (uint64_t)TICKS_NS_HZ, &ns) ||
        __builtin_add_overflow(ns, size % hz * TICKS_NS_HZ / hz, &ns) || ns > INT64_MAX)
        return ticks < 0 ? INT64_MIN : INT64_MAX;
    return ticks < 0 ? -(int64_t)ns : (int64_t)ns;
}

/* What fits of it. */
static inline int64_t ticks_rounded(double ns)
{
    return ns >= 0x1p63 ? INT64_MAX : ns < -0x1p63 ? INT64_MIN : (int64_t)ns;
}

/* What a clock went wrong in since_ns, if it gains so many ns in each 10^9. Saturates. */
static inline int64_t ticks_drifted_ns(int64_t since_ns, int64_t drift_ppb)
{
    return ticks_rounded((double)since_ns * (double)drift_ppb / 1e9);
}

#endif /* TICKS_H */
