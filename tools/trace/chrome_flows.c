/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A marker is a span without length with the flag MARKER; item is its shape,
 * parent its flow. An end in the second sorter has the flow's hash in place of
 * the track; parent is the span, item its track. Starts stand first, with
 * their time in stop_ns.
 */
#include "chrome_flows.h"
#include "id_texts.h"
#include "message.h"

#include <stdlib.h>
#include <string.h>

enum { MARKER = 0x80, BATCH = 512, OPEN_MAX = 256, NEXT_MAX = 64, STARTS_MAX = 64 };

struct binding {
    struct chrome_flows *flows;
    struct trace *trace;
    struct trace_span batch[BATCH]; /* to be passed on */
    size_t count;
    const struct trace_details *details; /* of the batch */
    struct trace_span open[OPEN_MAX];    /* that may enclose what comes, by start */
    uint32_t open_count, track;
    struct trace_span next[NEXT_MAX]; /* markers that bind to the next span */
    uint32_t next_count;
    struct trace_span starts[STARTS_MAX]; /* of flows with one hash */
    uint32_t start_count, hash;
};

void chrome_flows_start(struct chrome_flows *flows)
{
    *flows = (struct chrome_flows){0};
    span_sorter_start(&flows->ends);
}

void chrome_flows_stop(struct chrome_flows *flows)
{
    span_sorter_stop(&flows->ends);
}

void chrome_flows_mark(struct span_sorter *spans, uint32_t track, int64_t time_ns, uint64_t key,
                       enum flow_shape shape)
{
    span_sorter_add(spans,
                    &(struct trace_span){.start_ns = time_ns,
                                         .stop_ns = time_ns,
                                         .id = UINT64_MAX,
                                         .parent = key,
                                         .track = track,
                                         .item = shape,
                                         .flags = MARKER},
                    NULL);
}

/* ---- markers find their span ----------------------------------------------------- */

static void add_end(struct binding *binding, const struct trace_span *marker,
                    const struct trace_span *span, bool start)
{
    span_sorter_add(&binding->flows->ends,
                    &(struct trace_span){.start_ns = start ? INT64_MIN : span->start_ns,
                                         .stop_ns = start ? marker->start_ns : span->start_ns,
                                         .id = marker->parent,
                                         .parent = span->id,
                                         .track = (uint32_t)id_hash(marker->parent),
                                         .item = span->track,
                                         .flags = start},
                    NULL);
}

/* The innermost span around a time, of those that may be. */
static const struct trace_span *span_around(const struct binding *binding, int64_t time_ns)
{
    for (uint32_t i = binding->open_count; i-- > 0;)
        if (binding->open[i].stop_ns >= time_ns)
            return &binding->open[i];
    return NULL;
}

static void bind(struct binding *binding, const struct trace_span *marker)
{
    const struct trace_span *span = span_around(binding, marker->start_ns);
    if (marker->item == FLOW_END_AT_NEXT && (!span || span->start_ns < marker->start_ns)) {
        if (binding->next_count < NEXT_MAX)
            binding->next[binding->next_count++] = *marker;
        else
            binding->flows->lone++;
        return;
    }
    if (!span) {
        binding->flows->lone++;
        return;
    }
    if (marker->item != FLOW_START)
        add_end(binding, marker, span, false);
    if (marker->item == FLOW_START || marker->item == FLOW_STEP)
        add_end(binding, marker, span, true);
}

static void drop_ended(struct binding *binding, int64_t time_ns)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < binding->open_count; i++)
        if (binding->open[i].stop_ns >= time_ns)
            binding->open[kept++] = binding->open[i];
    if (kept == OPEN_MAX) { /* the outermost one is the least likely to be asked for */
        memmove(binding->open, binding->open + 1, (OPEN_MAX - 1) * sizeof *binding->open);
        kept--;
    }
    binding->open_count = kept;
}

static void pass_batch(struct binding *binding)
{
    trace_add_spans(binding->trace, binding->batch, binding->count, binding->details);
    binding->count = 0;
}

static void pass(struct binding *binding, const struct trace_span *span)
{
    if (binding->count == BATCH)
        pass_batch(binding);
    binding->batch[binding->count++] = *span;
    drop_ended(binding, span->start_ns);
    binding->open[binding->open_count++] = *span;
    for (uint32_t i = 0; i < binding->next_count; i++)
        add_end(binding, &binding->next[i], span, false);
    binding->next_count = 0;
}

static void take_spans(void *context, const struct trace_span *spans, size_t count,
                       const struct trace_details *details)
{
    struct binding *binding = context;
    binding->details = details;
    if (spans[0].track != binding->track) {
        binding->flows->lone += binding->next_count;
        binding->open_count = binding->next_count = 0;
        binding->track = spans[0].track;
    }
    for (size_t i = 0; i < count; i++) {
        if (spans[i].flags & MARKER)
            bind(binding, &spans[i]);
        else
            pass(binding, &spans[i]);
    }
    pass_batch(binding);
}

static bool is_full(void *context)
{
    const struct binding *binding = context;
    return trace_is_full(binding->trace);
}

/* ---- ends find each other -------------------------------------------------------- */

/* The latest start of the flow that is not behind the end, else any. */
static const struct trace_span *find_start(const struct binding *binding,
                                           const struct trace_span *end)
{
    const struct trace_span *best = NULL;
    for (uint32_t i = 0; i < binding->start_count && i < STARTS_MAX; i++) {
        const struct trace_span *start = &binding->starts[i];
        bool before = start->stop_ns <= end->start_ns;
        if (start->id == end->id && (!best || (before && start->stop_ns > best->stop_ns) ||
                                     (before && best->stop_ns > end->start_ns)))
            best = start;
    }
    return best;
}

static void link_ends(struct binding *binding, const struct trace_span *end)
{
    const struct trace_span *start = find_start(binding, end);
    if (!start) {
        binding->flows->lone++;
        return;
    }
    trace_add_link(binding->trace, (struct trace_link){.from_track = start->item,
                                                       .from_ns = start->stop_ns,
                                                       .to_track = end->item,
                                                       .to_ns = end->start_ns,
                                                       .to_span = end->parent});
}

static void take_ends(void *context, const struct trace_span *ends, size_t count,
                      const struct trace_details *details)
{
    struct binding *binding = context;
    (void)details;
    for (size_t i = 0; i < count; i++) {
        if (ends[i].track != binding->hash)
            binding->start_count = 0, binding->hash = ends[i].track;
        if (ends[i].flags)
            binding->starts[binding->start_count++ % STARTS_MAX] = ends[i];
        else
            link_ends(binding, &ends[i]);
    }
}

static void sort_into(struct span_sorter *sorter, const struct trace_sink *sink,
                      struct chrome_flows *flows)
{
    struct trace *between = trace_new(sink, 0);
    if (between)
        span_sorter_finish(sorter, between);
    else
        message("out of memory; spans are missing");
    flows->failed |= !between || sorter->failed;
    trace_free(between);
}

void chrome_flows_finish(struct chrome_flows *flows, struct span_sorter *spans, struct trace *trace)
{
    struct binding *binding = calloc(1, sizeof *binding);
    if (!binding) {
        message("out of memory; spans are missing");
        flows->failed = true;
        return;
    }
    binding->flows = flows;
    binding->trace = trace;
    binding->track = TRACE_NONE;
    sort_into(spans, &(struct trace_sink){.context = binding, .spans = take_spans, .full = is_full},
              flows);
    flows->lone += binding->next_count;
    sort_into(&flows->ends,
              &(struct trace_sink){.context = binding, .spans = take_ends, .full = is_full}, flows);
    free(binding);
}
