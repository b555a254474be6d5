/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments may be trees: those are kept as JSON. */
#include "perfetto_event.h"
#include "own_keys.h"
#include "json_tree.h"
#include "perfetto_proto.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum { DEPTH_MAX = 16 };

/* ---- fields ----------------------------------------------------------------------- */

static void add_category(struct perfetto_event *event, struct trace_text text)
{
    uint32_t comma = event->category_bytes > 0;
    if (text.bytes == 0 || text.bytes + comma > sizeof event->category - event->category_bytes)
        return;
    if (comma)
        event->category[event->category_bytes++] = ',';
    memcpy(event->category + event->category_bytes, text.text, text.bytes);
    event->category_bytes += text.bytes;
}

static void add_flow(struct perfetto_event *event, uint64_t id, bool ends)
{
    if (event->flow_count == PERFETTO_FLOWS) {
        event->left_out++;
        return;
    }
    event->flows[event->flow_count].id = id;
    event->flows[event->flow_count++].ends = ends;
}

/* One, or several packed into bytes. */
static void add_flows(struct perfetto_event *event, const struct wire_field *field, bool ends,
                      bool fixed)
{
    struct wire_message packed = wire_inside(field);
    if (field->shape != WIRE_BYTES)
        add_flow(event, field->value, ends);
    while (field->shape == WIRE_BYTES && packed.at < packed.end) {
        uint64_t id = 0;
        if (!(fixed ? wire_fixed(&packed, 8, &id) : wire_varint(&packed, &id)))
            return;
        add_flow(event, id, ends);
    }
}

static void take_legacy(struct perfetto_event *event, struct wire_message legacy)
{
    struct wire_field field;
    while (wire_next(&legacy, &field)) {
        if (field.number == PF_LEGACY_PHASE)
            event->phase = field.value < 0x80 ? (char)field.value : '?';
        else if (field.number == PF_LEGACY_ID)
            event->flow_id = field.value;
        else if (field.number == PF_LEGACY_ENCLOSING)
            event->binds_enclosing = field.value;
    }
}

