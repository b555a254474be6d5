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
 *
 * The counter may go back, when the machine was suspended or is another one
 * (a virtual machine that was moved or restored). Then an epoch ends: samples
 * and chunks carry its number, and a piece of the line lies in one epoch.
 *
 * Samples are thinned evenly when they are too many. What that costs is
 * measured: each piece knows how far it may be from the samples that were
 * dropped inside it, and the line how far the pieces were that were used.
 *
 * Inside a piece the system's clock may have changed its rate (time services
 * do that) or the counter may have jumped. Then the piece's end is not where
 * the line was going, and no time of it is further off than that end: each
 * piece knows this distance, too. While rates change, samples are wanted more
 * often.
 */
#ifndef CLOCK_H
#define CLOCK_H

#include "rbwp_format.h"

#define TIMELINE_SAMPLES_MAX 4096

struct timeline {
    struct rbwp_clock_sample
        sample[TIMELINE_SAMPLES_MAX];     /* by epoch, then by ticks; times ascend */
    uint32_t epoch[TIMELINE_SAMPLES_MAX]; /* of each sample */
    /* Of the piece that begins at each: how far its end is from where the line was going, and how
     * far it may be from what was dropped. */
    uint64_t piece_error_ns[TIMELINE_SAMPLES_MAX], piece_dropped_ns[TIMELINE_SAMPLES_MAX];
    uint32_t samples;
    uint32_t unjudged;   /* pieces from here on had no past to be compared with */
    uint32_t unrest;     /* samples that are wanted soon */
    int64_t gap_ns;      /* samples that are kept are so far apart; 0 before the first thinning */
    uint64_t allowed_ns; /* how far a piece may be from what is dropped */
    struct timeline_swing {
        uint64_t from_ticks; /* the piece's; 0: nothing was dropped from the last one */
        double least, most;  /* slopes that are near enough to what was dropped from it */
    } swing;
    uint64_t error_ns;     /* half the widest window in which a sample was taken */
    uint64_t deviation_ns; /* the largest error of a piece that was used */
    int64_t offset_ns;     /* time line = monotonic + offset */
};

/* Decides which clock to use. Idempotent; every entry of the runtime calls it first. */
void clock_prepare(void);
enum rbwp_clock_kind clock_kind(void);
/* As rbwp_ns_from_ticks, by the rate as it was measured last, and without a lock: for threads that
 * record. While a session runs, its samples measure the rate. */
uint64_t clock_ns_from_ticks(uint64_t duration_ticks);

/* True if ticks are of the counter and the system has come to distrust it. Looks at the system's
 * list, once it is off that it stays so. */
bool clock_is_doubted(void);
/* What of such a counter is to be expected: so far apart kernels let it get before they say so. */
#define CLOCK_DOUBT_NS 62500000u
/* Where that list is instead (tests); NULL: where it is. */
void clock_replace_list(const char *path);

/* True if the list of words, separated by blanks as in sysfs, has the word. */
bool clock_list_has(const char *list, const char *word);

/* Replaces the clock (tests). NULL gives the real one back. Not while a session runs. */
void clock_replace(uint64_t (*read_ticks)(void));

/* How far a counter seems to go back that does not: CPUs differ, and callers read it earlier. */
#define CLOCK_BACK_TICKS (UINT64_C(1) << 22)

/* True if ticks come so much before earlier ones that the counter was moved. */
static inline bool clock_steps_back(uint64_t before, uint64_t ticks)
{
    return (int64_t)(before - ticks) > (int64_t)CLOCK_BACK_TICKS;
}

/* The counter's epoch now. A counter that has gone back since somebody looked begins a new one. */
uint32_t clock_epoch(void);

/* Starts the line at the present time, the first sample. */
void timeline_begin(struct timeline *line);
/* Takes a sample now, so that every tick read before this call lies inside the line. */
void timeline_sample(struct timeline *line);
/* How long the line may go without a sample. */
int64_t timeline_pause_ns(const struct timeline *line);

/* A straight piece of the line: time_ns = base_ns + (ticks - base_ticks) * ns_per_tick,
 * rounded towards the base. */
struct timeline_piece {
    uint64_t base_ticks,
        end_ticks; /* valid in [base, end); before the line's start, its first piece */
    int64_t base_ns;
    double ns_per_tick;
    int64_t least_ns, most_ns; /* no time of the piece is beyond these */
    uint64_t error_ns;
};
/* The piece that holds ticks of that epoch, which must not be after the last sample. */
struct timeline_piece timeline_find(const struct timeline *line, uint32_t epoch, uint64_t ticks);
/* True if the ticks of that epoch are not before the line's last sample. */
bool timeline_is_beyond(const struct timeline *line, uint32_t epoch, uint64_t ticks);
/* The first epoch after this one that the line knows; this one if there is none. */
uint32_t timeline_epoch_after(const struct timeline *line, uint32_t epoch);

/* On the piece's line, whatever its bounds. At most 31 years from the base: ticks of a clock gone
 * wild do no harm. */
static inline int64_t timeline_piece_line_ns(const struct timeline_piece *piece, uint64_t ticks)
{
    const double most_ns = 1e18;
    double ns = (double)(int64_t)(ticks - piece->base_ticks) * piece->ns_per_tick;
    ns = ns < most_ns ? ns : most_ns;
    ns = ns > -most_ns ? ns : -most_ns;
    return piece->base_ns + (int64_t)ns;
}

static inline int64_t timeline_piece_ns(const struct timeline_piece *piece, uint64_t ticks)
{
    int64_t time_ns = timeline_piece_line_ns(piece, ticks);
    time_ns = time_ns < piece->most_ns ? time_ns : piece->most_ns;
    return time_ns > piece->least_ns ? time_ns : piece->least_ns;
}

/* Of one moment of the last epoch, or of an earlier one if it is known for the last by no sample.
 */
int64_t timeline_ns(const struct timeline *line, uint64_t ticks);

/* Makes this line the one of rbwp_now_ns; NULL = none, then it gives the wall clock. */
void clock_set_line(const struct timeline *line);

/* The present time on a line with this offset. */
int64_t clock_now_ns(int64_t offset_ns);

/* What a thread of this process has run on CPUs, by its number of the operating system; 0: the
 * calling one. -1: there is none of that number. */
int64_t clock_thread_ran_ns(uint64_t os_id);

#endif /* CLOCK_H */
