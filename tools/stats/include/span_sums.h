/* SPDX-License-Identifier: Apache-2.0 */
/* span_sums.h - what a span adds to a row (stats_row.h), and whether it counts as work. */
#ifndef SPAN_SUMS_H
#define SPAN_SUMS_H

#include "busy_cells.h"
#include "stats_row.h"
#include "trace_span.h"

/* How long it ran is known: it has ended, or still ran at the end. */
static inline bool stats_is_timed(const struct trace_span *span)
{
    return !(span->flags & TRACE_UNFINISHED) || (span->flags & TRACE_OPEN);
}

/* Counts a span, but for what is inside it. False when out of memory. */
static inline bool stats_row_count(struct stats_row *row, const struct trace_span *span,
                                   const struct trace_cpu *cpu)
{
    const uint64_t duration_ns = trace_duration_ns(span);
    if (span->flags & (TRACE_UNFINISHED | TRACE_OPEN)) {
        row->unfinished += (span->flags & TRACE_UNFINISHED) != 0;
        if (span->flags & TRACE_OPEN) {
            row->open++;
            row->open_ns = stats_sum(row->open_ns, duration_ns);
        }
    }
    if (stats_is_timed(span)) {
        row->total_ns = stats_sum(row->total_ns, duration_ns);
        if (trace_cpu_is_known(cpu))
            stats_cpu_add(&row->cpu, cpu);
    }
    if (span->flags & TRACE_UNFINISHED)
        return true;
    row->count++;
    row->min_ns = duration_ns < row->min_ns ? duration_ns : row->min_ns;
    row->max_ns = duration_ns > row->max_ns ? duration_ns : row->max_ns;
    return histogram_add(&row->durations, duration_ns);
}

/* Spans of a track one after the other. True if the span is work and nothing but ranges encloses
 * it. */
static inline bool work_depth_take(struct work_depth *depth, const struct trace_span *span)
{
    bool range = span->category == TRACE_RANGE || span->category == TRACE_ANNOTATION ||
                 span->category == TRACE_QUEUED || trace_is_waiting(span);
    if (!range && !depth->room)
        return span->depth == 0;
    if (!grow_zeroed32(&depth->ranges, &depth->room, span->row + 1u, sizeof *depth->ranges)) {
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

#endif /* SPAN_SUMS_H */
