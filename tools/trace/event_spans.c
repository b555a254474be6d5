/* SPDX-License-Identifier: Apache-2.0 */
/* What sources of other profilers have in common: flows, filters, losses, begins without an end. */
#include "event_spans.h"
#include "loss_text.h"
#include "message.h"
#include "name_pattern.h"
#include "trace_span.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- flows ----------------------------------------------------------------------------------- */
/*
 * A marker is a span without length with the flag MARKER; item is its shape, parent its flow, name
 * the label and category the kind of the link.
 */

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

/* ---- filter ---------------------------------------------------------------------------------- */
/* Filters for spans of other profilers. */

void trace_filter_start(struct trace_filter *filter, const struct trace_read_options *options,
                        int64_t zero_ns)
{
    *filter = (struct trace_filter){
        .options = options->filter, .zero_ns = zero_ns, .clip = options->clip};
    if (!filter->options || !filter_is_set(filter->options)) {
        filter->options = NULL;
        return;
    }
    filter->from_ns = filter_time_ns(&filter->options->from, zero_ns, INT64_MIN);
    filter->to_ns = filter_time_ns(&filter->options->to, zero_ns, INT64_MAX);
}

/* A number may be a name here. Of the patterns that fit, *found gets the bits. */
static bool matches(const struct filter_patterns *patterns, uint64_t number, struct trace_text name,
                    uint64_t *found)
{
    uint64_t fit = filter_patterns_fit(patterns, number, name.text, name.bytes);
    for (unsigned i = 0; i < patterns->count; i++)
        if (name_matches(patterns->list[i].text, name.text, name.bytes))
            fit |= UINT64_C(1) << i;
    *found |= fit;
    return fit || patterns->count == 0;
}

/* Notes what was there, wanted or not. */
static bool takes_patterns(const struct trace_filter *filter, struct trace *trace,
                           const struct trace_track *track, const struct trace_span *span)
{
    struct filter_found unasked = {0};
    const struct filter_options *options = filter->options;
    struct filter_found *found = options->found ? options->found : &unasked;
    filter_found_time(found, span->start_ns, span->stop_ns, filter->zero_ns);
    if (track->kind == TRACE_THREAD || track->kind == TRACE_PROCESSOR)
        trace_saw(trace, span->start_ns > filter->from_ns ? span->start_ns : filter->from_ns,
                  span->stop_ns < filter->to_ns ? span->stop_ns : filter->to_ns);
    bool slot =
        matches(&options->slots, span->item, trace_name_of(trace, span->name), &found->slots);
    return matches(&options->threads, track->id, track->name, &found->threads) && slot;
}

bool trace_filter_clip(const struct trace_filter *filter, struct trace_span *span)
{
    return !filter->clip || !filter->options || trace_clip(span, filter->from_ns, filter->to_ns);
}

bool trace_filter_takes_sample(const struct trace_filter *filter, int64_t time_ns)
{
    const struct filter_options *options = filter->options;
    return !options || (!options->kinds && !options->duration.set && !options->slots.count &&
                        !options->threads.count && time_ns >= filter->from_ns &&
                        (!options->to.set || time_ns < filter->to_ns));
}

bool trace_filter_takes(const struct trace_filter *filter, struct trace *trace,
                        const struct trace_span *span)
{
    const struct filter_options *options = filter->options;
    if (!options)
        return true;
    const struct trace_track *track = trace_track_of(trace, span->track);
    bool wanted = takes_patterns(filter, trace, track, span);
    if (options->kinds && !(options->kinds & FILTER_GPU_WORK && track->kind == TRACE_GPU))
        return false;
    if (options->duration.set && trace_duration_ns(span) < (uint64_t)options->duration.ns)
        return false;
    if (span->stop_ns < filter->from_ns ||
        (options->to.set && (span->start_ns >= filter->to_ns || filter->from_ns >= filter->to_ns)))
        return false;
    return wanted;
}

/* ---- losses ---------------------------------------------------------------------------------- */

enum { CAUSE_BYTES = 128 };

struct kept_loss {
    struct trace_loss loss;
    char cause[CAUSE_BYTES];
};

static void put_together(struct trace_loss *last, const struct trace_loss *loss)
{
    last->count += loss->count;
    last->bytes += loss->bytes;
    last->track = last->track == loss->track ? last->track : TRACE_NONE;
    last->last_ns = last->last_ns > loss->last_ns ? last->last_ns : loss->last_ns;
}

void deferred_losses_add(struct deferred_losses *kept, const struct trace_loss *loss)
{
    if (kept->count == KEPT_LOSSES_MAX) {
        put_together(&kept->list[kept->count - 1].loss, loss);
        return;
    }
    if (!GROW_ZEROED(kept->list, kept->room, kept->count + 1)) {
        kept->failed = true;
        return;
    }
    struct kept_loss *made = &kept->list[kept->count++];
    made->loss = *loss;
    snprintf(made->cause, sizeof made->cause, "%.*s", (int)loss->cause.bytes, loss->cause.text);
}

