/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments may be trees: those are kept as JSON. */
#include "perfetto_spans.h"

#include "json_tree.h"
#include "own_keys.h"
#include "perfetto_proto.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- what packets of a sequence rely on ------------------------------------------------------ */
/*
 * Names that are written once, default track and clock.
 *
 * A sequence may clear its state; what relied on the old one is not valid then.
 *
 * Names of all sequences are in one table, by sequence, generation and iid.
 */

/* ---- times of any clock of a Perfetto trace on the trace's own ------------------------------- */
/*
 * Snapshots say what several clocks showed at one instant. Between two of
 * them a clock goes on from the earlier one. Clocks that belong to one packet
 * sequence (64 to 127) are set by snapshots of that sequence, and may count
 * from event to event.
 *
 * Samples are kept for all clocks; a search finds the one before a time.
 */

enum { PAIRS_MAX = 64 };
/* 73 years from 1970 either way: sums of a few of them do not overflow. */
#define TIME_MAX (INT64_C(1) << 61)
/* Times above are since 1970, from 2001 on. */
#define SINCE_1970_NS (INT64_C(1000000000) * 1000000000)

void perfetto_clocks_start(struct perfetto_clocks *clocks)
{
    *clocks = (struct perfetto_clocks){.trace_clock = PF_BOOTTIME};
}

void perfetto_clocks_free(struct perfetto_clocks *clocks)
{
    for (uint32_t i = 0; i < clocks->count; i++)
        free(clocks->clocks[i].samples);
}

static bool is_own(uint32_t id)
{
    return id >= 64 && id < 128;
}

/* ---- conversion ------------------------------------------------------------------ */

static const struct perfetto_clock *perfetto_event_find(const struct perfetto_clocks *clocks,
                                                        uint32_t id)
{
    for (uint32_t i = 0; i < clocks->count; i++)
        if (clocks->clocks[i].id == id)
            return &clocks->clocks[i];
    return NULL;
}

static bool in_range(int64_t ns, int64_t *ns_out)
{
    *ns_out = ns;
    return ns > -TIME_MAX && ns < TIME_MAX;
}

/* From the sample before it, else from the first one. */
static bool convert(const struct perfetto_clocks *clocks, uint32_t id, int64_t clock_ns,
                    int64_t *trace_ns_out)
{
    const struct perfetto_clock *clock = perfetto_event_find(clocks, id);
    if (id == clocks->trace_clock)
        return in_range(clock_ns, trace_ns_out);
    if (!clock || clock->count == 0)
        return false;
    uint32_t low = 0, high = clock->count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (clock->samples[middle].clock_ns <= clock_ns)
            low = middle;
        else
            high = middle;
    }
    const struct perfetto_clock_sample *sample = &clock->samples[low];
    return in_range(clock_ns - sample->clock_ns + sample->trace_ns, trace_ns_out);
}

static struct perfetto_own_clock *find_own(struct perfetto_own_clock *own, uint32_t id)
{
    for (int i = 0; i < PERFETTO_SEQUENCE_CLOCKS; i++)
        if (own[i].id == id)
            return &own[i];
    return NULL;
}

/* False beyond what can be a time. */
static bool times_unit(int64_t value, uint64_t unit_ns, int64_t *ns_out)
{
    return unit_ns <= INT64_MAX && !__builtin_mul_overflow(value, (int64_t)unit_ns, ns_out) &&
           *ns_out > -TIME_MAX && *ns_out < TIME_MAX;
}

static bool own_time(struct perfetto_own_clock *clock, uint64_t time, int64_t *trace_ns_out)
{
    int64_t passed, ns;
    if (time >= (uint64_t)TIME_MAX)
        return false;
    if (clock->incremental && __builtin_add_overflow(clock->value, (int64_t)time, &clock->value))
        return false;
    if (!clock->incremental)
        clock->value = (int64_t)time;
    return !__builtin_sub_overflow(clock->value, clock->set_value, &passed) &&
           times_unit(passed, clock->unit_ns, &ns) && in_range(clock->set_ns + ns, trace_ns_out);
}

bool perfetto_clocks_time(const struct perfetto_clocks *clocks, struct perfetto_own_clock *own,
                          uint32_t id, uint64_t time, int64_t *trace_ns_out)
{
    struct perfetto_own_clock *clock = is_own(id) ? find_own(own, id) : NULL;
    if (is_own(id))
        return clock && own_time(clock, time, trace_ns_out);
    return time < (uint64_t)TIME_MAX &&
           convert(clocks, id ? id : clocks->trace_clock, (int64_t)time, trace_ns_out);
}

