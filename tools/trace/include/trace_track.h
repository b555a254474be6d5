/* SPDX-License-Identifier: Apache-2.0 */
/* trace_track.h - processes and their tracks (trace.h). */
#ifndef TRACE_TRACK_H
#define TRACE_TRACK_H

#include "trace_text.h"

#define TRACE_NONE UINT32_MAX

struct trace_process {
    uint32_t number;
    uint32_t node;                           /* of the job */
    uint64_t os_id;                          /* 0 unknown */
    struct trace_text name;                  /* "node 3", unique in the trace */
    struct trace_text host, command, source; /* source: the file; empty: unknown */
    bool clock_bounded; /* its times are wrong against those of others by clock_error_ns at most */
    uint64_t clock_error_ns;
    bool began_before; /* in a file of the recording that is not here */
    bool ended;        /* so nothing of it hangs any more */
    bool has_gap;      /* nor is some of it between two that are */
};

/* Tracks form trees: streams below their GPU, counters and ranges below what they are about. */
enum trace_track_kind {
    TRACE_THREAD,
    TRACE_GPU,       /* a GPU processor */
    TRACE_PROCESSOR, /* another profiler's processor: a place where tasks run */
    TRACE_CHANNEL,   /* copies, fills and the like between two memories */
    TRACE_STREAM,    /* of a GPU */
    TRACE_SM,        /* a GPU's multiprocessor */
    TRACE_LANE,      /* one writer inside a kernel */
    TRACE_ASYNC,     /* one of another profiler's operations that no thread holds */
    TRACE_TABLE,     /* rows of a table */
    TRACE_COUNTER,   /* samples, no spans */
    TRACE_LIFE,      /* marks alone: when a process began to record, and how that ended */
    TRACE_TRACK_KINDS
};
/* "thread", "gpu", "processor", "channel", "stream" ... */
extern const char *const trace_track_kind_name[TRACE_TRACK_KINDS];

/* How long a thread ran by its own clock, in calls and between them. from_ns not before to_ns:
 * nothing is known. */
struct trace_sum {
    int64_t from_ns, to_ns;
    uint64_t ran_ns; /* no longer than that */
};

struct trace_track {
    uint32_t number, process;
    uint32_t parent; /* TRACE_NONE: its process */
    enum trace_track_kind kind;
    uint64_t id;    /* as the source has it: thread id, processor id; unique per process and kind,
                       below a parent per parent and kind */
    uint64_t os_id; /* of a thread; 0 unknown */
    struct trace_text name; /* never empty */
    struct trace_text unit; /* of a counter's values; may be empty */
    struct trace_sum sum;   /* of all that the trace has of the thread */
};

/* The item of a mark on a track of kind TRACE_LIFE. */
enum trace_life { TRACE_LIFE_BEGINS, TRACE_LIFE_ENDS, TRACE_LIFE_DIED, TRACE_LIFE_RUNS };

#endif /* TRACE_TRACK_H */
