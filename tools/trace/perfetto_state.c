/* SPDX-License-Identifier: Apache-2.0 */
/* Names of all sequences are in one table, by sequence, generation and iid. */
#include "perfetto_state.h"
#include "perfetto_proto.h"

#include <stdlib.h>

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

static void take_names(struct perfetto_state *state, const struct perfetto_sequence *sequence,
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

/* Clocks stay: they are set by snapshots alone. */
static void clear(struct perfetto_sequence *sequence)
{
    sequence->generation++;
    sequence->clock = 0;
    sequence->has_state = true;
    sequence->has_track = false;
}

static void take_content(struct perfetto_state *state, struct wire_message message,
                         struct perfetto_packet *packet)
{
    struct wire_field field;
    while (wire_next(&message, &field)) {
        if (field.number == PF_PACKET_INTERNED_DATA)
            take_names(state, packet->sequence, wire_inside(&field));
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
    if (flags & PF_STATE_CLEARED)
        clear(packet->sequence);
    take_content(state, message, packet);
    packet->clock = packet->clock ? packet->clock : packet->sequence->clock;
    return !(flags & PF_NEEDS_STATE) || packet->sequence->has_state;
}

struct trace_text perfetto_state_name(const struct perfetto_state *state,
                                      const struct perfetto_sequence *sequence, uint32_t table,
                                      uint64_t iid)
{
    return id_texts_get(&state->names, table, space_of(sequence), iid);
}

void perfetto_state_free(struct perfetto_state *state)
{
    id_texts_free(&state->names);
    thread_map_free(&state->map);
    free(state->sequences);
}
