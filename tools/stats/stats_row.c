/* SPDX-License-Identifier: Apache-2.0 */
#include "stats_row.h"

static uint64_t add(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

bool stats_row_count(struct stats_row *row, const struct trace_span *span)
{
    uint64_t duration_ns = trace_duration_ns(span);
    row->unfinished += (span->flags & TRACE_UNFINISHED) != 0;
    if (stats_is_timed(span))
        row->total_ns = add(row->total_ns, duration_ns);
    if (span->flags & TRACE_OPEN) {
        row->open++;
        row->open_ns = add(row->open_ns, duration_ns);
    }
    if (span->flags & TRACE_UNFINISHED)
        return true;
    row->count++;
    row->min_ns = duration_ns < row->min_ns ? duration_ns : row->min_ns;
    row->max_ns = duration_ns > row->max_ns ? duration_ns : row->max_ns;
    return histogram_add(&row->durations, duration_ns);
}

bool stats_row_merge(struct stats_row *row, const struct stats_row *from)
{
    row->count += from->count;
    row->unfinished += from->unfinished;
    row->open += from->open;
    row->open_ns = add(row->open_ns, from->open_ns);
    row->total_ns = add(row->total_ns, from->total_ns);
    row->nested_ns = add(row->nested_ns, from->nested_ns);
    row->min_ns = from->min_ns < row->min_ns ? from->min_ns : row->min_ns;
    row->max_ns = from->max_ns > row->max_ns ? from->max_ns : row->max_ns;
    return histogram_merge(&row->durations, &from->durations);
}
