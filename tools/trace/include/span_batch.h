/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span_batch.h - spans that are in the order of their tracks, on their way into the trace.
 *
 * They get their rows and depths here, and go on in batches of one track.
 */
#ifndef SPAN_BATCH_H
#define SPAN_BATCH_H

#include "lanes.h"
#include "trace.h"

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
