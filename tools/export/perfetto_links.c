/* SPDX-License-Identifier: Apache-2.0 */
#include "perfetto_trace.h"
#include "own_keys.h"
#include "trace_span.h"

#include <stdio.h>
#include <string.h>

/* ---- spans with more than a name ------------------------------------------------------------- */
/*
 * What a span has beyond its name: the source's category, correlation, arguments, bounds, launch.
 */

enum {
    ARG_BYTES = 48,      /* of one, without its texts */
    MODEL_BYTES = 512,   /* of what is not an argument */
    TEXTS_MAX = 48 << 10 /* of all arguments: what is more is dropped */
};

static uint32_t at_most(uint32_t bytes)
{
    return bytes < TEXT_BYTES_MAX ? bytes : TEXT_BYTES_MAX;
}

static struct trace_text perfetto_args_text_of(const struct perfetto *perfetto,
                                               const struct trace_detail *detail,
                                               const struct trace_arg *arg)
{
    if (arg->type == TRACE_ARG_NAME)
        return trace_name_of(perfetto->pass->trace, (uint32_t)arg->value.u64);
    if (arg->type == TRACE_ARG_TEXT || arg->type == TRACE_ARG_JSON)
        return trace_arg_text(detail, arg);
    return (struct trace_text){"", 0};
}

/* The number of its arguments that fit, and their texts' bytes. */
static uint32_t fitting(const struct perfetto *perfetto, const struct trace_detail *detail,
                        size_t *bytes_out)
{
    size_t bytes = 0;
    uint32_t count = 0;
    for (; count < detail->arg_count; count++) {
        const struct trace_arg *arg = &trace_args_of(detail)[count];
        size_t more = ARG_BYTES + at_most(trace_name_of(perfetto->pass->trace, arg->key).bytes) +
                      OWN_KEY_PREFIX_BYTES +
                      at_most(perfetto_args_text_of(perfetto, detail, arg).bytes);
        if (bytes + more > TEXTS_MAX)
            break;
        bytes += more;
    }
    *bytes_out = bytes;
    return count;
}

size_t perfetto_detail_bytes(const struct perfetto *perfetto, const struct trace_detail *detail)
{
    size_t bytes;
    (void)fitting(perfetto, detail, &bytes);
    return bytes + MODEL_BYTES +
           at_most(trace_label_of(perfetto->pass->trace, detail->category).bytes);
}

static uint8_t *put_fixed_double(uint8_t *at, unsigned field, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return pb_fixed64(at, field, bits);
}

static uint8_t *perfetto_args_put_value(struct perfetto *perfetto, uint8_t *at,
                                        const struct trace_detail *detail,
                                        const struct trace_arg *arg)
{
    struct trace_text text = perfetto_args_text_of(perfetto, detail, arg);
    switch ((enum trace_arg_type)arg->type) {
    case TRACE_ARG_U64:
    case TRACE_ARG_DURATION:
        return pb_u64(at, PF_ANNOTATION_UINT, arg->value.u64);
    case TRACE_ARG_I64:
    case TRACE_ARG_TIME:
        return pb_u64(at, PF_ANNOTATION_INT, (uint64_t)arg->value.i64);
    case TRACE_ARG_F64:
        return put_fixed_double(at, PF_ANNOTATION_DOUBLE, arg->value.f64);
    case TRACE_ARG_BOOL:
        return pb_u64(at, PF_ANNOTATION_BOOL, arg->value.u64 != 0);
    case TRACE_ARG_JSON:
        if (text.bytes <= TEXT_BYTES_MAX) /* cut it would be no JSON */
            return perfetto_put_text(perfetto, at, PF_ANNOTATION_JSON, text, TEXT_BYTES_MAX);
        break;
    case TRACE_ARG_NAME:
    case TRACE_ARG_TEXT:
        break;
    }
    return perfetto_put_text(perfetto, at, PF_ANNOTATION_STRING, text, TEXT_BYTES_MAX);
}

uint8_t *perfetto_put_number(uint8_t *at, const char *key, enum pf_annotation kind, uint64_t value)
{
    uint8_t *annotation = pb_open(at, PF_EVENT_ANNOTATION);
    at = pb_text(annotation, PF_ANNOTATION_NAME, key);
    return pb_close(annotation, pb_u64(at, kind, value));
}