/* ---- snapshots ------------------------------------------------------------------- */

struct pair {
    uint32_t id;
    bool incremental;
    uint64_t unit_ns;
    int64_t value;
};

static bool read_pair(struct wire_message clock, struct pair *pair)
{
    struct wire_field field;
    uint64_t value = 0;
    *pair = (struct pair){.unit_ns = 1};
    while (wire_next(&clock, &field)) {
        if (field.number == PF_CLOCK_ID)
            pair->id = (uint32_t)field.value;
        else if (field.number == PF_CLOCK_TIMESTAMP)
            value = field.value;
        else if (field.number == PF_CLOCK_INCREMENTAL)
            pair->incremental = field.value;
        else if (field.number == PF_CLOCK_UNIT && field.value)
            pair->unit_ns = field.value;
    }
    pair->value = (int64_t)value;
    return !clock.bad && pair->id && value < (uint64_t)TIME_MAX;
}

static struct perfetto_clock *add_clock(struct perfetto_clocks *clocks, uint32_t id)
{
    for (uint32_t i = 0; i < clocks->count; i++)
        if (clocks->clocks[i].id == id)
            return &clocks->clocks[i];
    if (clocks->count == PERFETTO_CLOCKS)
        return NULL;
    clocks->clocks[clocks->count] = (struct perfetto_clock){.id = id};
    return &clocks->clocks[clocks->count++];
}

/* Of equal or earlier ones than the last, as when a clock is set back, the last one stands. */
static void add_sample(struct perfetto_clocks *clocks, uint32_t id, int64_t clock_ns,
                       int64_t trace_ns)
{
    struct perfetto_clock *clock = add_clock(clocks, id);
    if (!clock || clock->count == PERFETTO_CLOCK_SAMPLES_MAX ||
        (clock->count && clock->samples[clock->count - 1].clock_ns >= clock_ns))
        return;
    if (GROW_ZEROED(clock->samples, clock->room, clock->count + 1))
        clock->samples[clock->count++] = (struct perfetto_clock_sample){clock_ns, trace_ns};
    else
        clocks->failed = true;
}

static void set_own(struct perfetto_own_clock *own, const struct pair *pair, int64_t trace_ns)
{
    struct perfetto_own_clock *clock = find_own(own, pair->id);
    clock = clock ? clock : find_own(own, 0);
    if (clock)
        *clock = (struct perfetto_own_clock){.id = pair->id,
                                             .incremental = pair->incremental,
                                             .unit_ns = pair->unit_ns,
                                             .value = pair->value,
                                             .set_value = pair->value,
                                             .set_ns = trace_ns};
}

/* When it was taken: by the trace's clock, else by one that is known already. */
static bool snapshot_time(const struct perfetto_clocks *clocks, const struct pair *pairs, int count,
                          int64_t *trace_ns_out)
{
    int64_t ns;
    for (int known = 0; known < 2; known++)
        for (int i = 0; i < count; i++)
            if (!is_own(pairs[i].id) && (known || pairs[i].id == clocks->trace_clock) &&
                times_unit(pairs[i].value, pairs[i].unit_ns, &ns) &&
                convert(clocks, pairs[i].id, ns, trace_ns_out))
                return true;
    return false;
}

void perfetto_clocks_snapshot(struct perfetto_clocks *clocks, struct perfetto_own_clock *own,
                              struct wire_message snapshot)
{
    struct pair pairs[PAIRS_MAX];
    struct wire_field field;
    int64_t trace_ns, ns;
    int count = 0;
    while (wire_next(&snapshot, &field)) {
        if (field.number == PF_SNAPSHOT_CLOCK && count < PAIRS_MAX)
            count += read_pair(wire_inside(&field), &pairs[count]);
        else if (field.number == PF_SNAPSHOT_PRIMARY && clocks->count == 0 && field.value &&
                 !is_own((uint32_t)field.value))
            clocks->trace_clock = (uint32_t)field.value;
    }
    if (!snapshot_time(clocks, pairs, count, &trace_ns))
        return;
    for (int i = 0; i < count; i++) {
        if (is_own(pairs[i].id))
            set_own(own, &pairs[i], trace_ns);
        else if (!clocks->fixed && times_unit(pairs[i].value, pairs[i].unit_ns, &ns))
            add_sample(clocks, pairs[i].id, ns, trace_ns);
    }
}

