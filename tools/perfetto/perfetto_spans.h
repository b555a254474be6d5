/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perfetto_spans.h - events of a Perfetto trace as spans, counters and links.
 *
 * A slice is two events, which the track brings together. Its flows wait with
 * it, for a link wants to know the span. Our own exports have arrows as
 * instants, and facts as well: both become what they were.
 */
#ifndef PERFETTO_SPANS_H
#define PERFETTO_SPANS_H

#include "event_spans.h"
#include "span_detail.h"
#include "text_buffer.h"

#include <string.h>

/* ---- fields of a message --------------------------------------------------------------------- */
/*
 * The fields of a protobuf message, one after the other.
 *
 * Nothing is copied: bytes point into the message. What is no message ends as if it were shorter,
 * and bad says so.
 */

struct wire_message {
    const uint8_t *at, *end;
    bool bad;
};

enum wire_shape { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

struct wire_field {
    uint32_t number;
    uint32_t shape;       /* enum wire_shape */
    uint64_t value;       /* of numbers */
    const uint8_t *bytes; /* of WIRE_BYTES */
    size_t count;
};

static inline bool wire_varint(struct wire_message *message, uint64_t *value_out)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && message->at < message->end; shift += 7) {
        uint8_t byte = *message->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *value_out = value;
            return true;
        }
    }
    message->bad = true;
    return false;
}

static inline bool wire_fixed(struct wire_message *message, size_t bytes, uint64_t *value_out)
{
    message->bad = (size_t)(message->end - message->at) < bytes;
    for (size_t i = 0; !message->bad && i < bytes; i++)
        *value_out |= (uint64_t)*message->at++ << 8 * i;
    return !message->bad;
}

/* False at the end, and where bad. */
static inline bool wire_next(struct wire_message *message, struct wire_field *field)
{
    uint64_t tag;
    if (message->bad || message->at == message->end || !wire_varint(message, &tag))
        return false;
    *field = (struct wire_field){.number = (uint32_t)(tag >> 3), .shape = tag & 7};
    message->bad = tag >> 3 == 0 || tag >> 32;
    switch (field->shape) {
    case WIRE_VARINT:
        return !message->bad && wire_varint(message, &field->value);
    case WIRE_FIXED64:
        return !message->bad && wire_fixed(message, 8, &field->value);
    case WIRE_FIXED32:
        return !message->bad && wire_fixed(message, 4, &field->value);
    case WIRE_BYTES:
        if (message->bad || !wire_varint(message, &field->value))
            return false;
        message->bad = field->value > (uint64_t)(message->end - message->at);
        if (message->bad)
            return false;
        field->bytes = message->at;
        field->count = (size_t)field->value;
        message->at += field->count;
        return true;
    default:
        message->bad = true;
        return false;
    }
}

static inline struct wire_message wire_inside(const struct wire_field *field)
{
    size_t count = field->shape == WIRE_BYTES ? field->count : 0;
    return (struct wire_message){.at = field->bytes,
                                 .end = count ? field->bytes + count : field->bytes};
}

static inline struct trace_text wire_text(const struct wire_field *field)
{
    bool fits = field->shape == WIRE_BYTES && field->count <= UINT32_MAX;
    return (struct trace_text){fits && field->count ? (const char *)field->bytes : "",
                               fits ? (uint32_t)field->count : 0};
}

/* ---- times of any clock of a Perfetto trace on the trace's own ------------------------------- */

enum { PERFETTO_CLOCKS = 32, PERFETTO_SEQUENCE_CLOCKS = 4 };
#define PERFETTO_CLOCK_SAMPLES_MAX (1u << 16)

struct perfetto_clock_sample {
    int64_t clock_ns, trace_ns;
};

struct perfetto_clock {
    uint32_t id;
    uint32_t count, room;
    struct perfetto_clock_sample *samples; /* ascending */
};

/* A clock of one sequence. */
struct perfetto_own_clock {
    uint32_t id; /* 0: free */
    bool incremental;
    uint64_t unit_ns;
    int64_t value;             /* units; of incremental ones the latest */
    int64_t set_ns, set_value; /* what it showed when it was set, and the trace's time then */
};

struct perfetto_clocks {
    struct perfetto_clock clocks[PERFETTO_CLOCKS];
    uint32_t count;
    uint32_t trace_clock; /* id */
    bool fixed;           /* all samples are known */
    bool failed;          /* out of memory */
};

void perfetto_clocks_start(struct perfetto_clocks *clocks);
void perfetto_clocks_free(struct perfetto_clocks *clocks);
/* own: PERFETTO_SEQUENCE_CLOCKS of the packet's sequence. */
void perfetto_clocks_snapshot(struct perfetto_clocks *clocks, struct perfetto_own_clock *own,
                              struct wire_message snapshot);
/* A packet's time; id 0: of the trace's clock. False if no snapshot says it. Once a packet. */
bool perfetto_clocks_time(const struct perfetto_clocks *clocks, struct perfetto_own_clock *own,
                          uint32_t id, uint64_t time, int64_t *trace_ns_out);
/* The axis and its relation to other clocks. */
void perfetto_clocks_facts(const struct perfetto_clocks *clocks, bool timed, int64_t first_ns,
                           int64_t last_ns, struct trace_facts *facts);

/* ---- perfetto state -------------------------------------------------------------------------- */

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
void perfetto_state_free(struct perfetto_state *state);

/* ---- perfetto event -------------------------------------------------------------------------- */

enum { PERFETTO_FLOWS = 16 };

