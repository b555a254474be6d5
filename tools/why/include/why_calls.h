/* SPDX-License-Identifier: Apache-2.0 */
/*
 * why_calls.h - what happened in the slow calls of a name, in a sample of its ordinary ones, and
 * meanwhile on other threads.
 *
 * Which calls these are is known before the files are read for this, so the order in which their
 * parts come does not matter, and nothing else is kept.
 */
#ifndef WHY_CALLS_H
#define WHY_CALLS_H

#include "slow_stacks.h"
#include "trace_cpu.h"
#include "why_names.h"

enum {
    WHY_PARTS = 64,           /* of a call that differ */
    WHY_MEANWHILE = 1u << 18, /* spans of other threads that are kept */
    WHY_OBJECTS = 256,        /* that have names */
    WHY_DEPTH = 32,           /* of sub-items */
    WHY_WORKS = 64            /* of GPUs that are kept while they are passed on */
};

/* From WHY_GPU_QUEUE on it is time of the GPU work that a call launched, without overlap: before
 * its start, by the name and thread (as waker) of the work that the GPU had then; its own; and idle
 * time of the GPU because the next one had not been launched. */
enum why_part_kind { WHY_SUB_ITEM, WHY_WAITING_ITEM, WHY_WAIT, WHY_GPU_QUEUE, WHY_GPU, WHY_LAUNCH };

/* Parts of a call that are alike. A sub-item's time is its own, without those inside of it. */
struct why_part {
    uint32_t next;        /* of its call, 1 + place; 0: none */
    uint32_t name, waker; /* waker: the thread that ended a wait, or TRACE_NONE */
    uint8_t kind;         /* enum why_part_kind */
    int64_t ns;
    uint64_t delay_ns; /* of ns: its waker had ended the wait, and it had no CPU */
    uint64_t object, longest_ns;
    int64_t start_ns, stop_ns; /* of the longest */
    struct why_message {
        uint32_t count; /* that may have ended that one; the rest is of the last of them */
        uint32_t sender, handler, name;
        uint32_t in; /* the handler that sent it, if it took most of that time; or TRACE_NONE */
        int64_t sent_ns, arrived_ns, handled_ns, ended_ns;
    } message;
};

struct why_arg {
    uint32_t next;       /* as above */
    uint32_t key, value; /* number of the key's name; of the value in texts */
};

/* What looks at a long call or wait found (table open_call). */
struct why_look {
    uint32_t looks, locked, in_io, in_call; /* of them: at a lock that is held, in a system call */
    uint64_t object, holder, system_call;   /* of the last that found one; as in the table */
    struct trace_text system_call_name;     /* the trace's */
};

/* An address of a process that has a name, the trace's. */
struct why_object {
    uint64_t address;
    uint32_t process;
    struct trace_text name;
};

struct why_call {
    uint32_t thread;
    bool slow, seen, has_cpu;
    int64_t queued_ns, begin_ns, end_ns; /* queued_ns: begin_ns without a ticket */
    struct trace_cpu cpu;
    uint32_t minor_faults, major_faults;
    int64_t gpu_until_ns; /* the latest end of its GPU work so far; 0: it has none */
    uint32_t parts, args; /* the first, 1 + place; 0: none */
    struct why_look look;
};

/* A call, or a wait, that lasted while a slow call did. */
struct why_meanwhile {
    int64_t start_ns, stop_ns;
    uint64_t running_ns, runnable_ns, object; /* object: of a wait */
    uint32_t thread, name, waker;
    uint8_t kind; /* enum why_part_kind; WHY_SUB_ITEM: a call */
    bool has_cpu; /* running_ns is known; runnable_ns is, too, and of a wait, which is ready last */
};

struct why_activity {
    uint64_t events; /* begins and ends */
    int64_t first_ns, last_ns;
};

struct why_calls {
    struct trace *const *trace; /* whose sink this is */
    struct why_name *name;      /* its number is that of this pass */
    struct why_call *list;      /* by thread and begin */
    uint32_t count, kept_slow;
    struct why_part *parts;
    struct why_arg *args;
    struct why_meanwhile *meanwhile; /* after why_calls_finish by thread and start */
    uint32_t part_count, part_room, arg_count, arg_room, meanwhile_count, meanwhile_room;
    uint64_t meanwhile_dropped;
    struct slow_texts texts;
    struct slow_stacks stacks; /* of looks while slow calls last; after why_calls_finish by time */
    struct why_object *objects;
    uint32_t object_count, object_room;
    struct why_tracks tracks;
    struct why_activity *activity; /* of threads, by track */
    uint32_t activity_room;
    /* Time in cells, of each process: a bit says whether a thread of it began or ended something.
     */
    uint64_t **cells;
    uint32_t process_room;
    int64_t first_ns;
    uint64_t cell_ns, cell_count;

    /* While it is filled. */
    struct why_window {
        int64_t queued_ns, until_ns; /* until_ns: the latest end of those up to there */
        uint32_t call;
    } * windows;       /* slow calls by when they were handed over */
    uint64_t least_ns; /* of what is kept of other threads */
    struct why_lane {
        uint32_t call, parts[WHY_DEPTH]; /* 1 + place */
    } * lanes;                           /* by track */
    uint32_t lane_room;
    struct why_work {
        int64_t start_ns, stop_ns;
        uint64_t stream;
        uint32_t track, thread, name;
    } works[WHY_WORKS];                        /* of GPUs, those that ended last */
    uint32_t object_key, waker_key, delay_key; /* 1 + name; 0: it has not come */
    uint32_t launched_key, stream_key;
    bool failed;
};

/* Of the name that was chosen. False without memory. */
bool why_calls_start(struct why_calls *calls, const struct why_names *names, struct why_name *name);
struct trace_sink why_calls_sink(struct why_calls *calls);
void why_calls_finish(struct why_calls *calls);
void why_calls_free(struct why_calls *calls);

/* The spans of a thread that were kept; how many in *count_out. */
const struct why_meanwhile *why_calls_of_thread(const struct why_calls *calls, uint32_t thread,
                                                uint32_t *count_out);
/* What is at that address of the call's process; empty: not known. */
struct trace_text why_calls_object(const struct why_calls *calls, uint32_t thread,
                                   uint64_t address);
/* The thread of the call's process with that number of the operating system; or TRACE_NONE. */
uint32_t why_calls_thread_of_id(const struct why_calls *calls, uint32_t thread, uint64_t os_id);

static inline int64_t why_overlap_ns(int64_t a_from, int64_t a_to, int64_t b_from, int64_t b_to)
{
    const int64_t from = a_from > b_from ? a_from : b_from, to = a_to < b_to ? a_to : b_to;
    return to > from ? (int64_t)((uint64_t)to - (uint64_t)from) : 0;
}

#endif /* WHY_CALLS_H */
