/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perfetto_state.h - what packets of a sequence rely on: names told once, default track and clock.
 *
 * A sequence may clear its state; what relied on the old one is not valid then.
 */
#ifndef PERFETTO_STATE_H
#define PERFETTO_STATE_H

#include "id_texts.h"
#include "perfetto_clocks.h"
#include "thread_map.h"

#define PERFETTO_SEQUENCES_MAX (1u << 16)

struct perfetto_sequence {
    uint32_t number; /* in the map */
    uint32_t generation;
    uint32_t clock; /* of timestamps that name none; 0: the trace's */
    bool has_state, has_track;
    uint64_t track; /* uuid, of events that name none */
    struct perfetto_own_clock clocks[PERFETTO_SEQUENCE_CLOCKS];
};

struct perfetto_state {
    struct id_texts names;
    struct thread_map map;
    struct perfetto_sequence *sequences;
    uint32_t room;
    bool full; /* there was no room */
};

/* What stands in a packet beside its content. */
struct perfetto_packet {
    struct perfetto_sequence *sequence;
    bool has_time;
    bool lost; /* packets before it */
    uint64_t time;
    uint32_t clock; /* 0: the sequence's */
    uint32_t machine;
};

/* Names and defaults are taken. False when there is no room, or the packet needs a state that was
 * lost. */
bool perfetto_state_take(struct perfetto_state *state, struct wire_message message,
                         struct perfetto_packet *packet);
/* table: the field of interned data that it was told in. Empty: it was not. */
struct trace_text perfetto_state_name(const struct perfetto_state *state,
                                      const struct perfetto_sequence *sequence, uint32_t table,
                                      uint64_t iid);
void perfetto_state_free(struct perfetto_state *state);

#endif /* PERFETTO_STATE_H */
