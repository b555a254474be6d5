/* SPDX-License-Identifier: Apache-2.0 */
/* Sorts, then gives out batches of one track with the places of their spans. */
#include "span_sorter.h"

#include "message.h"
#include "span_batch.h"
#include "span_order.h"

#include <stdlib.h>

static int span_sorter_compare(const void *a, const void *b)
{
    const struct trace_span *left = a, *right = b;
    SORTED_BY(left, right, track);
    return span_order(left, right);
}

static const struct merge_order span_sorter_order = {
    "spans", sizeof(struct trace_span), offsetof(struct trace_span, detail), span_sorter_compare};

void span_sorter_start(struct span_sorter *sorter)
{
    *sorter = (struct span_sorter){0};
    merge_sorter_start(&sorter->spans, &span_sorter_order);
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

struct span_sorter_passing {
    struct span_batch batch;
    struct span_place place; /* of the track that is passed on */
    uint32_t track;
};

static bool span_sorter_pass(void *context, const void *item, const uint64_t *payload)
{
    struct span_sorter_passing *passing = context;
    const struct trace_span *span = item;
    if (passing->track != span->track) {
        lanes_free(&passing->place.lanes);
        passing->place = (struct span_place){0};
        passing->track = span->track;
    }
    span_batch_add(&passing->batch, &passing->place, span, (const void *)payload);
    return !trace_is_full(passing->batch.trace);
}

void span_sorter_finish(struct span_sorter *sorter, struct trace *trace)
{
    struct span_sorter_passing *passing = calloc(1, sizeof *passing);
    if (!passing) {
        message("spans are missing: out of memory");
        sorter->failed = true;
        return;
    }
    passing->batch.trace = trace;
    merge_sorter_finish(&sorter->spans, span_sorter_pass, passing);
    sorter->failed = sorter->spans.failed;
    span_batch_pass(&passing->batch);
    lanes_free(&passing->place.lanes);
    span_batch_free(&passing->batch);
    free(passing);
}

enum { SAMPLE_SORTER_BATCH = 512 };

struct sample_sorter_item {
    struct trace_sample sample;
    uint64_t number;
    uint64_t track;
};

static int sample_sorter_compare(const void *left, const void *right)
{
    const struct sample_sorter_item *a = left, *b = right;
    SORTED_BY(a, b, track);
    SORTED_BY(a, b, sample.time_ns);
    return (a->number > b->number) - (a->number < b->number);
}

static const struct merge_order sample_sorter_order = {
    "samples", sizeof(struct sample_sorter_item), MERGE_SORTER_NO_PAYLOAD, sample_sorter_compare};

void sample_sorter_start(struct sample_sorter *sorter)
{
    *sorter = (struct sample_sorter){0};
    merge_sorter_start(&sorter->samples, &sample_sorter_order);
}

void sample_sorter_stop(struct sample_sorter *sorter)
{
    merge_sorter_stop(&sorter->samples);
}

void sample_sorter_add(struct sample_sorter *sorter, uint32_t track,
                       const struct trace_sample *sample)
{
    merge_sorter_add(&sorter->samples,
                     &(struct sample_sorter_item){*sample, sorter->added++, track}, NULL);
}

struct sample_sorter_passing {
    struct trace *trace;
    uint32_t track;
    size_t count;
    struct trace_sample batch[SAMPLE_SORTER_BATCH];
};

static void sample_sorter_pass_batch(struct sample_sorter_passing *passing)
{
    if (passing->count)
        trace_add_samples(passing->trace, passing->track, passing->batch, passing->count);
    passing->count = 0;
}

static bool sample_sorter_take(void *context, const void *entry, const uint64_t *payload)
{
    struct sample_sorter_passing *passing = context;
    const struct sample_sorter_item *item = entry;
    (void)payload;
    if (passing->count == SAMPLE_SORTER_BATCH || item->track != passing->track)
        sample_sorter_pass_batch(passing);
    passing->track = (uint32_t)item->track;
    passing->batch[passing->count++] = item->sample;
    return !trace_is_full(passing->trace);
}

bool sample_sorter_finish(struct sample_sorter *sorter, struct trace *trace)
{
    struct sample_sorter_passing passing = {.trace = trace};
    merge_sorter_finish(&sorter->samples, sample_sorter_take, &passing);
    sample_sorter_pass_batch(&passing);
    return !sorter->samples.failed;
}