/* ---- what it says of the axis ----------------------------------------------------- */

/* The middle of clock minus trace time, and half their spread. */
static bool compare_clock(const struct perfetto_clocks *clocks, uint32_t id, int64_t *shift_out,
                          uint64_t *error_out)
{
    const struct perfetto_clock *clock = perfetto_event_find(clocks, id);
    if (!clock || clock->count == 0)
        return false;
    int64_t least = INT64_MAX, most = INT64_MIN;
    for (uint32_t i = 0; i < clock->count; i++) {
        int64_t ahead = clock->samples[i].clock_ns - clock->samples[i].trace_ns;
        least = ahead < least ? ahead : least;
        most = ahead > most ? ahead : most;
    }
    *shift_out = least + (most - least) / 2;
    *error_out = (uint64_t)(most - least + 1) / 2;
    return true;
}

void perfetto_clocks_facts(const struct perfetto_clocks *clocks, bool timed, int64_t first_ns,
                           int64_t last_ns, struct trace_facts *facts)
{
    int64_t wall_ns = 0;
    facts->has_realtime = compare_clock(clocks, PF_REALTIME, &wall_ns, &facts->realtime_error_ns);
    if (facts->has_realtime && wall_ns + (timed ? last_ns : 0) >= TIME_MAX)
        facts->has_realtime = false;
    facts->zero_ns = facts->has_realtime ? wall_ns : 0;
    facts->wall_clock = facts->has_realtime || (timed && first_ns >= SINCE_1970_NS);
    facts->has_zero = facts->wall_clock;
    facts->has_monotonic =
        compare_clock(clocks, PF_MONOTONIC, &facts->monotonic_shift_ns, &facts->monotonic_error_ns);
    facts->monotonic_shift_ns -= facts->has_monotonic ? facts->zero_ns : 0;
    facts->first_ns = facts->zero_ns + (timed ? first_ns : 0);
    facts->last_ns = timed ? facts->zero_ns + last_ns : 0;
}

/* ---- perfetto state -------------------------------------------------------------------------- */

static uint64_t space_of(const struct perfetto_sequence *sequence)
{
    return (uint64_t)sequence->number << 32 | sequence->generation;
}

static struct perfetto_sequence *find_sequence(struct perfetto_state *state, uint32_t id)
{
    uint32_t number = state->map.count < PERFETTO_SEQUENCES_MAX
                          ? thread_map_place(&state->map, id, &state->sequences, &state->room,
                                             sizeof *state->sequences)
                          : thread_map_find(&state->map, id);
    if (number == THREAD_NONE) {
        state->full = true;
        return NULL;
    }
    state->sequences[number].number = number;
    return &state->sequences[number];
}

static void perfetto_event_take_names(struct perfetto_state *state,
                                      const struct perfetto_sequence *sequence,
                                      struct wire_message data)
{
    struct wire_field table, field;
    while (wire_next(&data, &table)) {
        struct wire_message entry = wire_inside(&table);
        struct trace_text text = {"", 0};
        uint64_t iid = 0;
        bool known = table.number == PF_INTERNED_CATEGORY || table.number == PF_INTERNED_NAME ||
                     table.number == PF_INTERNED_ANNOTATION || table.number == PF_INTERNED_STRING;
        while (known && wire_next(&entry, &field)) {
            if (field.number == PF_ENTRY_IID)
                iid = field.value;
            else if (field.number == PF_ENTRY_NAME)
                text = wire_text(&field);
        }
        if (known && iid)
            id_texts_set(&state->names, table.number, space_of(sequence), iid, text);
    }
}

static void take_defaults(struct perfetto_sequence *sequence, struct wire_message defaults)
{
    struct wire_field field, inside;
    while (wire_next(&defaults, &field)) {
        if (field.number == PF_DEFAULTS_CLOCK)
            sequence->clock = (uint32_t)field.value;
        if (field.number != PF_DEFAULTS_TRACK_EVENT)
            continue;
        struct wire_message event = wire_inside(&field);
        while (wire_next(&event, &inside))
            if (inside.number == PF_EVENT_DEFAULTS_TRACK)
                sequence->has_track = true, sequence->track = inside.value;
    }
}

