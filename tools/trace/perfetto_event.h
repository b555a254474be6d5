/* SPDX-License-Identifier: Apache-2.0 */
/* perfetto_event.h - one event on a track of a Perfetto trace. */
#ifndef PERFETTO_EVENT_H
#define PERFETTO_EVENT_H

#include "perfetto_state.h"
#include "span_detail.h"
#include "text_buffer.h"

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
    uint64_t left_out;           /* fields of other kinds, flows that are too many */
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

#endif /* PERFETTO_EVENT_H */