struct perfetto_event {
    uint32_t type; /* enum pf_event_type; 0: another kind of event, or an old one */
    bool has_track;
    uint64_t track; /* uuid */
    struct trace_text name;
    char category[256]; /* several have commas between them */
    uint32_t category_bytes;
    struct {
        uint64_t id;
        bool ends;
    } flows[PERFETTO_FLOWS];
    uint32_t flow_count;
    char phase;           /* of an event of Chrome's kind; 0: it is none */
    bool binds_enclosing; /* such a flow ends in the span around it, else in the next */
    uint64_t flow_id;     /* of such a flow */
    uint64_t correlation;
    bool has_value;
    struct trace_sample value;   /* of a counter, without a time */
    uint64_t dropped;            /* fields of other kinds, flows that are too many */
    struct wire_message message; /* for its arguments */
};

void perfetto_event_read(const struct perfetto_state *state, const struct perfetto_packet *packet,
                         struct wire_message message, struct perfetto_event *event);
bool perfetto_event_is(const struct perfetto_event *event, const char *category);
/* The same of the first of its categories. */
bool perfetto_event_begins(const struct perfetto_event *event, const char *category);
/* The text of its first argument that is one; empty: none is. */
struct trace_text perfetto_event_text(const struct perfetto_event *event);

/* What may be asked of each argument before it becomes one of the span. */
struct perfetto_args {
    const struct perfetto_state *state;
    const struct perfetto_sequence *sequence;
    struct trace *trace;
    struct detail_maker *maker;
    struct text_buffer *json;
    /* True: it was taken for something else. value: of numbers. */
    bool (*special)(void *context, struct trace_text name, uint64_t value);
    bool ours; /* of an export of ours */
    void *context;
};
/* All of them; those that do not fit are counted in the maker. */
void perfetto_event_args(const struct perfetto_event *event, const struct perfetto_args *args);

/* ---- perfetto spans -------------------------------------------------------------------------- */

/* The tracks of a Perfetto trace, a tree by their uuids.
 *
 * Descriptors may come behind the events that name them, so they are gathered
 * first, and announced to the trace when something is on them. Two descriptors of
 * one thread are one track; so are the rows that our own exports write a track
 * as. */

enum perfetto_track_kind { PERFETTO_PLAIN, PERFETTO_PROCESS, PERFETTO_THREAD, PERFETTO_COUNTER };

struct perfetto_track {
    enum perfetto_track_kind kind;
    bool has_parent, has_id, incremental;
    enum trace_track_kind shown_as; /* of a plain one */
    uint64_t uuid, parent;          /* uuids */
    uint64_t process;               /* key of it, of processes and threads */
    uint64_t id;                    /* has_id: as our own exports have it */
    uint32_t tid;
    uint32_t same;   /* number + 1 of the track that it is a part of */
    uint32_t number; /* of the trace, + 1; 0: not added yet */
    int64_t last_ns; /* latest time seen on it */
    int64_t scale;   /* of a counter's values, 0: 1 */
    int64_t total;   /* of an incremental counter */
};

struct perfetto_process {
    uint64_t key;
    uint32_t number; /* of the trace, + 1; 0: not added yet */
};

struct perfetto_tracks {
    struct trace *trace; /* and opened: from perfetto_spans_start on */
    const struct trace_source *opened;
    struct id_texts texts;
    struct thread_map track_map, process_map, thread_map;
    struct perfetto_track *tracks;
    struct perfetto_process *processes;
    uint32_t *threads; /* by number in thread_map: its first track, + 1 */
    uint32_t track_room, process_room, thread_room;
    struct thread_map launcher_map; /* by process and id of a thread */
    uint32_t *launchers;            /* its track + 1, TRACE_NONE: it has none */
    uint32_t launcher_room;
    bool ours;
    bool full; /* there was no room */
};

/* machine: of several in one trace, 0 the first. */
void perfetto_tracks_describe(struct perfetto_tracks *tracks, uint32_t machine,
                              struct wire_message descriptor);
/* When all is described. ours: it is an export of this program. */
void perfetto_tracks_join(struct perfetto_tracks *tracks, bool ours);
/* NULL when there is no room. Its place may change with the next one. */
struct perfetto_track *perfetto_tracks_find(struct perfetto_tracks *tracks, uint64_t uuid);
/* The track's number in the trace, to which it is added first where it was not. */
uint32_t perfetto_tracks_add(struct perfetto_tracks *tracks, struct perfetto_track *track);
/* Of our own exports: the thread's track in the process of that track; TRACE_NONE without one. */
uint32_t perfetto_tracks_thread(struct perfetto_tracks *tracks, uint32_t track, uint64_t thread_id);
void perfetto_tracks_free(struct perfetto_tracks *tracks);

struct perfetto_spans {
    struct perfetto_tracks *tracks;
    const struct perfetto_state *state;
    const struct trace_source *opened;
    struct trace *trace;
    int64_t zero_ns; /* of the trace's clock on the axis */
    bool ours;
    struct trace_filter filter;
    struct span_sorter spans;
    struct sample_sorter samples;
    struct chrome_flows flows; /* of our own exports */
    struct open_spans open;
    struct detail_maker detail;
    struct text_buffer json;
    uint64_t unfinished, dropped;
    struct deferred_losses losses; /* our own exports', and gaps that a trace itself reports */
};

/* NULL without memory. */
struct perfetto_spans *perfetto_spans_start(struct perfetto_tracks *tracks,
                                            const struct perfetto_state *state,
                                            const struct trace_source *opened, struct trace *trace,
                                            const struct trace_read_options *options);
void perfetto_spans_take(struct perfetto_spans *spans, const struct perfetto_packet *packet,
                         const struct perfetto_event *event, int64_t time_ns);
/* All goes to the trace. False when something is missing, with messages given. */
bool perfetto_spans_finish(struct perfetto_spans *spans);
void perfetto_spans_free(struct perfetto_spans *spans);

#endif /* PERFETTO_SPANS_H */