static void take_content(struct perfetto_state *state, struct wire_message message,
                         struct perfetto_packet *packet)
{
    struct wire_field field;
    while (wire_next(&message, &field)) {
        if (field.number == PF_PACKET_INTERNED_DATA)
            perfetto_event_take_names(state, packet->sequence, wire_inside(&field));
        else if (field.number == PF_PACKET_DEFAULTS)
            take_defaults(packet->sequence, wire_inside(&field));
    }
}

bool perfetto_state_take(struct perfetto_state *state, struct wire_message message,
                         struct perfetto_packet *packet)
{
    struct wire_message scan = message;
    struct wire_field field;
    uint32_t id = 0;
    uint64_t flags = 0;
    *packet = (struct perfetto_packet){0};
    while (wire_next(&scan, &field)) {
        if (field.number == PF_PACKET_SEQUENCE)
            id = (uint32_t)field.value;
        else if (field.number == PF_PACKET_SEQUENCE_FLAGS)
            flags = field.value;
        else if (field.number == PF_PACKET_TIMESTAMP)
            packet->has_time = true, packet->time = field.value;
        else if (field.number == PF_PACKET_TIMESTAMP_CLOCK)
            packet->clock = (uint32_t)field.value;
        else if (field.number == PF_PACKET_MACHINE)
            packet->machine = (uint32_t)field.value;
        else if (field.number == PF_PACKET_PREVIOUS_DROPPED)
            packet->lost = field.value;
    }
    packet->sequence = find_sequence(state, id);
    if (!packet->sequence)
        return false;
    /* Clocks stay: they are set by snapshots alone. */
    if (flags & PF_STATE_CLEARED) {
        packet->sequence->generation++;
        packet->sequence->clock = 0;
        packet->sequence->has_state = true;
        packet->sequence->has_track = false;
    }
    take_content(state, message, packet);
    packet->clock = packet->clock ? packet->clock : packet->sequence->clock;
    return !(flags & PF_NEEDS_STATE) || packet->sequence->has_state;
}

/* table: the field of interned data that it came in. Empty: it did not. */
static struct trace_text perfetto_state_name(const struct perfetto_state *state,
                                             const struct perfetto_sequence *sequence,
                                             uint32_t table, uint64_t iid)
{
    return id_texts_get(&state->names, table, space_of(sequence), iid);
}

void perfetto_state_free(struct perfetto_state *state)
{
    id_texts_free(&state->names);
    thread_map_free(&state->map);
    free(state->sequences);
}

/* ---- perfetto event -------------------------------------------------------------------------- */

enum { PERFETTO_EVENT_DEPTH_MAX = 16 };

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
        event->dropped++;
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
        event->dropped++;
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

static struct trace_text perfetto_event_text_of(const struct perfetto_args *args,
                                                const struct wire_field *value)
{
    return value->number == PF_ANNOTATION_STRING_IID
               ? perfetto_state_name(args->state, args->sequence, PF_INTERNED_STRING, value->value)
               : wire_text(value);
}

static bool perfetto_event_put_number(struct text_buffer *json, const struct wire_field *value)
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

static bool perfetto_event_put_json(const struct perfetto_args *args, struct wire_message message,
                                    int depth)
{
    struct text_buffer *json = args->json;
    struct annotation made = read_annotation(args, message);
    struct wire_field field;
    struct trace_text text = perfetto_event_text_of(args, &made.value);
    char close = 0;
    bool good = depth < PERFETTO_EVENT_DEPTH_MAX;
    if (!made.is_tree && made.value.shape == WIRE_BYTES)
        return text_buffer_quote(json, text.text, text.bytes);
    if (!made.is_tree)
        return perfetto_event_put_number(json, &made.value);
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
        good = good && perfetto_event_put_json(args, wire_inside(&field), depth + 1);
    }
    return good && text_buffer_put(json, &close, 1);
}

static void add_tree(const struct perfetto_args *args, struct wire_message message, uint32_t key)
{
    args->json->used = 0;
    if (perfetto_event_put_json(args, message, 0))
        span_detail_text(args->maker, key, TRACE_ARG_JSON,
                         (struct trace_text){args->json->bytes, args->json->used});
    else
        args->maker->cut++;
}

static void add_value(const struct perfetto_args *args, uint32_t key,
                      const struct wire_field *value)
{
    struct trace_text text = perfetto_event_text_of(args, value);
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
