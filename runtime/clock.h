/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock.h - ticks, and the time line of a session.
 *
 * Ticks are the time-stamp counter where the CPU promises a constant rate and
 * the kernel has not found it unstable, else nanoseconds of CLOCK_MONOTONIC.
 *
 * A time line turns ticks into absolute nanoseconds. It is anchored once to
 * CLOCK_REALTIME when the session starts and follows CLOCK_MONOTONIC from
 * there, so that it neither jumps when the wall clock is set nor drifts from
 * the system's rate: times are interpolated between samples taken all through
 * the run. Between two samples it is a straight line, so it never runs
 * backwards.
 */
#ifndef CLOCK_H
#define CLOCK_H

#include "rbwp_format.h"

#define TIMELINE_SAMPLES_MAX 4096

struct timeline {
    struct rbwp_clock_sample sample[TIMELINE_SAMPLES_MAX]; /* ascending ticks */
    uint32_t samples;
    uint64_t error_ns; /* half the widest window in which a sample was taken */
    int64_t offset_ns; /* time line = monotonic + offset */
};

/* Decides which clock to use. Idempotent; every entry of the runtime calls it first. */
void clock_prepare(void);
enum rbwp_clock_kind clock_kind(void);

/* Replaces the clock (tests). NULL gives the real one back. Not while a session runs. */
void clock_replace(uint64_t (*read_ticks)(void));

/* Starts the line at the present time, the first sample. */
void timeline_start(struct timeline *line);
/* Takes a sample now, so that every tick read before this call lies inside the line. */
void timeline_sample(struct timeline *line);

/* A straight piece of the line: time_ns = base_ns + (ticks - base_ticks) * ns_per_tick,
 * rounded towards the base. */
struct timeline_piece {
    uint64_t base_ticks,
        end_ticks; /* valid in [base, end); before the line's start, its first piece */
    int64_t base_ns;
    double ns_per_tick;
};
/* The piece that holds ticks, which must not be after the last sample. */
struct timeline_piece timeline_find(const struct timeline *line, uint64_t ticks);

/* At most 31 years from the base: ticks of a clock gone wild do no harm. */
static inline int64_t timeline_piece_ns(const struct timeline_piece *piece, uint64_t ticks)
{
    const double most_ns = 1e18;
    double ns = (double)(int64_t)(ticks - piece->base_ticks) * piece->ns_per_tick;
    ns = ns < most_ns ? ns : most_ns;
    ns = ns > -most_ns ? ns : -most_ns;
    return piece->base_ns + (int64_t)ns;
}

/* Of one moment, without interpolation between later samples: for what is not in blocks. */
int64_t timeline_ns(const struct timeline *line, uint64_t ticks);

/* Makes this line the one of rbwp_now_ns; NULL = none, then it gives the wall clock. */
void clock_set_line(const struct timeline *line);

/* The present time on a line with this offset. */
int64_t clock_now_ns(int64_t offset_ns);

#endif /* CLOCK_H */
