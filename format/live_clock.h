/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_clock.h - ticks into times, from the samples that a live file has.
 *
 * Between two samples the line is straight. Behind the last one it goes on at
 * the rate of all samples together: the longest base gives the best rate.
 */
#ifndef LIVE_CLOCK_H
#define LIVE_CLOCK_H

#include "rbwp_format.h"

#define LIVE_SAMPLES_MAX 4096u

struct live_clock {
    struct rbwp_clock_sample *samples; /* LIVE_SAMPLES_MAX of them, ascending in both */
    uint32_t count;
    double ns_per_tick; /* by the head's word; used where samples do not tell */
};

/* RBWP_E_MEMORY. ticks_per_second 0: not known, a tick is taken for a nanosecond. */
enum rbwp_status live_clock_init(struct live_clock *clock, uint64_t ticks_per_second);
void live_clock_free(struct live_clock *clock);

/* Takes a sample; one that is not behind the last is left out. */
void live_clock_add(struct live_clock *clock, const struct rbwp_clock_sample *sample);

/* Any ticks, from 0 to 2^62 - 1 ns. There must be a sample. */
int64_t live_clock_ns(const struct live_clock *clock, uint64_t ticks);

#endif /* LIVE_CLOCK_H */
