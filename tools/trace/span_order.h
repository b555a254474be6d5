/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span_order.h - the order of the spans of a track: by start, outer ones first.
 */
#ifndef SPAN_ORDER_H
#define SPAN_ORDER_H

#include "trace_span.h"
#include "sorted.h"

/* Below, at or above 0, as for qsort. The id decides last: of equal spans the one that began first
 * is the outer one. */
static inline int span_order(const struct trace_span *a, const struct trace_span *b)
{
    SORTED_BY(a, b, start_ns);
    SORTED_BY(b, a, stop_ns);
    return a->id < b->id ? -1 : a->id > b->id;
}

#endif /* SPAN_ORDER_H */