static uint8_t *put_model(uint8_t *at, const struct trace_span *span,
                          const struct trace_detail *detail)
{
    int64_t parts[TRACE_CPU_PARTS] = {-1, -1, -1};
    if (detail->flags & TRACE_HAS_CPU)
        trace_cpu_parts(span, detail, parts);
    for (int i = 0; i < TRACE_CPU_PARTS; i++)
        if (parts[i] >= 0)
            at = perfetto_put_number(at, trace_cpu_part_name[i], PF_ANNOTATION_UINT,
                                     (uint64_t)parts[i]);
    if (detail->flags & TRACE_HAS_LAUNCH)
        at = perfetto_put_number(at, "launch_ns", PF_ANNOTATION_INT, (uint64_t)detail->launch_ns);
    if (detail->thread_id)
        at = perfetto_put_number(at, "launch_thread", PF_ANNOTATION_UINT, detail->thread_id);
    if (detail->flags & TRACE_INFERRED)
        at = perfetto_put_number(at, "launch_inferred", PF_ANNOTATION_BOOL, 1);
    if (!(detail->flags & TRACE_HAS_BOUNDS))
        return at;
    at = perfetto_put_number(at, "start_uncertain_ns", PF_ANNOTATION_UINT,
                             detail->start_uncertain_ns);
    at =
        perfetto_put_number(at, "stop_uncertain_ns", PF_ANNOTATION_UINT, detail->stop_uncertain_ns);
    return perfetto_put_number(at, "certain_ns", PF_ANNOTATION_UINT, detail->certain_ns);
}

static uint8_t *perfetto_args_put_key(struct perfetto *perfetto, uint8_t *at, uint32_t number)
{
    char prefixed[256];
    struct trace_text key = trace_name_of(perfetto->pass->trace, number);
    if (own_key_is_taken(key)) {
        snprintf(prefixed, sizeof prefixed, OWN_KEY_PREFIX "%.*s", (int)key.bytes, key.text);
        key = trace_text(prefixed);
    }
    return perfetto_put_text(perfetto, at, PF_ANNOTATION_NAME, key, TEXT_BYTES_MAX);
}

uint8_t *perfetto_put_details(struct perfetto *perfetto, uint8_t *at, const struct trace_span *span,
                              const struct trace_detail *detail)
{
    const struct trace *trace = perfetto->pass->trace;
    size_t bytes;
    uint32_t count = fitting(perfetto, detail, &bytes);
    perfetto->dropped.details += count < detail->arg_count;
    if (detail->category)
        at = perfetto_put_text(perfetto, at, PF_EVENT_CATEGORY,
                               trace_label_of(trace, detail->category), TEXT_BYTES_MAX);
    if (detail->correlation)
        at = pb_u64(at, PF_EVENT_CORRELATION, detail->correlation);
    for (uint32_t i = 0; i < count; i++) {
        const struct trace_arg *arg = &trace_args_of(detail)[i];
        uint8_t *annotation = pb_open(at, PF_EVENT_ANNOTATION);
        at = perfetto_args_put_key(perfetto, annotation, arg->key);
        at = pb_close(annotation, perfetto_args_put_value(perfetto, at, detail, arg));
    }
    return put_model(at, span, detail);
}

/* ---- what is written last -------------------------------------------------------------------- */
/*
 * Arrows, losses and facts: instants of a sequence that is written last, so that each stands
 * behind the begin of the span that it is in.
 *
 * An arrow leads from such an instant to the span itself, if that is still to
 * come. Perfetto takes it only where its begin is processed before its end, so
 * a begin that clocks put later than that stands at the time of the end, and
 * before it in the file. Between spans of two threads that were both written
 * the events of Chrome's arrows are enough, which bind to the spans around
 * them; everything else has an instant at either end.
 */

struct last_event {
    uint64_t track_uuid;
    int64_t time_ns;
    const char *category;
    struct trace_text name;
    bool lost;   /* data were, before it */
    bool legacy; /* of a phase, not an instant */
};

static uint8_t *begin_fields(struct perfetto *perfetto, uint8_t *at, const struct last_event *last,
                             uint8_t **event_out)
{
    at = pb_u64(at, PF_PACKET_TIMESTAMP, clock_ns(last->time_ns));
    *event_out = pb_open(at, PF_PACKET_TRACK_EVENT);
    at = *event_out;
    if (!last->legacy)
        at = pb_u64(at, PF_EVENT_TYPE, PF_INSTANT);
    at = pb_u64(at, PF_EVENT_TRACK, last->track_uuid);
    at = pb_text(at, PF_EVENT_CATEGORY, last->category);
    return perfetto_put_text(perfetto, at, PF_EVENT_NAME, last->name, TEXT_BYTES_MAX);
}

