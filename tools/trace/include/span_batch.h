/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span_batch.h - spans that are in the order of their tracks, on their way into the trace.
 *
 * They get their rows and depths here, and go on in batches of one track.
 */
#ifndef SPAN_BATCH_H
#define SPAN_BATCH_H

#include "trace.h"
#include "trace_span.h"

/* Side by side what partly overlaps.
 *
 * Viewers draw the spans of a row as a stack: two of them must be disjoint or
 * one must enclose the other. Each span of a track gets the first lane where
 * that holds. Spans that come in the order of their starts, outer ones first,
 * fill as few lanes as a greedy choice can; a late one (which starts before
 * its predecessor) may only follow all that its lane has. */

struct lane {
    int64_t *open; /* stops of the spans that enclose the place reached, outermost first */
    uint32_t depth, room;
    int64_t last_stop_ns;
    uint64_t group; /* of what is open */
};

struct lanes {
    struct lane *lanes;
    uint32_t count, room;
    bool failed; /* out of memory: spans lie in lane 0 that do not fit there */
};

/* The lane for a span, and in *depth_out how many of its lane enclose it. Lane 0 when out of
 * memory or lanes. Zero is no lanes. Spans of different groups never enclose each other. */
uint16_t lanes_place_group(struct lanes *lanes, int64_t start_ns, int64_t stop_ns, bool late,
                           uint64_t group, uint16_t *depth_out);

/* True if the first lane had a place for a span that is not late, without growing. */
static inline bool lanes_place_first(struct lanes *lanes, int64_t start_ns, int64_t stop_ns,
                                     uint16_t *depth_out)
{
    if (lanes->count == 0)
        return false;
    struct lane *lane = &lanes->lanes[0];
    uint32_t depth = lane->depth;
    while (depth && lane->open[depth - 1] <= start_ns)
        depth--;
    lane->depth = depth;
    if (depth >= lane->room || depth >= UINT16_MAX ||
        (depth && (lane->open[depth - 1] < stop_ns || lane->group)))
        return false;
    lane->group = 0;
    lane->open[depth] = stop_ns;
    lane->depth = depth + 1;
    lane->last_stop_ns = lane->last_stop_ns < stop_ns ? stop_ns : lane->last_stop_ns;
    *depth_out = (uint16_t)depth;
    return true;
}

/* The same for spans that are all of one group. */
static inline uint16_t lanes_place(struct lanes *lanes, int64_t start_ns, int64_t stop_ns,
                                   bool late, uint16_t *depth_out)
{
    if (!late && lanes_place_first(lanes, start_ns, stop_ns, depth_out))
        return 0;
    return lanes_place_group(lanes, start_ns, stop_ns, late, 0, depth_out);
}
void lanes_free(struct lanes *lanes);

/* A flag of spans that go in, not of those that come out: parent is their group. Those of different
 * groups lie side by side, even where one could enclose the other. */
#define SPAN_GROUPED 0x40

#define SPAN_BATCH_SPANS 1024

/* What of a track is known between its batches. Zero is a new one. */
struct span_place {
    struct lanes lanes;
    bool any;
    int64_t last_start_ns;
};

/* Zero but for trace is an empty one. */
struct span_batch {
    struct trace *trace;
    struct trace_span spans[SPAN_BATCH_SPANS];
    uint32_t count;
    struct trace_details details;
};

/* place: of the span's track. A span that starts before one that came earlier is marked TRACE_LATE.
 * detail: NULL for none; it is copied. */
void span_batch_add(struct span_batch *batch, struct span_place *place,
                    const struct trace_span *span, const struct trace_detail *detail);
/* Passes on what is left. */
void span_batch_pass(struct span_batch *batch);
void span_batch_free(struct span_batch *batch);

#endif /* SPAN_BATCH_H */
