/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_depth.h - which spans of a track are outermost when ranges do not count.
 *
 * A range that a program gave a name is no work, nor is what waits to be taken up, nor a sub-item
 * that waits: what it encloses is work as if it were not there, and it never makes a track busy.
 */
#ifndef WORK_DEPTH_H
#define WORK_DEPTH_H

#include "thread_map.h"
#include "trace.h"

#include <stdlib.h>

/* Of a track; zero is the beginning. */
struct work_depth {
    uint16_t *ranges; /* by row: so many of what encloses the place reached, from the outermost on,
                         are ranges */
    uint32_t room;
    bool failed; /* out of memory: ranges enclosed nothing */
};

/* Spans of a track one after the other. True if the span is work and nothing but ranges encloses
 * it. */
static inline bool work_depth_take(struct work_depth *depth, const struct trace_span *span)
{
    bool range = span->category == TRACE_RANGE || span->category == TRACE_ANNOTATION ||
                 span->category == TRACE_QUEUED || trace_is_waiting(span);
    if (!range && !depth->room)
        return span->depth == 0;
    if (!thread_array_grow(&depth->ranges, &depth->room, span->row + 1u, sizeof *depth->ranges)) {
        depth->failed = true;
        return !range && span->depth == 0;
    }
    uint16_t *ranges = &depth->ranges[span->row];
    bool outermost = *ranges >= span->depth;
    if (outermost)
        *ranges = (uint16_t)(span->depth + (range && span->depth < UINT16_MAX));
    return outermost && !range;
}

/* Of a span that comes next: true if work encloses it. */
static inline bool work_depth_is_inside(const struct work_depth *depth,
                                        const struct trace_span *span)
{
    return span->row < depth->room ? depth->ranges[span->row] < span->depth : span->depth > 0;
}

static inline void work_depth_free(struct work_depth *depth)
{
    free(depth->ranges);
    *depth = (struct work_depth){0};
}

#endif /* WORK_DEPTH_H */
