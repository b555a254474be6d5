/* SPDX-License-Identifier: Apache-2.0 */
/* Flows wait as arguments whose names no trace has; when the span is added they are taken out. */
#include "perfetto_spans.h"
#include "message.h"
#include "own_keys.h"
#include "perfetto_proto.h"
#include "trace_span.h"

#include <stdlib.h>
#include <string.h>

/* Names of the arguments that flows wait as. */
#define GOES_ON (TRACE_NONE - 1)
#define ENDS (TRACE_NONE - 2)

struct perfetto_spans *perfetto_spans_start(struct perfetto_tracks *tracks,
                                            const struct perfetto_state *state,
                                            const struct trace_source *opened, struct trace *trace,
                                            const struct trace_read_options *options)
{
    struct perfetto_spans *spans = calloc(1, sizeof *spans);
    if (!spans)
        return NULL;
    spans->tracks = tracks;
    tracks->opened = opened;
    tracks->trace = trace;
    spans->state = state;
    spans->opened = opened;
    spans->trace = trace;
    spans->zero_ns = opened->facts.zero_ns + options->axis.shift_ns;
    spans->json.most = DETAIL_TEXT_MAX;
    trace_filter_start(&spans->filter, options, opened->facts.first_ns + options->axis.shift_ns);
    span_sorter_start(&spans->spans);
    sample_sorter_start(&spans->samples);
    return spans;
}

void perfetto_spans_free(struct perfetto_spans *spans)
{
    span_sorter_stop(&spans->spans);
    sample_sorter_stop(&spans->samples);
    open_spans_free(&spans->open);
    span_detail_free(&spans->detail);
    deferred_losses_free(&spans->losses);
    text_buffer_free(&spans->json);
    free(spans);
}

/* ---- links ------------------------------------------------------------------------ */

static uint64_t flow_key(const struct perfetto_spans *spans, uint64_t flow)
{
    const char *name = spans->opened->name;
    return text_hash(id_hash(flow), name, strlen(name));
}

/* Where it goes on, it comes from the one before, too. */
static void add_link_end(struct perfetto_spans *spans, const struct trace_span *span, uint64_t flow,
                         bool ends)
{
    trace_add_link_end(spans->trace, &(struct trace_link_end){.arrives = true,
                                                              .passes_on = !ends,
                                                              .kind = TRACE_FLOW,
                                                              .space = TRACE_NONE,
                                                              .process = TRACE_NONE,
                                                              .track = span->track,
                                                              .key = flow_key(spans, flow),
                                                              .time_ns = span->start_ns,
                                                              .span = span->id});
}

/* A flow of the old kind, which binds to the span around it. */
static void mark_flow(struct perfetto_spans *spans, const struct perfetto_event *event,
                      uint32_t track, int64_t time_ns, enum flow_shape shape, uint64_t id)
{
    struct chrome_flow flow = {.key = flow_key(spans, id),
                               .time_ns = time_ns,
                               .track = track,
                               .kind = TRACE_FLOW,
                               .shape = shape};
    bool named = false;
    for (int i = 0; spans->ours && i < TRACE_LINK_KINDS; i++) {
        struct trace_text kind = trace_text(trace_link_kind_name[i]);
        bool is_kind = kind.bytes <= event->category_bytes &&
                       memcmp(kind.text, event->category + event->category_bytes - kind.bytes,
                              kind.bytes) == 0;
        bool is_name = trace_text_same(kind, event->name);
        if (is_kind || is_name)
            flow.kind = (enum trace_link_kind)i;
        named |= is_name;
    }
    if (!named)
        flow.label = trace_add_label(spans->trace, event->name.text, event->name.bytes);
    if (shape != FLOW_START || event->phase) {
        chrome_flows_mark(&spans->spans, &flow);
        return;
    }
    trace_add_link_end(spans->trace, &(struct trace_link_end){.kind = (uint8_t)flow.kind,
                                                              .label = flow.label,
                                                              .space = TRACE_NONE,
                                                              .process = TRACE_NONE,
                                                              .track = track,
                                                              .key = flow.key,
                                                              .time_ns = time_ns});
}

