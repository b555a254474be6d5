/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slot_turns.h - whether workers serve a slot at the same time, or one after the other.
 *
 * Keeps the first calls of each slot on each worker, so many that memory is bounded
 * (SLOT_TURNS_ROWS * SLOT_TURNS_CALLS of 24 bytes at most), and looks at the stretch in which it
 * has all of them.
 */
#ifndef SLOT_TURNS_H
#define SLOT_TURNS_H

#include "trace.h"

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

#endif /* SLOT_TURNS_H */
