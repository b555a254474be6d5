/* SPDX-License-Identifier: Apache-2.0 */
/* Sorts, then gives out batches of one track with the places of their spans. */
#include "span_sorter.h"
#include "span_detail.h"
#include "lanes.h"
#include "message.h"
#include "span_order.h"

#include <stdlib.h>

enum { BATCH_SPANS = 1024, BATCH_WORDS = 128 << 10 };

static int compare(const void *a, const void *b)
{
    const struct trace_span *left = a, *right = b;
    if (left->track != right->track)
        return left->track < right->track ? -1 : 1;
    return span_order(left, right);
}

static const struct merge_order order = {.what = "spans",
                                         .item_bytes = sizeof(struct trace_span),
                                         .payload_at = offsetof(struct trace_span, detail),
                                         .compare = compare};

void span_sorter_start(struct span_sorter *sorter)
{
    *sorter = (struct span_sorter){0};
    merge_sorter_start(&sorter->spans, &order);
}

void span_sorter_stop(struct span_sorter *sorter)
{
    merge_sorter_stop(&sorter->spans);
}

void span_sorter_add(struct span_sorter *sorter, const struct trace_span *span,
                     const struct trace_detail *detail)
{
    merge_sorter_add(&sorter->spans, span, (const void *)detail);
    sorter->failed = sorter->spans.failed;
}

/* ---- going out -------------------------------------------------------------- */

struct passing {
    struct trace *trace;
    struct lanes lanes;
    struct trace_span batch[BATCH_SPANS];
    size_t count;
    struct trace_details details;
};

static void pass_batch(struct passing *passing)
{
    trace_add_spans(passing->trace, passing->batch, passing->count,
                    passing->details.count ? &passing->details : NULL);
    passing->count = 0;
    span_details_clear(&passing->details);
}

static bool pass(void *context, const void *item, const uint64_t *payload)
{
    struct passing *passing = context;
    const struct trace_span *span = item;
    bool other = passing->count && passing->batch[0].track != span->track, failed = false;
    if (other)
        lanes_free(&passing->lanes);
    if (other || passing->count == BATCH_SPANS || passing->details.count > BATCH_WORDS)
        pass_batch(passing);
    struct trace_span *copy = &passing->batch[passing->count++];
    *copy = *span;
    copy->detail = span_details_add(&passing->details, (const void *)payload, &failed);
    if (span->flags & SPAN_SORTER_GROUPED) {
        copy->flags &= (uint8_t)~SPAN_SORTER_GROUPED;
        copy->parent = 0;
    }
    copy->row =
        lanes_place_group(&passing->lanes, span->start_ns, span->stop_ns,
                          span->flags & SPAN_SORTER_GROUPED ? span->parent : 0, &copy->depth);
    if (failed || passing->lanes.failed)
        trace_out_of_memory(passing->trace);
    return !trace_is_full(passing->trace);
}

void span_sorter_finish(struct span_sorter *sorter, struct trace *trace)
{
    struct passing *passing = calloc(1, sizeof *passing);
    if (!passing) {
        message("spans are missing: out of memory");
        sorter->failed = true;
        return;
    }
    passing->trace = trace;
    merge_sorter_finish(&sorter->spans, pass, passing);
    sorter->failed = sorter->spans.failed;
    pass_batch(passing);
    lanes_free(&passing->lanes);
    span_details_free(&passing->details);
    free(passing);
}