static double f64(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void take_field(const struct perfetto_state *state, const struct perfetto_packet *packet,
                       const struct wire_field *field, struct perfetto_event *event)
{
    const struct perfetto_sequence *sequence = packet->sequence;
    switch (field->number) {
    case PF_EVENT_TYPE:
        event->type = (uint32_t)field->value;
        break;
    case PF_EVENT_TRACK:
        event->has_track = true;
        event->track = field->value;
        break;
    case PF_EVENT_NAME:
        event->name = wire_text(field);
        break;
    case PF_EVENT_NAME_IID:
        event->name = perfetto_state_name(state, sequence, PF_INTERNED_NAME, field->value);
        break;
    case PF_EVENT_CATEGORY:
        add_category(event, wire_text(field));
        break;
    case PF_EVENT_CATEGORY_IID:
        add_category(event,
                     perfetto_state_name(state, sequence, PF_INTERNED_CATEGORY, field->value));
        break;
    case PF_EVENT_FLOW:
    case PF_EVENT_FLOW_END:
        add_flows(event, field, field->number == PF_EVENT_FLOW_END, true);
        break;
    case PF_EVENT_FLOW_OLD:
    case PF_EVENT_FLOW_END_OLD:
        add_flows(event, field, field->number == PF_EVENT_FLOW_END_OLD, false);
        break;
    case PF_EVENT_LEGACY:
        take_legacy(event, wire_inside(field));
        break;
    case PF_EVENT_CORRELATION:
        event->correlation = field->value;
        break;
    case PF_EVENT_COUNTER:
        event->has_value = true;
        event->value = (struct trace_sample){.whole = true, .value.i64 = (int64_t)field->value};
        break;
    case PF_EVENT_COUNTER_DOUBLE:
        event->has_value = true;
        event->value = (struct trace_sample){.value.f64 = f64(field->value)};
        break;
    case PF_EVENT_ANNOTATION:
        break; /* when it is a span */
    default:
        event->left_out++;
    }
}

void perfetto_event_read(const struct perfetto_state *state, const struct perfetto_packet *packet,
                         struct wire_message message, struct perfetto_event *event)
{
    struct wire_field field;
    *event = (struct perfetto_event){.message = message, .name = {"", 0}};
    while (wire_next(&message, &field))
        take_field(state, packet, &field, event);
    if (!event->has_track && packet->sequence->has_track)
        event->track = packet->sequence->track;
}

bool perfetto_event_is(const struct perfetto_event *event, const char *category)
{
    return strlen(category) == event->category_bytes &&
           memcmp(category, event->category, event->category_bytes) == 0;
}

bool perfetto_event_begins(const struct perfetto_event *event, const char *category)
{
    size_t bytes = strlen(category);
    return bytes <= event->category_bytes && memcmp(category, event->category, bytes) == 0 &&
           (bytes == event->category_bytes || event->category[bytes] == ',');
}

struct trace_text perfetto_event_text(const struct perfetto_event *event)
{
    struct wire_message message = event->message;
    struct wire_field field, inside;
    while (wire_next(&message, &field)) {
        struct wire_message annotation = wire_inside(&field);
        while (field.number == PF_EVENT_ANNOTATION && wire_next(&annotation, &inside))
            if (inside.number == PF_ANNOTATION_STRING)
                return wire_text(&inside);
    }
    return (struct trace_text){"", 0};
}

/* ---- arguments -------------------------------------------------------------------- */

/* A name and one value, or the parts of one. */
struct annotation {
    struct trace_text name;
    struct wire_field value; /* number 0: it has none, or parts */
    bool is_tree;
    struct wire_message message;
};

static struct annotation read_annotation(const struct perfetto_args *args,
                                         struct wire_message message)
{
    struct annotation made = {.name = {"", 0}, .message = message};
    struct wire_field field;
    while (wire_next(&message, &field)) {
        if (field.number == PF_ANNOTATION_NAME)
            made.name = wire_text(&field);
        else if (field.number == PF_ANNOTATION_NAME_IID)
            made.name = perfetto_state_name(args->state, args->sequence, PF_INTERNED_ANNOTATION,
                                            field.value);
        else if (field.number == PF_ANNOTATION_ENTRY || field.number == PF_ANNOTATION_ELEMENT)
            made.is_tree = true;
        else
            made.value = field;
    }
    return made;
}

static struct trace_text text_of(const struct perfetto_args *args, const struct wire_field *value)
{
    return value->number == PF_ANNOTATION_STRING_IID
               ? perfetto_state_name(args->state, args->sequence, PF_INTERNED_STRING, value->value)
               : wire_text(value);
}

static bool put_number(struct text_buffer *json, const struct wire_field *value)
{
    char made[40];
    int bytes;
    double number = f64(value->value);
    if (value->number == PF_ANNOTATION_BOOL)
        bytes = snprintf(made, sizeof made, value->value ? "true" : "false");
    else if (value->number == PF_ANNOTATION_INT)
        bytes = snprintf(made, sizeof made, "%" PRId64, (int64_t)value->value);
    else if (value->number != PF_ANNOTATION_DOUBLE)
        bytes = snprintf(made, sizeof made, "%" PRIu64, value->value);
    else
        bytes = snprintf(made, sizeof made, isfinite(number) ? "%.17g" : "null", number);
    return text_buffer_put(json, made, (uint32_t)bytes);
}

static bool put_json(const struct perfetto_args *args, struct wire_message message, int depth)
{
    struct text_buffer *json = args->json;
    struct annotation made = read_annotation(args, message);
    struct wire_field field;
    struct trace_text text = text_of(args, &made.value);
    char close = 0;
    bool good = depth < DEPTH_MAX;
    if (!made.is_tree && made.value.shape == WIRE_BYTES)
        return text_buffer_quote(json, text.text, text.bytes);
    if (!made.is_tree)
        return put_number(json, &made.value);
    while (good && wire_next(&message, &field)) {
        bool entry = field.number == PF_ANNOTATION_ENTRY;
        if (!entry && field.number != PF_ANNOTATION_ELEMENT)
            continue;
        good = text_buffer_put(json, close ? "," : entry ? "{" : "[", 1);
        close = close ? close : entry ? '}' : ']';
        if (good && close == '}') {
            struct annotation part = read_annotation(args, wire_inside(&field));
            good = text_buffer_quote(json, part.name.text, part.name.bytes) &&
                   text_buffer_put(json, ":", 1);
        }
        good = good && put_json(args, wire_inside(&field), depth + 1);
    }
    return good && text_buffer_put(json, &close, 1);
}

static void add_tree(const struct perfetto_args *args, struct wire_message message, uint32_t key)
{
    args->json->used = 0;
    if (put_json(args, message, 0))
        span_detail_text(args->maker, key, TRACE_ARG_JSON,
                         (struct trace_text){args->json->bytes, args->json->used});
    else
        args->maker->cut++;
}

static void add_value(const struct perfetto_args *args, uint32_t key,
                      const struct wire_field *value)
{
    struct trace_text text = text_of(args, value);
    switch (value->number) {
    case PF_ANNOTATION_BOOL:
        span_detail_arg(args->maker, key, TRACE_ARG_BOOL, value->value != 0);
        break;
    case PF_ANNOTATION_INT:
        span_detail_arg(args->maker, key, TRACE_ARG_I64, value->value);
        break;
    case PF_ANNOTATION_UINT:
    case PF_ANNOTATION_POINTER:
        span_detail_arg(args->maker, key, TRACE_ARG_U64, value->value);
        break;
    case PF_ANNOTATION_DOUBLE:
        span_detail_arg(args->maker, key, TRACE_ARG_F64, value->value);
        break;
    case PF_ANNOTATION_JSON:
        span_detail_text(args->maker, key,
                         json_tree_is(text.text, text.bytes) ? TRACE_ARG_JSON : TRACE_ARG_TEXT,
                         text);
        break;
    case PF_ANNOTATION_STRING:
    case PF_ANNOTATION_STRING_IID:
        span_detail_text(args->maker, key, TRACE_ARG_TEXT, text);
        break;
    default:
        args->maker->cut++;
    }
}

void perfetto_event_args(const struct perfetto_event *event, const struct perfetto_args *args)
{
    struct wire_message message = event->message;
    struct wire_field field;
    while (wire_next(&message, &field)) {
        if (field.number != PF_EVENT_ANNOTATION)
            continue;
        struct annotation made = read_annotation(args, wire_inside(&field));
        if (!made.is_tree && args->special(args->context, made.name, made.value.value))
            continue;
        made.name = args->ours ? own_key_given(made.name) : made.name;
        uint32_t key = trace_add_name(args->trace, made.name.text, made.name.bytes);
        if (made.is_tree)
            add_tree(args, made.message, key);
        else
            add_value(args, key, &made.value);
    }
}
