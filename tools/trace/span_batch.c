/* SPDX-License-Identifier: Apache-2.0 */
#include "span_batch.h"
#include "grow.h"
#include "span_detail.h"
#include "span_order.h"
#include "track_batch.h"

#include <stdlib.h>
#include <string.h>

/* ---- spans of one track ---------------------------------------------------------------------- */
/*
 * Batches. A tree of spans arrives inner ones first, so its order is nearly right already but for
 * the outer ones, which move to the front.
 */

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
    return GROW_ARRAY(batch->spans, batch->room, batch->count + 1) ? &batch->spans[batch->count]
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

/* ---- rows for spans that overlap ------------------------------------------------------------- */

enum { SPAN_BATCH_BATCH_WORDS = 128 << 10 };

void span_batch_pass(struct span_batch *batch)
{
    trace_add_spans(batch->trace, batch->spans, batch->count,
                    batch->details.count ? &batch->details : NULL);
    batch->count = 0;
    span_details_clear(&batch->details);
}

void span_batch_free(struct span_batch *batch)
{
    span_details_free(&batch->details);
}

void span_batch_add(struct span_batch *batch, struct span_place *place,
                    const struct trace_span *span, const struct trace_detail *detail)
{
    bool failed = false, late = place->any && span->start_ns < place->last_start_ns;
    bool grouped = span->flags & SPAN_GROUPED;
    if (batch->count &&
        (batch->count == SPAN_BATCH_SPANS || batch->details.count > SPAN_BATCH_BATCH_WORDS ||
         late || batch->spans[0].track != span->track))
        span_batch_pass(batch);
    struct trace_span *copy = &batch->spans[batch->count++];
    *copy = *span;
    copy->detail = span_details_add(&batch->details, detail, &failed);
    copy->row = lanes_place_group(&place->lanes, span->start_ns, span->stop_ns, late,
                                  grouped ? span->parent : 0, &copy->depth);
    if (grouped) {
        copy->flags &= (uint8_t)~SPAN_GROUPED;
        copy->parent = 0;
    }
    if (late)
        copy->flags |= TRACE_LATE;
    else
        place->last_start_ns = span->start_ns;
    place->any = true;
    if (failed || place->lanes.failed)
        trace_out_of_memory(batch->trace);
}

/* Lanes. In almost every trace the first one takes all. */

static bool lanes_fits(struct lane *lane, int64_t start_ns, int64_t stop_ns, bool late,
                       uint64_t group)
{
    if (late && lane->last_stop_ns > start_ns)
        return false;
    while (lane->depth && lane->open[lane->depth - 1] <= start_ns)
        lane->depth--;
    return lane->depth == 0 || (lane->open[lane->depth - 1] >= stop_ns && lane->group == group);
}

static bool lanes_push(struct lane *lane, int64_t stop_ns)
{
    if (!GROW_ARRAY(lane->open, lane->room, lane->depth + 1))
        return false;
    if (lane->last_stop_ns < stop_ns)
        lane->last_stop_ns = stop_ns;
    lane->open[lane->depth++] = stop_ns;
    return true;
}

static struct lane *add_lane(struct lanes *lanes)
{
    if (!GROW_ARRAY(lanes->lanes, lanes->room, lanes->count + 1))
        return NULL;
    struct lane *lane = &lanes->lanes[lanes->count++];
    *lane = (struct lane){.last_stop_ns = INT64_MIN};
    return lane;
}

uint16_t lanes_place_group(struct lanes *lanes, int64_t start_ns, int64_t stop_ns, bool late,
                           uint64_t group, uint16_t *depth_out)
{
    *depth_out = 0;
    for (uint32_t i = 0;; i++) {
        struct lane *lane = i < lanes->count     ? &lanes->lanes[i]
                            : i < UINT16_MAX + 1 ? add_lane(lanes)
                                                 : NULL;
        if (!lane)
            break;
        if (!lanes_fits(lane, start_ns, stop_ns, late, group))
            continue;
        lane->group = group;
        *depth_out = (uint16_t)(lane->depth < UINT16_MAX ? lane->depth : UINT16_MAX);
        if (!lanes_push(lane, stop_ns))
            break;
        return (uint16_t)i;
    }
    lanes->failed = lanes->count <= UINT16_MAX;
    *depth_out = 0;
    return 0;
}

void lanes_free(struct lanes *lanes)
{
    for (uint32_t i = 0; i < lanes->count; i++)
        free(lanes->lanes[i].open);
    free(lanes->lanes);
    *lanes = (struct lanes){0};
}
