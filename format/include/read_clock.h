/* SPDX-License-Identifier: Apache-2.0 */
/* read_clock.h - a clock of the system, in nanoseconds. */
#ifndef READ_CLOCK_H
#define READ_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t read_clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

#endif /* READ_CLOCK_H */
