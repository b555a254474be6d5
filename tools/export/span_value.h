/* SPDX-License-Identifier: Apache-2.0 */
/* span_value.h - what a column (span_columns.h) has for one span. */
#ifndef SPAN_VALUE_H
#define SPAN_VALUE_H

#include "span_columns.h"
#include "trace_span.h"

/* The value of one span alone: what has a sign, as its bits; of a text its number. False where it
 * is null. facts: of its track, and of its detail. Not of labels and arguments. */
static inline bool span_column_value(const struct span_column *column, const struct trace *trace,
                                     const struct trace_span *span, const struct span_facts *facts,
                                     uint64_t *value_out)
{
    const struct trace_track *track;
    switch (column->source) {
    case SPAN_COLUMN_OF_SPAN:
        *value_out = span_column_member(column, span);
        break;
    case SPAN_COLUMN_DURATION:
        *value_out = trace_duration_ns(span);
        break;
    case SPAN_COLUMN_FLAG:
    case SPAN_COLUMN_FLAG_LACKS:
        *value_out =
            ((span->flags & column->at) != 0) != (column->source == SPAN_COLUMN_FLAG_LACKS);
        break;
    case SPAN_COLUMN_OF_TRACK:
        *value_out = span_column_member(column, trace_track_of(trace, span->track));
        break;
    case SPAN_COLUMN_OF_PROCESS:
        track = trace_track_of(trace, span->track);
        *value_out = span_column_member(column, trace_process_of(trace, track->process));
        break;
    default:
        *value_out = facts->value[column->at];
        return span_facts_has(facts, column->at);
    }
    return *value_out || !column->optional;
}

#endif /* SPAN_VALUE_H */
