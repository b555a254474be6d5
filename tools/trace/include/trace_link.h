/* SPDX-License-Identifier: Apache-2.0 */
/* trace_link.h - links between spans, and messages (trace.h). */
#ifndef TRACE_LINK_H
#define TRACE_LINK_H

#include <stdbool.h>
#include <stdint.h>

enum trace_link_kind {
    TRACE_LAUNCH, /* a call and the work that it gave to a GPU or another processor */
    TRACE_MESSAGE,
    TRACE_LINKED_RANGE, /* a range and what happened elsewhere on behalf of it */
    TRACE_DEPENDENCY,
    TRACE_WAKE,
    TRACE_WAIT_FOR, /* work was handed over, and the call that took it up */
    TRACE_FLOW,     /* the source says no more */
    TRACE_LINK_KINDS
};
/* "launch", "message", "range", "dependency", "wake", "wait", "flow". */
extern const char *const trace_link_kind_name[TRACE_LINK_KINDS];

/* What one track did led to something on another: a launch and its GPU work. */
struct trace_link {
    uint64_t id; /* unique in the trace, from 1 */
    enum trace_link_kind kind;
    uint32_t label; /* the source's own word for it (see trace_add_label), 0 none */
    uint32_t from_track, to_track;
    int64_t from_ns;             /* inside a span of from_track, if it was recorded */
    int64_t to_ns;               /* start of the span */
    uint64_t from_span, to_span; /* ids, 0 none or not known */
};

/*
 * One end of a link, found by key: whichever source has the other one, and whichever comes first.
 * Each arrival leads from the latest departure of its key that was not later, else (clocks err)
 * from the first one.
 */
struct trace_link_end {
    bool arrives;   /* else it departs */
    bool passes_on; /* it arrives, and departs again: a step of a longer way */
    uint8_t kind;   /* enum trace_link_kind: ends of one kind are joined */
    uint8_t meant;  /* 1 + the kind that the link has then, 0: what it is joined as */
    uint32_t label;
    uint32_t space; /* whose key it is: number of a name; TRACE_NONE: nobody's, it is unique without
                       kind, too */
    uint32_t process; /* the key is its own; TRACE_NONE: the trace's */
    uint32_t track;
    uint64_t key;
    int64_t time_ns;
    uint64_t span; /* 0 none or not known */
};

/* One end of a message between processes: where it was sent, or where it was handled. */
struct trace_message_end {
    uint64_t key; /* unique in the trace */
    uint64_t bytes, span;
    int64_t start_ns, stop_ns; /* of the call that sent it, or of its handler */
    int64_t arrived_ns;        /* of one that is handled: since then it waited for its handler */
    uint32_t track, name;      /* name: the handler's */
    bool handled;
};

/* A message both of whose ends are known. */
struct trace_message {
    struct trace_message_end sent, handled;
    uint32_t from_process, to_process;
    /* The times of both ends may be wrong by so much against each other; 0 if nobody knows. */
    bool bounded;
    uint64_t bound_ns;
};

/* By how much its handler began before it was sent; 0 of one in good order. */
static inline uint64_t trace_message_early_ns(const struct trace_message *message)
{
    int64_t sent_ns = message->sent.start_ns, start_ns = message->handled.start_ns;
    return start_ns < sent_ns ? (uint64_t)sent_ns - (uint64_t)start_ns : 0;
}

#endif /* TRACE_LINK_H */