/* True for events that are nothing but an end of a flow. */
static bool take_flow(struct perfetto_spans *spans, const struct perfetto_event *event,
                      uint32_t track, int64_t time_ns)
{
    enum flow_shape shape = event->phase == 's'      ? FLOW_START
                            : event->phase == 't'    ? FLOW_STEP
                            : event->binds_enclosing ? FLOW_END
                                                     : FLOW_END_AT_NEXT;
    if (event->phase == 's' || event->phase == 't' || event->phase == 'f') {
        mark_flow(spans, event, track, time_ns, shape, event->flow_id);
        return true;
    }
    bool arrow = spans->ours && event->type == PF_INSTANT && perfetto_event_begins(event, "link");
    for (uint32_t i = 0; arrow && i < event->flow_count; i++)
        mark_flow(spans, event, track, time_ns, event->flows[i].ends ? FLOW_END : FLOW_START,
                  event->flows[i].id);
    return arrow;
}

/* ---- what a span is --------------------------------------------------------------- */

struct own_words {
    struct perfetto_spans *spans;
    struct trace_span *span;
};

/* What our own exports say of a span by an argument. */
static bool perfetto_spans_take_word(void *context, struct trace_text name, uint64_t value)
{
    const struct own_words *own = context;
    struct trace_detail *head = &own->spans->detail.head;
    const enum own_key key = own_key_number(name);
    if (!own->spans->ours || key >= OWN_RBWP)
        return false;
    if (key == OWN_UNFINISHED || key == OWN_OPEN)
        own->span->flags |= key == OWN_OPEN ? TRACE_OPEN : TRACE_UNFINISHED;
    else if (key == OWN_SLOT || key == OWN_ITEM)
        own->span->item = (uint32_t)value;
    else if (key == OWN_LAUNCH_NS)
        head->launch_ns = (int64_t)value;
    else if (key == OWN_LAUNCH_THREAD)
        head->thread_id = value;
    else if (key != OWN_LAUNCH_INFERRED)
        *(key == OWN_CERTAIN_NS           ? &head->certain_ns
          : key == OWN_START_UNCERTAIN_NS ? &head->start_uncertain_ns
                                          : &head->stop_uncertain_ns) = value;
    head->flags |= key == OWN_LAUNCH_NS         ? TRACE_HAS_LAUNCH
                   : key == OWN_LAUNCH_INFERRED ? TRACE_INFERRED
                   : key > OWN_LAUNCH_INFERRED  ? TRACE_HAS_BOUNDS
                                                : 0;
    return true;
}

/* Ours, with the source's own behind a comma. */
static uint32_t take_category(struct perfetto_spans *spans, const struct perfetto_event *event,
                              struct trace_span *span)
{
    struct trace_text label = {event->category, event->category_bytes};
    span->category = TRACE_OTHER;
    for (uint8_t i = 0; spans->ours && i < TRACE_CATEGORIES; i++) {
        uint32_t bytes = (uint32_t)strlen(trace_category_name[i]);
        if (!perfetto_event_begins(event, trace_category_name[i]))
            continue;
        span->category = i;
        bool more = label.bytes > bytes;
        label = (struct trace_text){more ? label.text + bytes + 1 : "",
                                    more ? label.bytes - bytes - 1 : 0};
        break;
    }
    return trace_add_label(spans->trace, label.text, label.bytes);
}

/* Of a begin or an instant; with its arguments in the maker. */
static struct trace_span perfetto_spans_make_span(struct perfetto_spans *spans,
                                                  const struct perfetto_packet *packet,
                                                  const struct perfetto_event *event,
                                                  uint32_t track, int64_t time_ns)
{
    bool named = event->name.bytes > 0;
    struct trace_span span = {.start_ns = time_ns,
                              .stop_ns = time_ns,
                              .track = track,
                              .name =
                                  trace_add_name(spans->trace, named ? event->name.text : "unnamed",
                                                 named ? event->name.bytes : 7)};
    struct own_words own = {spans, &span};
    struct perfetto_args args = {.state = spans->state,
                                 .sequence = packet->sequence,
                                 .trace = spans->trace,
                                 .maker = &spans->detail,
                                 .json = &spans->json,
                                 .special = perfetto_spans_take_word,
                                 .ours = spans->ours,
                                 .context = &own};
    span_detail_start(&spans->detail);
    spans->detail.head.category = take_category(spans, event, &span);
    spans->detail.head.correlation = event->correlation;
    perfetto_event_args(event, &args);
    if (spans->ours && spans->detail.head.thread_id)
        spans->detail.head.launch_track =
            perfetto_tracks_thread(spans->tracks, track, spans->detail.head.thread_id);
    for (uint32_t i = 0; i < event->flow_count; i++)
        span_detail_arg(&spans->detail, event->flows[i].ends ? ENDS : GOES_ON, TRACE_ARG_U64,
                        event->flows[i].id);
    return span;
}

