/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace.h - the one model that stands between readers and what is made of them.
 *
 * Readers (trace_source.h) put processes, tracks, names and spans into a
 * struct trace; it numbers them and passes them on to one struct trace_sink:
 * an exporter, the statistics, the report. Nothing is kept but what names
 * things, so memory does not grow with the number of spans.
 *
 * What a sink may rely on:
 * - a process is told before its tracks, a track and a name before the first
 *   span that has them; numbers count up from 0 in the order of telling;
 * - spans come in batches of one track. In a batch they ascend by start, and
 *   of two with the same start the longer, outer one comes first. Batches of
 *   one track and lane ascend likewise, but for spans marked TRACE_LATE,
 *   whose contents were too many to be held back;
 * - two spans of one track and lane are disjoint, or one encloses the other;
 * - a GPU's or another profiler's spans come sorted, after those of the
 *   source's threads;
 * - links come after both their ends' tracks were told, in any order;
 * - losses and facts come last, before finish.
 *
 * Times are nanoseconds since 1970 on the trace's axis, alignment and filters
 * already applied. Texts are any bytes, not terminated.
 */
#ifndef TRACE_H
#define TRACE_H

#include "command.h"

#include <stdbool.h>
#include <stdint.h>

struct trace_text {
    const char *text;
    uint32_t bytes;
};
/* Of a terminated text. */
struct trace_text trace_text(const char *text);

struct trace_process {
    uint32_t number;
    uint32_t node;                           /* of the job */
    uint64_t os_id;                          /* 0 unknown */
    struct trace_text name;                  /* "node 3", unique in the trace */
    struct trace_text host, command, source; /* source: the file; empty: unknown */
};

enum trace_track_kind {
    TRACE_THREAD,
    TRACE_GPU,       /* a GPU processor */
    TRACE_PROCESSOR, /* another profiler's processor: a place where tasks run */
    TRACE_CHANNEL    /* copies, fills and the like between two memories */
};
/* "thread", "gpu", "processor", "channel". */
extern const char *const trace_track_kind_name[];

struct trace_track {
    uint32_t number, process;
    enum trace_track_kind kind;
    uint64_t id;    /* as the source has it: thread id, processor id; unique per process and kind */
    uint64_t os_id; /* of a thread; 0 unknown */
    struct trace_text name; /* never empty */
};

/* What a span is. */
enum trace_category {
    TRACE_CALL, /* a work item's do_work; item is its slot */
    TRACE_AM,   /* sub-items by type; item is their id */
    TRACE_XFER,
    TRACE_DEPPART,
    TRACE_REAP,
    TRACE_SUB_ITEM, /* of a type that is not known */
    TRACE_GPU_WORK, /* item is the slot that launched it */
    TRACE_TASK,     /* another profiler's */
    TRACE_CALLED,   /* a runtime or mapper call inside a task */
    TRACE_WAIT,     /* a task is not running: waiting, or ready again */
    TRACE_COPY,
    TRACE_OTHER,
    TRACE_CATEGORIES
};
/* "bgwork", "am", "xfer", "deppart", "reap", "sub_item", "gpu", "task", "call", "wait", "copy",
 * "other". */
extern const char *const trace_category_name[TRACE_CATEGORIES];

enum trace_flag {
    TRACE_UNFINISHED = 1, /* its end is not known; stop is the last time at which it was seen */
    TRACE_LATE = 2,       /* see above */
    TRACE_INSTANT = 4,    /* a point in time; start equals stop */
    /* With TRACE_UNFINISHED: it still ran at the last sign of life (the session's stop, the last
     * that is known of a process that died, now), and stop is that time. */
    TRACE_OPEN = 8,
    TRACE_CUT = 16 /* a part of it, which lies outside the window asked for, was left out */
};

struct trace_span {
    int64_t start_ns, stop_ns; /* start <= stop */
    uint64_t id;               /* unique in the trace, from 1 */
    uint64_t parent;           /* id of the enclosing span of the track, 0 none or not known */
    uint32_t track, name;
    uint32_t item;
    uint16_t lane;
    uint16_t depth;   /* number of enclosing spans, at most UINT16_MAX */
    uint8_t category; /* enum trace_category */
    uint8_t flags;    /* enum trace_flag */
};
static inline uint64_t trace_duration_ns(const struct trace_span *span)
{
    return (uint64_t)span->stop_ns - (uint64_t)span->start_ns;
}