void deferred_losses_add_named(struct deferred_losses *kept, struct trace_loss loss,
                               struct trace_text name)
{
    const char *colon = name.bytes ? memchr(name.text, ':', name.bytes) : NULL;
    const char *end = name.text + name.bytes;
    const char *cause = colon && colon + 2 <= end ? colon + 2 : name.text;
    loss.cause = (struct trace_text){cause, (uint32_t)(end - cause)};
    loss.refused = loss_refused_cause(cause, loss.cause.bytes);
    deferred_losses_add(kept, &loss);
}

void deferred_losses_emit(const struct deferred_losses *kept, struct trace *trace)
{
    for (uint32_t i = 0; i < kept->count; i++) {
        struct trace_loss loss = kept->list[i].loss;
        loss.cause = trace_text(kept->list[i].cause);
        trace_add_loss(trace, loss);
    }
}

void deferred_losses_free(struct deferred_losses *kept)
{
    free(kept->list);
    *kept = (struct deferred_losses){0};
}

/* ---- begins without an end ------------------------------------------------------------------- */
/* Lists in one array, a free list in the same. */

struct open_entry {
    uint64_t key;
    uint32_t next; /* index + 1 */
    struct trace_span span;
    uint64_t *detail; /* NULL none */
};

static uint32_t take_free(struct open_spans *open)
{
    uint32_t taken = open->free;
    if (taken) {
        open->free = open->entries[taken - 1].next;
        return taken;
    }
    if (open->count == OPEN_SPANS_MAX || !GROW_ARRAY(open->entries, open->room, open->count + 1))
        return 0;
    return ++open->count;
}

/* NULL without one, or without room for it. */
static uint64_t *copy_detail(struct open_spans *open, const struct trace_detail *detail)
{
    if (!detail)
        return NULL;
    uint64_t bytes = detail->words * sizeof(uint64_t);
    if (bytes > OPEN_SPANS_DETAIL_BYTES_MAX - open->detail_bytes) {
        open->cut++;
        return NULL;
    }
    uint64_t *copy = malloc(bytes);
    open->failed |= !copy;
    if (!copy)
        return NULL;
    open->detail_bytes += bytes;
    return memcpy(copy, detail, bytes);
}

bool open_spans_push(struct open_spans *open, uint64_t key, const struct trace_span *span,
                     const struct trace_detail *detail)
{
    uint32_t at = id_hash(key) % OPEN_SPANS_CELLS, *cell = &open->cells[at];
    uint32_t taken = take_free(open);
    open->crowded += !taken;
    if (!taken)
        return false;
    open->entries[taken - 1] = (struct open_entry){key, *cell, *span, copy_detail(open, detail)};
    *cell = taken;
    if (at < open->first)
        open->first = at;
    return true;
}

static void release(struct open_spans *open, uint32_t *link, struct trace_span *span_out,
                    struct trace_detail **detail_out)
{
    uint32_t taken = *link;
    struct open_entry *entry = &open->entries[taken - 1];
    *span_out = entry->span;
    *detail_out = (void *)entry->detail;
    if (entry->detail)
        open->detail_bytes -= (*detail_out)->words * sizeof(uint64_t);
    *link = entry->next;
    entry->next = open->free;
    open->free = taken;
}

bool open_spans_pop(struct open_spans *open, uint64_t key, struct trace_span *span_out,
                    struct trace_detail **detail_out)
{
    uint32_t *link = &open->cells[id_hash(key) % OPEN_SPANS_CELLS];
    while (*link && open->entries[*link - 1].key != key)
        link = &open->entries[*link - 1].next;
    if (!*link)
        return false;
    release(open, link, span_out, detail_out);
    return true;
}

bool open_spans_end(struct open_spans *open, uint64_t key, int64_t stop_ns,
                    struct trace_span *span_out, struct trace_detail **detail_out)
{
    if (!open_spans_pop(open, key, span_out, detail_out)) {
        open->strays++;
        return false;
    }
    open->backwards += stop_ns < span_out->start_ns;
    span_out->stop_ns = stop_ns < span_out->start_ns ? span_out->start_ns : stop_ns;
    return true;
}

bool open_spans_report(const struct open_spans *open, const char *name, uint64_t cut)
{
    bool whole =
        message_count(name, open->backwards, "events end before they begin; shown as points");
    whole &= message_count(name, open->strays, "ends have no begin; dropped");
    whole &= message_count(name, open->crowded,
                           "begins are too many to be open at once, or for the memory; dropped");
    return message_count(name, open->cut + cut,
                         "arguments are too long or too many; cut or dropped") &&
           whole;
}

bool open_spans_pop_any(struct open_spans *open, struct trace_span *span_out,
                        struct trace_detail **detail_out)
{
    while (open->first < OPEN_SPANS_CELLS && !open->cells[open->first])
        open->first++;
    if (open->first == OPEN_SPANS_CELLS)
        return false;
    release(open, &open->cells[open->first], span_out, detail_out);
    return true;
}

void open_spans_free(struct open_spans *open)
{
    struct trace_span span;
    struct trace_detail *detail;
    while (open_spans_pop_any(open, &span, &detail))
        free(detail);
    free(open->entries);
    *open = (struct open_spans){0};
}
