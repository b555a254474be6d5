/* SPDX-License-Identifier: Apache-2.0 */
/* Batches. A tree of spans arrives inner ones first, so its order is nearly right already but for
 * the outer ones, which move to the front. */
#include "track_batch.h"
#include "grow.h"
#include "span_detail.h"
#include "span_order.h"

#include <stdlib.h>
#include <string.h>

enum { SMALL_TREE = 48 }; /* spans, up to which insertion beats sorting */

void track_batch_start(struct track_batch *batch, uint32_t track)
{
    *batch = (struct track_batch){.track = track, .last_start_ns = INT64_MIN};
}

void track_batch_free(struct track_batch *batch)
{
    free(batch->spans);
    lanes_free(&batch->lanes);
    span_details_free(&batch->details);
}

static int track_batch_compare(const void *a, const void *b)
{
    return span_order(a, b);
}

static void track_batch_sort(struct trace_span *spans, size_t count)
{
    if (count > SMALL_TREE) {
        qsort(spans, count, sizeof *spans, track_batch_compare);
        return;
    }
    for (size_t i = 1; i < count; i++) {
        size_t to = i;
        while (to > 0 && span_order(&spans[i], &spans[to - 1]) < 0)
            to--;
        if (to == i)
            continue;
        struct trace_span moved = spans[i];
        memmove(spans + to + 1, spans + to, (i - to) * sizeof *spans);
        spans[to] = moved;
    }
}

void track_batch_close_tree(struct track_batch *batch)
{
    track_batch_sort(batch->spans + batch->tree, batch->count - batch->tree);
    for (uint32_t i = batch->tree; i < batch->count; i++) {
        struct trace_span *span = &batch->spans[i];
        bool late = span->start_ns < batch->last_start_ns;
        if (late)
            span->flags |= TRACE_LATE;
        else
            batch->last_start_ns = span->start_ns;
        span->row = lanes_place(&batch->lanes, span->start_ns, span->stop_ns, late, &span->depth);
    }
    batch->tree = batch->count;
}

struct trace_span *track_batch_make_room(struct track_batch *batch, struct trace *trace)
{
    if (batch->count - batch->tree == TRACK_BATCH_SPANS)
        track_batch_finish(batch, trace);
    return grow_array32(&batch->spans, &batch->room, batch->count + 1, sizeof *batch->spans)
               ? &batch->spans[batch->count]
               : NULL;
}

bool track_batch_add_detail(struct track_batch *batch, const struct trace_detail *detail)
{
    bool failed = false;
    batch->spans[batch->count].detail = span_details_add(&batch->details, detail, &failed);
    return !failed;
}

void track_batch_pass(struct track_batch *batch, struct trace *trace)
{
    uint32_t left = batch->count - batch->tree;
    if (batch->lanes.failed)
        trace_out_of_memory(trace);
    trace_add_spans(trace, batch->spans, batch->tree,
                    batch->details.count ? &batch->details : NULL);
    if (left && batch->tree)
        memmove(batch->spans, batch->spans + batch->tree, left * sizeof *batch->spans);
    if (left == 0)
        span_details_clear(&batch->details);
    batch->count = left;
    batch->tree = 0;
}

void track_batch_finish(struct track_batch *batch, struct trace *trace)
{
    if (batch->count > batch->tree) /* there may be no spans at all */
        track_batch_close_tree(batch);
    track_batch_pass(batch, trace);
}
