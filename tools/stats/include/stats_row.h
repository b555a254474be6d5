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

/* Counts a span, but for what is inside it. False when out of memory. */
bool stats_row_count(struct stats_row *row, const struct trace_span *span);
/* Adds what is counted in from, of another trace. False when out of memory. */
bool stats_row_merge(struct stats_row *row, const struct stats_row *from);

#endif /* STATS_ROW_H */
