/* SPDX-License-Identifier: Apache-2.0 */
/* stats_row.h - spans of one kind, added up. */
#ifndef STATS_ROW_H
#define STATS_ROW_H

#include "histogram.h"
#include "trace.h"

struct stats_row {
    uint8_t category; /* enum trace_category */
    uint32_t item;
    struct trace_text name;
    struct trace_text kind; /* what the program calls it; may be empty */
    uint64_t count, unfinished;
    uint64_t open, open_ns;       /* of the unfinished: those that still ran, and their time */
    uint64_t total_ns, nested_ns; /* of the finished ones and those that still ran */
    uint64_t min_ns, max_ns;      /* of the finished ones; min_ns is UINT64_MAX at first */
    struct histogram durations;
};

/* How long it ran is known: it has ended, or still ran at the end. */
static inline bool stats_is_timed(const struct trace_span *span)
{
    return !(span->flags & TRACE_UNFINISHED) || (span->flags & TRACE_OPEN);
}

/* At most UINT64_MAX. */
static inline uint64_t stats_sum(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

/* 0 where it goes back. */
static inline uint64_t stats_between_ns(int64_t from_ns, int64_t to_ns)
{
    return to_ns > from_ns ? (uint64_t)to_ns - (uint64_t)from_ns : 0;
}

/* Counts a span, but for what is inside it. False when out of memory. */
static inline bool stats_row_count(struct stats_row *row, const struct trace_span *span)
{
    const uint64_t duration_ns = trace_duration_ns(span);
    if (span->flags & (TRACE_UNFINISHED | TRACE_OPEN)) {
        row->unfinished += (span->flags & TRACE_UNFINISHED) != 0;
        if (span->flags & TRACE_OPEN) {
            row->open++;
            row->open_ns = stats_sum(row->open_ns, duration_ns);
        }
    }
    if (stats_is_timed(span))
        row->total_ns = stats_sum(row->total_ns, duration_ns);
    if (span->flags & TRACE_UNFINISHED)
        return true;
    row->count++;
    row->min_ns = duration_ns < row->min_ns ? duration_ns : row->min_ns;
    row->max_ns = duration_ns > row->max_ns ? duration_ns : row->max_ns;
    return histogram_add(&row->durations, duration_ns);
}

#endif /* STATS_ROW_H */
