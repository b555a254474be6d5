/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span_order.h - the order of the spans of a track: by start, outer ones first.
 */
#ifndef SPAN_ORDER_H
#define SPAN_ORDER_H

#include "trace_span.h"

/* Below, at or above 0, as for qsort. The id decides last: of equal spans the one that began first
 * is the outer one. */
static inline int span_order(const struct trace_span *a, const struct trace_span *b)
{
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    if (a->stop_ns != b->stop_ns)
        return a->stop_ns > b->stop_ns ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

#endif /* SPAN_ORDER_H */
