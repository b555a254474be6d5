/* SPDX-License-Identifier: Apache-2.0 */
/*
 * track_batch.h - the spans of a thread from the order in which they end to
 * that in which they begin.
 *
 * A span that ends is held back until the outermost one around it has ended;
 * then all of them are put in order. A work item with more than
 * TRACK_BATCH_SPANS spans inside is not waited for: what it has is passed on,
 * and it comes later, marked TRACE_LATE.
 */
#ifndef TRACK_BATCH_H
#define TRACK_BATCH_H

#include "span_batch.h"

#define TRACK_BATCH_SPANS (64u << 10)

struct track_batch {
    uint32_t track;
    struct trace_span *spans;
    uint32_t tree; /* where the spans begin whose outermost one has not ended */
    uint32_t count, room;
    int64_t last_start_ns; /* of what was put in order */
    struct lanes lanes;
    struct trace_details details; /* of the spans */
};

struct trace_span *track_batch_make_room(struct track_batch *batch, struct trace *trace);

void track_batch_start(struct track_batch *batch, uint32_t track);
/* Where the next span that ended is to be written, whether it is added then or not; NULL when out
 * of memory. */
static inline struct trace_span *track_batch_next(struct track_batch *batch, struct trace *trace)
{
    if (batch->count < batch->room && batch->count - batch->tree < TRACK_BATCH_SPANS)
        return &batch->spans[batch->count];
    return track_batch_make_room(batch, trace);
}
bool track_batch_add_detail(struct track_batch *batch, const struct trace_detail *detail);
void track_batch_close_tree(struct track_batch *batch);
/* Adds what was written there. Track, lane, depth and TRACE_LATE are filled here. detail: NULL for
 * none; it is copied. False when out of memory: the detail is lost. */
static inline bool track_batch_add(struct track_batch *batch, const struct trace_detail *detail,
                                   bool outermost)
{
    struct trace_span *span = &batch->spans[batch->count];
    span->track = batch->track;
    span->detail = 0;
    const bool whole = !detail || track_batch_add_detail(batch, detail);
    batch->count++;
    if (outermost)
        track_batch_close_tree(batch);
    return whole;
}
/* Passes on all that is in order. */
void track_batch_pass(struct track_batch *batch, struct trace *trace);
/* All, at the end of its track. */
void track_batch_finish(struct track_batch *batch, struct trace *trace);
void track_batch_free(struct track_batch *batch);

#endif /* TRACK_BATCH_H */