/* ---- losses ----------------------------------------------------------------------- */

static bool take_loss_word(void *context, struct trace_text name, uint64_t value)
{
    struct trace_loss *loss = context;
    const struct {
        const char *word;
        uint64_t *place;
    } words[] = {{"records", &loss->count},
                 {"calls", &loss->count},
                 {"bytes", &loss->bytes},
                 {"first_ns", (uint64_t *)&loss->first_ns},
                 {"last_ns", (uint64_t *)&loss->last_ns}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (trace_text_is(name, words[i].word))
            *words[i].place = value;
    return true;
}

/* Of our own exports: an instant on the track that lost, or on its process's. */
static void take_own_loss(struct perfetto_spans *spans, const struct perfetto_packet *packet,
                          const struct perfetto_event *event, struct perfetto_track *track)
{
    struct trace_loss loss = {.track = perfetto_tracks_add(spans->tracks, track)};
    struct perfetto_args args = {.state = spans->state,
                                 .sequence = packet->sequence,
                                 .trace = spans->trace,
                                 .maker = &spans->detail,
                                 .json = &spans->json,
                                 .special = take_loss_word,
                                 .context = &loss};
    span_detail_start(&spans->detail);
    perfetto_event_args(event, &args);
    loss.process = trace_track_of(spans->trace, loss.track)->process;
    deferred_losses_add_named(&spans->losses, loss, event->name);
}

/* What a writer says that it dropped before this packet. */
static void take_gap(struct perfetto_spans *spans, const struct perfetto_track *track,
                     uint32_t added, int64_t time_ns)
{
    deferred_losses_add(
        &spans->losses,
        &(struct trace_loss){.process = trace_track_of(spans->trace, added)->process,
                             .track = added,
                             .cause = trace_text("its writer dropped packets"),
                             .first_ns = track->last_ns < time_ns ? track->last_ns : time_ns,
                             .last_ns = time_ns});
}

/* ---- events ----------------------------------------------------------------------- */

/* The detail without the flows that waited in it. */
static const struct trace_detail *release_flows(struct perfetto_spans *spans,
                                                const struct trace_detail *detail,
                                                const struct trace_span *span)
{
    uint32_t found = 0;
    for (uint32_t i = 0; detail && i < detail->arg_count; i++) {
        const struct trace_arg *arg = &trace_args_of(detail)[i];
        if (arg->key == ENDS || arg->key == GOES_ON) {
            add_link_end(spans, span, arg->value.u64, arg->key == ENDS);
            found++;
        }
    }
    if (!found)
        return detail;
    /* They stand behind all others. */
    span_detail_continue(&spans->detail, detail);
    spans->detail.head.arg_count -= found;
    spans->detail.set = spans->detail.head.arg_count > 0;
    return span_detail_finish(&spans->detail);
}

static void perfetto_spans_add_span(struct perfetto_spans *spans, struct trace_span *span,
                                    const struct trace_detail *detail)
{
    if (!trace_filter_takes(&spans->filter, spans->trace, span) ||
        !trace_filter_clip(&spans->filter, span))
        return;
    span->id = trace_new_ids(spans->trace, 1);
    detail = release_flows(spans, detail, span);
    span_sorter_add(&spans->spans, span, detail);
}

static void take_end(struct perfetto_spans *spans, uint64_t key, int64_t time_ns)
{
    struct trace_span span;
    struct trace_detail *detail;
    if (!open_spans_end(&spans->open, key, time_ns, &span, &detail))
        return;
    perfetto_spans_add_span(spans, &span, detail);
    free(detail);
}

static void perfetto_spans_take_counter(struct perfetto_spans *spans, struct perfetto_track *track,
                                        const struct perfetto_event *event, uint32_t added,
                                        int64_t time_ns)
{
    struct trace_sample sample = event->value;
    if (!event->has_value) {
        spans->dropped++;
        return;
    }
    if (sample.whole && track->incremental) {
        track->total = (int64_t)((uint64_t)track->total + (uint64_t)sample.value.i64);
        sample.value.i64 = track->total;
    }
    if (sample.whole && track->scale > 1 &&
        __builtin_mul_overflow(sample.value.i64, track->scale, &sample.value.i64)) {
        spans->dropped++;
        return;
    }
    sample.time_ns = time_ns;
    if (trace_filter_takes_sample(&spans->filter, time_ns))
        sample_sorter_add(&spans->samples, added, &sample);
}

static void take_typed(struct perfetto_spans *spans, const struct perfetto_packet *packet,
                       const struct perfetto_event *event, uint32_t track, uint64_t key,
                       int64_t time_ns)
{
    struct trace_span span;
    switch (event->type) {
    case PF_SLICE_BEGIN:
        span = perfetto_spans_make_span(spans, packet, event, track, time_ns);
        span.id = key; /* until it ends */
        (void)open_spans_push(&spans->open, key, &span, span_detail_finish(&spans->detail));
        break;
    case PF_SLICE_END:
        take_end(spans, key, time_ns);
        break;
    case PF_INSTANT:
        span = perfetto_spans_make_span(spans, packet, event, track, time_ns);
        span.flags |= TRACE_INSTANT;
        perfetto_spans_add_span(spans, &span, span_detail_finish(&spans->detail));
        break;
    default:
        spans->dropped++;
    }
}

void perfetto_spans_take(struct perfetto_spans *spans, const struct perfetto_packet *packet,
                         const struct perfetto_event *event, int64_t time_ns)
{
    struct perfetto_track *track = perfetto_tracks_find(spans->tracks, event->track);
    bool own_instant = spans->ours && event->type == PF_INSTANT;
    time_ns += spans->zero_ns;
    spans->dropped += event->dropped;
    if (!track || (own_instant && perfetto_event_is(event, "fact")))
        return;
    if (own_instant && perfetto_event_is(event, "loss")) {
        take_own_loss(spans, packet, event, track);
        return;
    }
    uint64_t key = (uint64_t)(track - spans->tracks->tracks);
    uint32_t added = perfetto_tracks_add(spans->tracks, track);
    if (packet->lost && !spans->ours)
        take_gap(spans, track, added, time_ns);
    track->last_ns = time_ns > track->last_ns ? time_ns : track->last_ns;
    if (take_flow(spans, event, added, time_ns))
        return;
    if (event->type == PF_COUNTER)
        perfetto_spans_take_counter(spans, track, event, added, time_ns);
    else
        take_typed(spans, packet, event, added, key, time_ns);
}

/* Begins without an end last until the latest time of their track. */
static void end_open(struct perfetto_spans *spans)
{
    struct trace_span span;
    struct trace_detail *detail;
    while (open_spans_pop_any(&spans->open, &span, &detail)) {
        int64_t last_ns = spans->tracks->tracks[span.id].last_ns;
        span.stop_ns = last_ns > span.stop_ns ? last_ns : span.stop_ns;
        span.flags |= TRACE_UNFINISHED;
        spans->unfinished++;
        perfetto_spans_add_span(spans, &span, detail);
        free(detail);
    }
}

bool perfetto_spans_finish(struct perfetto_spans *spans)
{
    end_open(spans);
    chrome_flows_finish(&spans->flows, &spans->spans, spans->trace);
    bool whole = sample_sorter_finish(&spans->samples, spans->trace);
    deferred_losses_emit(&spans->losses, spans->trace);
    whole &= open_spans_report(&spans->open, spans->opened->name, spans->detail.cut);
    message_count(spans->opened->name, spans->unfinished,
                  "begins have no end; shown until their track's last");
    message_count(spans->opened->name, spans->flows.lone, "ends of flows lead nowhere; dropped");
    message_count(spans->opened->name, spans->dropped,
                  "parts of events are of other kinds; dropped");
    bool failed =
        spans->detail.failed || spans->open.failed || spans->json.failed || spans->losses.failed;
    if (failed)
        message("%s: out of memory; arguments or losses are missing", spans->opened->name);
    return whole && !failed && !spans->flows.failed;
}