/* Begins an instant that names all by itself, written last. pb_close(event, at) and end_last end
 * it. */
static uint8_t *begin_last(struct perfetto *perfetto, const struct last_event *last,
                           uint8_t **event_out)
{
    struct packets *packets = &perfetto->file.last;
    unsigned flags = perfetto->last_started ? 0 : PF_STATE_CLEARED;
    uint8_t *at = begin_packet(packets, 2 * TEXT_BYTES_MAX, SEQUENCE_LAST, flags);
    perfetto->last_started = true;
    if (last->lost)
        at = pb_u64(at, PF_PACKET_PREVIOUS_DROPPED, 1);
    return begin_fields(perfetto, at, last, event_out);
}

static void end_last(struct perfetto *perfetto, uint8_t *event, uint8_t *at)
{
    end_packet(&perfetto->file.last, pb_close(event, at));
}

/* ---- links ------------------------------------------------------------------------ */

static struct last_event arrow_event(const struct perfetto *perfetto, const struct trace_link *link)
{
    struct trace_text name = trace_label_of(perfetto->pass->trace, link->label);
    return (struct last_event){.category = "link",
                               .name = name.bytes ? name
                                                  : trace_text(trace_link_kind_name[link->kind])};
}

static void write_instant(struct perfetto *perfetto, struct last_event *event, uint32_t track,
                          int64_t time_ns, enum pf_event field, uint64_t number)
{
    uint8_t *fields, *at;
    event->track_uuid = lane_uuid(track, 0);
    event->time_ns = time_ns;
    at = begin_last(perfetto, event, &fields);
    end_last(perfetto, fields, pb_fixed64(at, field, number));
}

/* The same among the spans, before that of the link's end. */
static void write_early_instant(struct perfetto *perfetto, struct last_event *event,
                                const struct trace_link *link, uint64_t number)
{
    struct packets *packets = &perfetto->file.packets;
    uint8_t *fields, *at;
    event->track_uuid = lane_uuid(link->from_track, 0);
    event->time_ns = link->to_ns;
    at = begin_packet(packets, 2 * TEXT_BYTES_MAX, SEQUENCE_DESCRIPTORS, 0);
    at = begin_fields(perfetto, at, event, &fields);
    end_packet(packets, pb_close(fields, pb_fixed64(at, PF_EVENT_FLOW, number)));
}

static void write_phase(struct perfetto *perfetto, struct last_event *event, uint32_t track,
                        int64_t time_ns, char phase, uint64_t number)
{
    uint8_t *fields, *at;
    event->track_uuid = lane_uuid(track, 0);
    event->time_ns = time_ns;
    at = begin_last(perfetto, event, &fields);
    uint8_t *legacy = pb_open(at, PF_EVENT_LEGACY);
    at = pb_u64(legacy, PF_LEGACY_PHASE, (uint64_t)phase);
    at = pb_u64(at, PF_LEGACY_ID, number);
    if (phase == 'f')
        at = pb_u64(at, PF_LEGACY_ENCLOSING, 1);
    end_last(perfetto, fields, pb_close(legacy, at));
}

/* Spans of lanes beside the first, and of GPUs and the like, are on no thread's own track. */
static bool binds(const struct perfetto *perfetto, uint32_t track, uint64_t span)
{
    const struct row *row = &perfetto->rows[track];
    for (uint32_t i = 1; i < row->lane_count; i++)
        if (row->lanes[i].sequence)
            return false;
    return span && row->has_spans &&
           trace_track_of(perfetto->pass->trace, track)->kind == TRACE_THREAD;
}