/* For formats whose integers have a sign: at most INT64_MAX, which is 292 years. */
static inline int64_t trace_signed_duration_ns(const struct trace_span *span)
{
    uint64_t duration_ns = trace_duration_ns(span);
    return duration_ns > INT64_MAX ? INT64_MAX : (int64_t)duration_ns;
}

/* What one track did led to a span on another: a launch and its GPU work. */
struct trace_link {
    uint64_t id; /* unique in the trace, from 1 */
    uint32_t from_track, to_track;
    int64_t from_ns; /* inside a span of from_track */
    int64_t to_ns;   /* start of the span */
    uint64_t to_span;
};

struct trace_loss {
    uint32_t process;
    uint32_t track; /* TRACE_NONE: not known, or several */
    struct trace_text cause;
    uint64_t count;            /* records */
    int64_t first_ns, last_ns; /* 0,0 not known */
};

#define TRACE_NONE UINT32_MAX

/* Where a trace goes. Any function may be NULL. Pointers are valid during the call, texts as long
 * as the trace. */
struct trace_sink {
    void *context;
    void (*process)(void *context, const struct trace_process *process);
    void (*track)(void *context, const struct trace_track *track);
    void (*name)(void *context, uint32_t number, struct trace_text name);
    void (*spans)(void *context, const struct trace_span *spans, size_t count);
    void (*link)(void *context, const struct trace_link *link);
    void (*loss)(void *context, const struct trace_loss *loss);
    /* One fact about the trace: "rbwp.version", "alignment.method", "node.3.clock.error_ns" ... */
    void (*fact)(void *context, const char *key, struct trace_text value);
    /* True when nothing more is wanted: a source then stops early. */
    bool (*full)(void *context);
};

struct trace;

/* The sink is copied. origin_ns: where exporters put their time 0; no span should start before
 * it, but may. NULL without memory. */
struct trace *trace_new(const struct trace_sink *sink, int64_t origin_ns);
void trace_free(struct trace *trace);
int64_t trace_origin_ns(const struct trace *trace);

/* What was passed on so far. */
struct trace_totals {
    uint64_t spans, links, lost_records;
    int64_t first_ns, last_ns; /* of spans; 0,0 without */
    /* While spans are filtered: when workers recorded, inside the window asked for, whatever else
     * the filters leave of it. */
    bool saw;
    int64_t saw_first_ns, saw_last_ns;
};
const struct trace_totals *trace_totals(const struct trace *trace);

/* ---- for readers: each returns the number. Texts are copied; *number in is ignored. ------- */

uint32_t trace_add_process(struct trace *trace, struct trace_process process);
uint32_t trace_add_track(struct trace *trace, struct trace_track track);
/* The same number for the same text. */
uint32_t trace_add_name(struct trace *trace, const char *text, uint32_t bytes);
/* Looks at ids, too: numbers for count new spans (or links). */
uint64_t trace_new_ids(struct trace *trace, uint64_t count);
void trace_add_spans(struct trace *trace, const struct trace_span *spans, size_t count);
void trace_add_link(struct trace *trace, struct trace_link link);
void trace_add_loss(struct trace *trace, struct trace_loss loss);
void trace_add_fact(struct trace *trace, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Adds to the totals; nothing where first_ns is after last_ns. */
void trace_saw(struct trace *trace, int64_t first_ns, int64_t last_ns);
/* Leaves of the span what lies in the window, marked. False when nothing does. */
bool trace_clip(struct trace_span *span, int64_t from_ns, int64_t to_ns);
bool trace_is_full(const struct trace *trace);
/* Out of memory: everything after it is dropped. The reader told the user. */
void trace_fail(struct trace *trace);
/* The same, and tells the user. */
void trace_out_of_memory(struct trace *trace);
bool trace_failed(const struct trace *trace);

/* What was told of a number; valid as long as the trace. */
const struct trace_process *trace_process_of(const struct trace *trace, uint32_t number);
const struct trace_track *trace_track_of(const struct trace *trace, uint32_t number);
struct trace_text trace_name_of(const struct trace *trace, uint32_t number);

#endif /* TRACE_H */
