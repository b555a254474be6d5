/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A marker is a span without length with the flag MARKER; item is its shape,
 * parent its flow, name the label and category the kind of the link.
 */
#include "chrome_flows.h"
#include "message.h"
#include "trace_span.h"

#include <stdlib.h>
#include <string.h>

enum { MARKER = 0x80, CHROME_FLOWS_BATCH = 512, OPEN_MAX = 256, NEXT_MAX = 64 };

struct binding {
    struct chrome_flows *flows;
    struct trace *trace;
    struct trace_span batch[CHROME_FLOWS_BATCH]; /* to be passed on */
    size_t count;
    const struct trace_details *details; /* of the batch */
    struct trace_span open[OPEN_MAX];    /* that may enclose what comes, by start */
    uint32_t open_count, track;
    struct trace_span next[NEXT_MAX]; /* markers that bind to the next span */
    uint32_t next_count;
};

void chrome_flows_mark(struct span_sorter *spans, const struct chrome_flow *flow)
{
    span_sorter_add(spans,
                    &(struct trace_span){.start_ns = flow->time_ns,
                                         .stop_ns = flow->time_ns,
                                         .id = UINT64_MAX,
                                         .parent = flow->key,
                                         .track = flow->track,
                                         .name = flow->label,
                                         .item = flow->shape,
                                         .category = (uint8_t)flow->kind,
                                         .flags = MARKER},
                    NULL);
}

/* ---- markers find their span ----------------------------------------------------- */

static void chrome_flows_add_end(const struct binding *binding, const struct trace_span *marker,
                                 const struct trace_span *span, bool arrives, bool passes_on)
{
    trace_add_link_end(binding->trace, &(struct trace_link_end){
                                           .arrives = arrives,
                                           .passes_on = passes_on,
                                           .kind = marker->category,
                                           .label = marker->name,
                                           .space = TRACE_NONE,
                                           .process = TRACE_NONE,
                                           .track = span->track,
                                           .key = marker->parent,
                                           .time_ns = arrives ? span->start_ns : marker->start_ns,
                                           .span = span->id});
}

/* It arrives at the beginning of the span, and leaves when the marker says. */
static void chrome_flows_add_ends(const struct binding *binding, const struct trace_span *marker,
                                  const struct trace_span *span)
{
    bool start = marker->item == FLOW_START || marker->item == FLOW_START_ALONE;
    bool step = marker->item == FLOW_STEP;
    bool at_once = step && marker->start_ns == span->start_ns;
    if (!start)
        chrome_flows_add_end(binding, marker, span, true, at_once);
    if (start || (step && !at_once))
        chrome_flows_add_end(binding, marker, span, false, false);
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
    const struct trace_span nothing = {.track = marker->track};
    if (!span && marker->item == FLOW_START_ALONE)
        span = &nothing;
    if (span)
        chrome_flows_add_ends(binding, marker, span);
    else
        binding->flows->lone++;
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

static void chrome_flows_pass_batch(struct binding *binding)
{
    trace_add_spans(binding->trace, binding->batch, binding->count, binding->details);
    binding->count = 0;
}

static void chrome_flows_pass(struct binding *binding, const struct trace_span *span)
{
    if (binding->count == CHROME_FLOWS_BATCH)
        chrome_flows_pass_batch(binding);
    binding->batch[binding->count++] = *span;
    drop_ended(binding, span->start_ns);
    binding->open[binding->open_count++] = *span;
    for (uint32_t i = 0; i < binding->next_count; i++)
        chrome_flows_add_ends(binding, &binding->next[i], span);
    binding->next_count = 0;
}

static void chrome_flows_on_spans(void *context, const struct trace_span *spans, size_t count,
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
            chrome_flows_pass(binding, &spans[i]);
    }
    chrome_flows_pass_batch(binding);
}

static bool chrome_flows_is_full(void *context)
{
    const struct binding *binding = context;
    return trace_is_full(binding->trace);
}

/* ---- all together --------------------------------------------------------------- */

void chrome_flows_finish(struct chrome_flows *flows, struct span_sorter *spans, struct trace *trace)
{
    struct binding *binding = calloc(1, sizeof *binding);
    const struct trace_sink sink = {
        .context = binding, .spans = chrome_flows_on_spans, .full = chrome_flows_is_full};
    struct trace *between = binding ? trace_new(&sink, 0) : NULL;
    if (between) {
        binding->flows = flows;
        binding->trace = trace;
        binding->track = TRACE_NONE;
        span_sorter_finish(spans, between);
        flows->lone += binding->next_count;
    } else {
        message("out of memory; spans are missing");
    }
    flows->failed |= !between || spans->failed || trace_failed(between);
    trace_free(between);
    free(binding);
}