static void write_whole_arrow(struct perfetto *perfetto, const struct trace_link *link)
{
    struct last_event event = arrow_event(perfetto, link);
    uint64_t number = pending_links_number(link);
    bool backwards = link->to_ns < link->from_ns;
    if (!backwards && binds(perfetto, link->from_track, link->from_span) &&
        binds(perfetto, link->to_track, link->to_span)) {
        event.legacy = true;
        event.category = trace_link_kind_name[link->kind];
        write_phase(perfetto, &event, link->from_track, link->from_ns, 's', number);
        write_phase(perfetto, &event, link->to_track, link->to_ns, 'f', number);
        return;
    }
    write_instant(perfetto, &event, link->from_track, backwards ? link->to_ns : link->from_ns,
                  PF_EVENT_FLOW, number);
    write_instant(perfetto, &event, link->to_track, link->to_ns, PF_EVENT_FLOW_END, number);
}

void perfetto_take_link(void *context, const struct trace_link *link)
{
    struct perfetto *perfetto = context;
    if (!link->to_span || perfetto->rows[link->to_track].has_spans) {
        write_whole_arrow(perfetto, link);
        return;
    }
    struct last_event event = arrow_event(perfetto, link);
    uint64_t number = pending_links_add(&perfetto->links, link);
    if (!number)
        trace_pass_fail(perfetto->pass);
    else if (link->from_ns < link->to_ns)
        write_instant(perfetto, &event, link->from_track, link->from_ns, PF_EVENT_FLOW,
                      arrow_number(number));
    else
        write_early_instant(perfetto, &event, link, arrow_number(number));
}

/* ---- losses and facts ------------------------------------------------------------- */

static uint8_t *put_named(uint8_t *at, const char *name, enum pf_annotation kind, uint64_t value)
{
    uint8_t *annotation = pb_open(at, PF_EVENT_ANNOTATION);
    at = pb_u64(annotation, kind, value);
    return pb_close(annotation, pb_text(at, PF_ANNOTATION_NAME, name));
}

void perfetto_take_loss(void *context, const struct trace_loss *loss)
{
    struct perfetto *perfetto = context;
    char name[256];
    uint8_t *event;
    bool timed = loss->first_ns || loss->last_ns;
    int64_t time_ns = timed ? loss->last_ns : trace_totals(perfetto->pass->trace)->last_ns;
    trace_loss_name(loss, name, sizeof name);
    uint64_t uuid =
        loss->track == TRACE_NONE ? process_uuid(loss->process) : lane_uuid(loss->track, 0);
    struct last_event loss_event = {.track_uuid = uuid,
                                    .time_ns = time_ns,
                                    .category = "loss",
                                    .name = trace_text(name),
                                    .lost = !loss->refused};
    uint8_t *at = begin_last(perfetto, &loss_event, &event);
    at = put_named(at, "records", PF_ANNOTATION_UINT, loss->refused ? 0 : loss->count);
    if (loss->refused)
        at = put_named(at, "calls", PF_ANNOTATION_UINT, loss->count);
    if (loss->bytes)
        at = put_named(at, "bytes", PF_ANNOTATION_UINT, loss->bytes);
    if (timed)
        at = put_named(at, "first_ns", PF_ANNOTATION_INT, (uint64_t)loss->first_ns);
    if (timed)
        at = put_named(at, "last_ns", PF_ANNOTATION_INT, (uint64_t)loss->last_ns);
    end_last(perfetto, event, at);
}

void perfetto_take_fact(void *context, const char *key, struct trace_text value)
{
    struct perfetto *perfetto = context;
    if (!kept_facts_add(&perfetto->facts, key, value))
        trace_pass_fail(perfetto->pass);
}

/* Each is an annotation of an instant where the first span begins: before that nothing is to see.
 */
void perfetto_write_facts(struct perfetto *perfetto)
{
    const struct trace_totals *totals = trace_totals(perfetto->pass->trace);
    struct last_event last = {.track_uuid = process_uuid(0),
                              .time_ns = totals->spans ? totals->first_ns
                                                       : trace_origin_ns(perfetto->pass->trace),
                              .category = "fact"};
    for (const struct kept_fact *fact = perfetto->facts.first; fact; fact = fact->next) {
        uint8_t *event;
        last.name = fact->key;
        uint8_t *at = begin_last(perfetto, &last, &event);
        uint8_t *annotation = pb_open(at, PF_EVENT_ANNOTATION);
        at = pb_bytes(annotation, PF_ANNOTATION_NAME, fact->key.text, fact->key.bytes);
        at = perfetto_put_text(perfetto, at, PF_ANNOTATION_STRING, fact->value, TEXT_BYTES_MAX);
        end_last(perfetto, event, pb_close(annotation, at));
    }
}
