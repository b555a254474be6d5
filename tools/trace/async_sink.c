/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches are words: a head, and behind it what it is about. Spans of one call
 * stay together, since sinks look at the first one's track.
 */
#include "async_sink.h"
#include "grow.h"
#include "trace.h"
#include "trace_span.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { BEHIND_BATCH_WORDS = 32 << 10 }; /* from here on it goes to the sink */

struct batch {
    struct async_sink *behind;
    uint64_t *words;
    uint32_t count, room;
};

struct async_sink {
    const struct trace_sink *sink;
    struct ordered_jobs *jobs;
    struct batch *batch; /* that is being filled; NULL: none */
    bool under_way;      /* batches are, or one is being filled */
    atomic_bool full;
};

enum kind { SPANS, SAMPLES, LINK };

struct head {
    uint32_t kind, track; /* track: of samples */
    uint32_t count;
    uint32_t detail_words; /* behind spans */
};

/* What so many of them take: where 64 bits need no alignment to 64, some are no whole number of
 * words. */
static uint32_t behind_words_of(size_t count, size_t bytes)
{
    return (uint32_t)((count * bytes + sizeof(uint64_t) - 1) / sizeof(uint64_t));
}

enum { BEHIND_HEAD_WORDS = sizeof(struct head) / sizeof(uint64_t) };
_Static_assert(sizeof(struct head) % sizeof(uint64_t) == 0, "whole words");

/* ---- to the sink, on any thread -------------------------------------------------------- */

static void pass_spans(const struct trace_sink *sink, const struct head *head,
                       const uint64_t *words)
{
    struct trace_details details = {.count = head->detail_words, .room = head->detail_words};
    details.words =
        (uint64_t *)(uintptr_t)(words + behind_words_of(head->count, sizeof(struct trace_span)));
    sink->spans(sink->context, (const void *)words, head->count,
                head->detail_words ? &details : NULL);
}

static void behind_pass(const struct trace_sink *sink, const struct head *head,
                        const uint64_t *words)
{
    switch (head->kind) {
    case SPANS:
        pass_spans(sink, head, words);
        break;
    case SAMPLES:
        sink->samples(sink->context, head->track, (const void *)words, head->count);
        break;
    default:
        sink->link(sink->context, (const void *)words);
        break;
    }
}

static uint32_t words_behind(const struct head *head)
{
    switch (head->kind) {
    case SPANS:
        return behind_words_of(head->count, sizeof(struct trace_span)) + head->detail_words;
    case SAMPLES:
        return behind_words_of(head->count, sizeof(struct trace_sample));
    default:
        return behind_words_of(1, sizeof(struct trace_link));
    }
}

static bool behind_ask(struct async_sink *behind)
{
    bool full = behind->sink->full && behind->sink->full(behind->sink->context);
    if (full)
        atomic_store_explicit(&behind->full, true, memory_order_relaxed);
    return full;
}

static void behind_run(void *context)
{
    struct batch *batch = context;
    struct async_sink *behind = batch->behind;
    for (uint32_t at = 0; at < batch->count && !behind_ask(behind);) {
        struct head head;
        memcpy(&head, batch->words + at, sizeof head);
        at += BEHIND_HEAD_WORDS;
        behind_pass(behind->sink, &head, batch->words + at);
        at += words_behind(&head);
    }
    (void)behind_ask(behind);
}

static void behind_stop(void *context)
{
    struct batch *batch = context;
    free(batch->words);
}

/* ---- from the reader ------------------------------------------------------------------- */

struct async_sink *async_sink_new(const struct trace_sink *sink, struct job_threads *threads)
{
    struct async_sink *behind = calloc(1, sizeof *behind);
    if (!behind)
        return NULL;
    behind->sink = sink;
    behind->jobs = ordered_jobs_new_serial(threads, sizeof(struct batch), behind_run);
    if (behind->jobs)
        return behind;
    free(behind);
    return NULL;
}

static void submit(struct async_sink *behind)
{
    if (behind->batch && behind->batch->count)
        ordered_jobs_submit(behind->jobs);
    behind->batch = NULL;
}

void async_sink_settle(struct async_sink *behind)
{
    submit(behind);
    while (ordered_jobs_take(behind->jobs))
        ;
    behind->under_way = false;
}

void async_sink_free(struct async_sink *behind)
{
    if (!behind)
        return;
    async_sink_settle(behind);
    ordered_jobs_free(behind->jobs, behind_stop);
    free(behind);
}

bool async_sink_is_full(struct async_sink *behind)
{
    if (!behind->under_way) /* then nobody else asks */
        return behind_ask(behind);
    return atomic_load_explicit(&behind->full, memory_order_relaxed);
}

/* Takes a free batch if none is being filled. */
static struct batch *batch_to_fill(struct async_sink *behind)
{
    if (behind->batch)
        return behind->batch;
    while (!(behind->batch = ordered_jobs_next(behind->jobs)))
        (void)ordered_jobs_take(behind->jobs);
    behind->batch->behind = behind;
    behind->batch->count = 0;
    behind->under_way = true;
    return behind->batch;
}

/* Where what is behind the head goes; NULL without memory. */
static uint64_t *behind_add(struct async_sink *behind, const struct head *head)
{
    uint32_t words = BEHIND_HEAD_WORDS + words_behind(head);
    if (behind->batch && behind->batch->count + words > BEHIND_BATCH_WORDS)
        submit(behind);
    struct batch *batch = batch_to_fill(behind);
    if (!GROW_ARRAY(batch->words, batch->room, batch->count + words))
        return NULL;
    uint64_t *at = batch->words + batch->count;
    batch->count += words;
    memcpy(at, head, sizeof *head);
    return at + BEHIND_HEAD_WORDS;
}

/* How many fit into a batch, with what may come behind them. */
static bool behind_is_possible(size_t count, size_t words)
{
    return count < UINT32_MAX / 64 && words < UINT32_MAX / 4;
}

bool async_sink_spans(struct async_sink *behind, const struct trace_span *spans, size_t count,
                      const struct trace_details *details)
{
    struct head head = {
        .kind = SPANS, .count = (uint32_t)count, .detail_words = details ? details->count : 0};
    uint64_t *at = behind->sink->spans && behind_is_possible(count, head.detail_words)
                       ? behind_add(behind, &head)
                       : NULL;
    if (!at)
        return !behind->sink->spans;
    memcpy(at, spans, count * sizeof *spans);
    if (head.detail_words)
        memcpy(at + behind_words_of(count, sizeof *spans), details->words,
               head.detail_words * sizeof *details->words);
    return true;
}

bool async_sink_samples(struct async_sink *behind, uint32_t track,
                        const struct trace_sample *samples, size_t count)
{
    struct head head = {.kind = SAMPLES, .track = track, .count = (uint32_t)count};
    uint64_t *at =
        behind->sink->samples && behind_is_possible(count, 0) ? behind_add(behind, &head) : NULL;
    if (!at)
        return !behind->sink->samples;
    memcpy(at, samples, count * sizeof *samples);
    return true;
}

bool async_sink_link(struct async_sink *behind, const struct trace_link *link)
{
    uint64_t *at = behind->sink->link ? behind_add(behind, &(struct head){.kind = LINK}) : NULL;
    if (!at)
        return !behind->sink->link;
    memcpy(at, link, sizeof *link);
    return true;
}
