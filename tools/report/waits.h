/* SPDX-License-Identifier: Apache-2.0 */
/*
 * waits.h - the times in which a worker did nothing.
 *
 * A wait is the time between two outermost spans of a thread or processor.
 * All are counted by length for each track; the WAITS_LONGEST longest ones of
 * the trace are kept.
 */
#ifndef WAITS_H
#define WAITS_H

#include "histogram.h"

struct trace_span;

enum { WAITS_LONGEST = 200 };

struct wait {
    int64_t start_ns;
    uint64_t duration_ns;
    uint32_t track;
};
struct waits_track {
    bool any;
    int64_t until_ns; /* stop of what came so far */
    struct histogram durations;
};
struct waits {
    struct waits_track *tracks;
    uint32_t track_room;
    struct wait longest[WAITS_LONGEST]; /* a heap, the shortest on top; sorted by waits_finish */
    uint32_t count;
    bool failed; /* out of memory: waits are missing, and a message was given */
};

void waits_add(struct waits *waits, const struct trace_span *span);
/* The longest first. */
void waits_finish(struct waits *waits);
void waits_free(struct waits *waits);

/* NULL for a track without waits. */
const struct histogram *waits_of(const struct waits *waits, uint32_t track);

#endif /* WAITS_H */
