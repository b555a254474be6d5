/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ticks.h - ticks of a device's timer as nanoseconds.
 */
#ifndef TICKS_H
#define TICKS_H

#include <stdint.h>

#define TICKS_NS_HZ 1000000000u     /* of %globaltimer: a tick is a nanosecond */
#define TICKS_HZ_MAX 10000000000ull /* so that nothing below runs over */

/* Saturates; hz is 1 to TICKS_HZ_MAX. */
static inline int64_t ticks_ns(int64_t ticks, uint64_t hz)
{
    int64_t rate = (int64_t)hz, seconds_ns, ns;
    if (hz == TICKS_NS_HZ)
        return ticks;
    if (__builtin_mul_overflow(ticks / rate, (int64_t)TICKS_NS_HZ, &seconds_ns) ||
        __builtin_add_overflow(seconds_ns, ticks % rate * (int64_t)TICKS_NS_HZ / rate, &ns))
        return ticks < 0 ? INT64_MIN : INT64_MAX;
    return ns;
}

#endif /* TICKS_H */
