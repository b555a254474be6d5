/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stalls.h - which threads wait at the last moment of a file, for what and for whom.
 *
 * Of the looks at long calls and waits (trace_stack.h) those count that are still open: a call by
 * its span; a wait if its thread recorded nothing behind the look. Threads that wait for each other
 * are a deadlock if each was looked at when the next one already waited: who waits releases
 * nothing. A call that was found at a futex waits for that.
 */
#ifndef STALLS_H
#define STALLS_H

#include "index_map.h"
#include "result_table.h"
#include "trace.h"

struct trace_span;

struct stall {
    struct trace_stack stack; /* the last look; its frames are the stall's own */
    bool of_call;             /* a wait that is known by looks at a call, which began at call_ns */
    bool over;                /* of such a one: a later look found the call elsewhere */
    int64_t call_ns;
    bool open;       /* it has not ended */
    bool has_span;   /* of a call: that is open */
    uint32_t holder; /* the holder's track; TRACE_NONE: not known, or not recorded */
    uint32_t walk;   /* while cycles are looked for */
    uint32_t cycle;  /* number of the deadlock that it is in, from 1; 0: none */
};

enum stall_kind { STALL_WAIT, STALL_CALL, STALL_KINDS };

struct stalls_track {
    uint32_t thread; /* itself, or the one that its rows are of; TRACE_NONE: neither */
    uint32_t process;
    uint64_t os_id;
    uint32_t last_of_id;          /* of the first of that number */
    uint32_t stalls[STALL_KINDS]; /* the last of each kind, + 1; 0: none */
    int64_t last_ns;              /* when it was last seen to do anything */
    bool any;
};

struct stalls {
    struct stall *list;
    struct stalls_track *tracks;
    bool any_look; /* set at first: those from before the window count, too, though their threads
                      may have gone on between both */
    uint32_t count, room, track_count, track_room, cycles;
    struct index_map by_os_id; /* threads */
    bool failed;               /* out of memory */
};

/* As functions of a sink. */
void stalls_on_track(struct stalls *stalls, const struct trace_track *track);
void stalls_on_stack(struct stalls *stalls, const struct trace_stack *stack);
void stalls_on_spans_(struct stalls *stalls, const struct trace_span *spans, size_t count);
static inline void stalls_on_spans(struct stalls *stalls, const struct trace_span *spans,
                                   size_t count)
{
    if (stalls->count)
        stalls_on_spans_(stalls, spans, count);
}

/* Behind the last span: what is open, and the cycles. */
void stalls_finish(struct stalls *stalls);
void stalls_free(struct stalls *stalls);

/* Of a thread; NULL: none is open. */
const struct stall *stalls_of(const struct stalls *stalls, uint32_t track, enum stall_kind kind);
static inline uint64_t stall_for_ns(const struct stall *stall)
{
    const struct trace_stack *stack = &stall->stack;
    return stack->alive_ns > stack->since_ns ? (uint64_t)stack->alive_ns - (uint64_t)stack->since_ns
                                             : 0;
}

/* "mutex 0x7f01", "read 4", "sleep" */
void stalls_write_object(struct out *out, const struct trace_stack *stack);
/* "deadlock: f (4711) holds mutex 16 and waits for mutex 32, held by g (4712); g (4712) holds ..."
 */
void stalls_write_cycle(struct out *out, const struct stalls *stalls, const struct trace *trace,
                        uint32_t cycle);
/* One line without its end: the first deadlock, or else the longest open wait for what another
 * thread holds; nothing is written, and false, if there is none. What waits for work is idle. */
bool stalls_write_worst(struct out *out, const struct stalls *stalls, const struct trace *trace);

#endif /* STALLS_H */
