/* SPDX-License-Identifier: Apache-2.0 */
/*
 * track_sums.h - sums of tracks: whether workers serve a slot at the same time, or one after the
 * other, and what some have beside busy time.
 *
 * Of turns it keeps the first calls of each slot on each worker, so many that memory is bounded
 * (SLOT_TURNS_ROWS * SLOT_TURNS_CALLS of 24 bytes at most), and looks at the interval in which it
 * has all of them.
 */
#ifndef TRACK_SUMS_H
#define TRACK_SUMS_H

#include "busy_cells.h"
#include "histogram.h"

struct trace_detail;
struct trace_sample;
struct trace_span;

enum { SLOT_TURNS_ROWS = 64, SLOT_TURNS_CALLS = 16384, SLOT_TURNS_OF_TRACK = 2048 };

struct slot_turn {
    int64_t start_ns, stop_ns;
    uint32_t track;
};
struct slot_turns_row {
    struct slot_turn *calls;
    uint32_t count, room;
    uint32_t *of_track; /* calls kept, by track */
    uint32_t track_room;
    bool cut; /* calls from until_ns on are not all here */
    int64_t until_ns;
};
/* Zero is none. */
struct slot_turns {
    struct slot_turns_row *rows; /* by row of the sums */
    uint32_t row_room, used;     /* used: rows with calls */
};

struct slot_turns_result {
    uint32_t calls, workers;
    uint32_t handovers; /* calls that another worker ran than the one before */
    bool overlaps;      /* two workers were in the slot at the same time */
};

/* A finished call. False without memory. */
bool slot_turns_add(struct slot_turns *turns, uint32_t row, const struct trace_span *span);
/* What is known of a row; sorts it. */
struct slot_turns_result slot_turns_of(const struct slot_turns *turns, uint32_t row);
void slot_turns_free(struct slot_turns *turns);

/* What some tracks have beside busy time: launches of a GPU's work and how sure its
 * times are, and the values of a counter. */

/* From the beginning of the launching call to the start of the work, where the source has it. */
struct launch_sums {
    uint64_t count, early; /* early: starts before its launch, by the bounds of both; not counted */
    uint64_t total_ns, min_ns, max_ns;
    struct histogram latencies;
    uint64_t bounded;    /* spans with bounds */
    struct busy certain; /* while they certainly ran */
};
/* False when out of memory. */
bool launch_sums_add(struct launch_sums *sums, const struct trace_span *span,
                     const struct trace_detail *detail);
uint64_t launch_sums_quantile_ns(const struct launch_sums *sums, unsigned permille);
static inline uint64_t launch_sums_mean_ns(const struct launch_sums *sums)
{
    return sums->count ? sums->total_ns / sums->count : 0;
}

/* A value holds until the next one. */
struct counter_sums {
    uint64_t count;
    double min, max, last;
    double area; /* of values times ns until the last sample */
    int64_t first_ns, last_ns;
};
void counter_sums_add(struct counter_sums *sums, const struct trace_sample *samples, size_t count);
/* Over time; of values at one time their last. */
double counter_sums_mean(const struct counter_sums *sums);

#endif /* TRACK_SUMS_H */
