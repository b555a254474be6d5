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
 *   one track and row ascend likewise, but for spans marked TRACE_LATE,
 *   whose contents were too many to be held back (or whose file's index is wrong);
 * - two spans of one track and row are disjoint, or one encloses the other;
 * - a GPU's or another profiler's spans come sorted, after those of the
 *   source's threads; rows of tables that come in order come among these;
 * - the samples of a counter ascend by time;
 * - links come after both their ends' tracks were told, in any order; those
 *   that are joined by key, and messages, after all sources;
 * - a table is told before its rows;
 * - losses and facts come behind the spans of their source.
 *
 * Times are nanoseconds since 1970 on the trace's axis, alignment and filters
 * already applied; of GPUs they are without what noticing their work adds.
 * Texts are any bytes, not terminated.
 */
#ifndef TRACE_H
#define TRACE_H

#include "command.h"
#include "rbwp_table.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* How the times of one source come onto the axis of the trace.
 *
 * So many ns are added: everywhere the same or, where the source's clock was compared with another
 * one again and again, by a line through these comparisons. Times keep their order on the way, and
 * those of strangers stay in range. */

struct trace_axis_point {
    int64_t time_ns, shift_ns; /* at this time of the source so many ns are added */
};

struct trace_axis {
    int64_t shift_ns;                      /* with points: that of the middle one */
    const struct trace_axis_point *points; /* as trace_axis_follows says */
    uint32_t point_count;                  /* 0: shift_ns everywhere */
};

/* True if a line from one point to the other keeps the order of times: the second is later, and the
 * clocks are apart by less than half of that time more or less. */
bool trace_axis_follows(const struct trace_axis_point *point, const struct trace_axis_point *next);

/* Onto the axis by the line, and back. */
int64_t trace_axis_line(const struct trace_axis *axis, int64_t time_ns);
int64_t trace_axis_line_back(const struct trace_axis *axis, int64_t time_ns);

static inline int64_t trace_shifted(int64_t time_ns, int64_t shift_ns)
{
    int64_t sum;
    if (__builtin_add_overflow(time_ns, shift_ns, &sum))
        return shift_ns < 0 ? INT64_MIN : INT64_MAX;
    return sum;
}

static inline int64_t trace_on_axis(const struct trace_axis *axis, int64_t time_ns)
{
    return axis->point_count ? trace_axis_line(axis, time_ns)
                             : trace_shifted(time_ns, axis->shift_ns);
}

static inline int64_t trace_off_axis(const struct trace_axis *axis, int64_t time_ns)
{
    return axis->point_count ? trace_axis_line_back(axis, time_ns)
                             : trace_shifted(time_ns, -axis->shift_ns);
}

struct trace_text {
    const char *text;
    uint32_t bytes;
};
/* Of a terminated text. */
static inline struct trace_text trace_text(const char *text)
{
    return (struct trace_text){text, (uint32_t)strlen(text)};
}
/* By their bytes: below 0, 0 or above 0, as memcmp says it. */
int trace_text_compare(struct trace_text a, struct trace_text b);
static inline bool trace_text_same(struct trace_text a, struct trace_text b)
{
    return a.bytes == b.bytes && (a.bytes == 0 || memcmp(a.text, b.text, a.bytes) == 0);
}
static inline bool trace_text_is(struct trace_text text, const char *wanted)
{
    return trace_text_same(text, trace_text(wanted));
}

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
    bool has_gap;      /* nor is some of it between two that are */
};

/* Tracks form trees: streams below their GPU, counters and ranges below what they tell of. */
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

struct trace_track {
    uint32_t number, process;
    uint32_t parent; /* TRACE_NONE: its process */
    enum trace_track_kind kind;
    uint64_t id;    /* as the source has it: thread id, processor id; unique per process and kind,
                       below a parent per parent and kind */
    uint64_t os_id; /* of a thread; 0 unknown */
    struct trace_text name; /* never empty */
    struct trace_text unit; /* of a counter's values; may be empty */
};

/* The item of a mark on a track of kind TRACE_LIFE. */
enum trace_life { TRACE_LIFE_BEGINS, TRACE_LIFE_ENDS, TRACE_LIFE_DIED, TRACE_LIFE_RUNS };

/* What a span is. */
enum trace_category {
    TRACE_CALL, /* a work item's do_work; item is its slot */
    TRACE_AM,   /* sub-items by type; item is their id */
    TRACE_XFER,
    TRACE_DEPPART,
    TRACE_REAP,
    TRACE_WAITING,  /* a sub-item of a kind that waits: its thread is not busy with it */
    TRACE_SUB_ITEM, /* of a type that is not known */
    TRACE_GPU_WORK, /* item is the slot that launched it */
    TRACE_TASK,     /* another profiler's */
    TRACE_CALLED,   /* a runtime or mapper call inside a task */
    TRACE_WAIT,     /* a task is not running: waiting, or ready again */
    TRACE_COPY,
    TRACE_OTHER,
    TRACE_RANGE, /* a name that a program gave to a stretch of time: no work, never busy time */
    TRACE_ANNOTATION, /* when work of such a range ran on a GPU's stream: none of its own either */
    TRACE_QUEUED,     /* a call's work waited for it; item is its slot: nobody was busy with that */
    TRACE_CATEGORIES
};
/* "bgwork", "am", "xfer", "deppart", "reap", "waiting", "sub_item", "gpu", "task", "call", "wait",
 * "copy", "other", "range", "annotation", "queued". */
extern const char *const trace_category_name[TRACE_CATEGORIES];

enum trace_flag {
    TRACE_UNFINISHED = 1, /* its end is not known; stop is the last time at which it was seen */
    TRACE_LATE = 2,       /* see above */
    TRACE_INSTANT = 4,    /* a point in time; start equals stop */
    /* With TRACE_UNFINISHED: it still ran at the last sign of life (the session's stop, the last
     * that is known of a process that died, now), and stop is that time. */
    TRACE_OPEN = 8,
    TRACE_CUT = 16,  /* a part of it, which lies outside the window asked for, was left out */
    TRACE_WAITS = 32 /* a call of a work item that waits: its thread is not busy with it */
};

struct trace_span {
    int64_t start_ns, stop_ns; /* start <= stop */
    uint64_t id;               /* unique in the trace, from 1 */
    uint64_t parent;           /* id of the enclosing span of the track, 0 none or not known */
    uint32_t track, name;
    uint32_t item;
    uint32_t detail;  /* where trace_detail_of finds more; 0: there is no more */
    uint16_t row;     /* of those side by side in which partly overlapping spans are shown */
    uint16_t depth;   /* number of enclosing spans, at most UINT16_MAX */
    uint8_t category; /* enum trace_category */
    uint8_t flags;    /* enum trace_flag */
};
/* Nobody is busy with it, but with what it encloses. */
static inline bool trace_is_waiting(const struct trace_span *span)
{
    return span->category == TRACE_WAITING || span->flags & TRACE_WAITS;
}

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

/* ---- what only some spans have ---------------------------------------------------- */

enum trace_arg_type {
    TRACE_ARG_U64,
    TRACE_ARG_I64,
    TRACE_ARG_F64,
    TRACE_ARG_BOOL,     /* in u64 */
    TRACE_ARG_TIME,     /* in i64, on the trace's axis */
    TRACE_ARG_DURATION, /* in u64, ns */
    TRACE_ARG_NAME,     /* in u64, the number of a name */
    TRACE_ARG_TEXT,
    TRACE_ARG_JSON, /* a text that is an object or array of JSON */
};

/* Of texts: where the bytes are, behind the beginning of the detail. */
struct trace_arg {
    uint32_t key; /* number of a name */
    uint32_t type;
    union {
        uint64_t u64;
        int64_t i64;
        double f64;
        struct {
            uint32_t offset, bytes;
        } text;
    } value;
};

enum trace_detail_flag {
    TRACE_HAS_BOUNDS = 1, /* start_uncertain_ns, stop_uncertain_ns and certain_ns are known */
    TRACE_HAS_LAUNCH = 2, /* launch_ns is known */
    TRACE_INFERRED = 4    /* the launch was inferred, the source does not tell it */
};

/* A position-independent record of words uint64_t: this, its arguments (trace_args_of), their
 * texts. Made by span_detail.h. */
struct trace_detail {
    uint32_t words;
    uint32_t arg_count;
    uint32_t flags;       /* enum trace_detail_flag */
    uint32_t category;    /* the source's own word for it, a label (see trace_add_label) */
    uint64_t correlation; /* the source's id of what belongs together; 0 none */
    /* The ends may be earlier or later by so much, and it ran for certain_ns at least. */
    uint64_t start_uncertain_ns, stop_uncertain_ns, certain_ns;
    int64_t launch_ns;     /* when the call that launched it began to */
    uint64_t launch_span;  /* id of the span around that, 0 none or not known */
    uint64_t thread_id;    /* that launched it, as the source has it; 0 none or not known */
    uint32_t launch_track; /* its track, TRACE_NONE none */
    uint32_t unused;
};
static inline const struct trace_arg *trace_args_of(const struct trace_detail *detail)
{
    return (const void *)(detail + 1);
}

/* The details of a batch. Zero is none. */
struct trace_details {
    uint64_t *words;
    uint32_t count, room; /* word 0 belongs to nobody */
};
/* NULL: there is no more. */
static inline const struct trace_detail *trace_detail_of(const struct trace_details *details,
                                                         const struct trace_span *span)
{
    return span->detail ? (const void *)(details->words + span->detail) : NULL;
}
static inline struct trace_text trace_arg_text(const struct trace_detail *detail,
                                               const struct trace_arg *arg)
{
    return (struct trace_text){(const char *)detail + arg->value.text.offset,
                               arg->value.text.bytes};
}

/* ---- links -------------------------------------------------------------------------- */

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

/* ---- counters, tables, losses --------------------------------------------------------- */

struct trace_sample {
    int64_t time_ns;
    bool whole; /* value is i64, else f64 */
    union {
        int64_t i64;
        double f64;
    } value;
};
static inline double trace_sample_value(const struct trace_sample *sample)
{
    return sample->whole ? (double)sample->value.i64 : sample->value.f64;
}

/* A table whose schema says not how to show it. */
struct trace_table {
    uint32_t number, process;
    const struct rbwp_schema *schema; /* as long as rows of its process come */
};
struct trace_rows {
    uint32_t table;
    const struct rbwp_rows *rows;
    const struct rbwp_catalog *catalog; /* of the names that cells have */
    const struct trace_axis *axis;      /* that times are to be put on */
};

struct trace_loss {
    uint32_t process;
    uint32_t track; /* TRACE_NONE: not known, or several */
    struct trace_text cause;
    uint32_t refused; /* why calls were refused (enum rbwp_loss_cause); 0: records were lost */
    uint64_t count;   /* of records, or of those calls; 0 not known, how many */
    uint64_t bytes;   /* of the file that were skipped, 0 none */
    int64_t first_ns, last_ns; /* 0,0 not known */
};
/* "12 records lost: dropped", "3 calls refused: stray end", "32812 bytes of the file skipped:
 * damaged"; cut to room bytes. */
void trace_loss_name(const struct trace_loss *loss, char *name, size_t room);

/* Where a trace goes. Any function may be NULL. Pointers are valid during the call, texts as long
 * as the trace. */
struct trace_sink {
    void *context;
    void (*process)(void *context, const struct trace_process *process);
    void (*track)(void *context, const struct trace_track *track);
    void (*name)(void *context, uint32_t number, struct trace_text name);
    void (*spans)(void *context, const struct trace_span *spans, size_t count,
                  const struct trace_details *details);
    void (*samples)(void *context, uint32_t track, const struct trace_sample *samples,
                    size_t count);
    void (*link)(void *context, const struct trace_link *link);
    void (*message)(void *context, const struct trace_message *message); /* each is a link, too */
    void (*table)(void *context, const struct trace_table *table);
    void (*rows)(void *context, const struct trace_rows *rows);
    void (*loss)(void *context, const struct trace_loss *loss);
    /* One fact about the trace: "rbwp.version", "alignment.method", "node.3.clock.error_ns" ... */
    void (*fact)(void *context, const char *key, struct trace_text value);
    /* Threads of the sink's own that look things up of the trace are to be done when it returns:
     * the trace is about to change. */
    void (*settle)(void *context);
    /* True when nothing more is wanted, as after a failure: a source then stops early, and what it
     * has still under way is not passed on. */
    bool (*full)(void *context);
};

struct trace;

/* The sink is copied. origin_ns: where exporters put their time 0; no span should start before
 * it, but may. NULL without memory. */
struct trace *trace_new(const struct trace_sink *sink, int64_t origin_ns);
/* Before anything is added: from here on spans, samples and links may come to the sink later, on
 * another thread, but before anything else that is added behind them; never two calls at the same
 * time. All have come when trace_finish returns. With one thread nothing changes. */
struct job_threads;
void trace_work_behind(struct trace *trace, struct job_threads *threads);
void trace_free(struct trace *trace);
int64_t trace_origin_ns(const struct trace *trace);

/* What was passed on so far, whether the sink wanted it or not. */
struct trace_totals {
    uint64_t spans, links, samples, tables, rows, losses, lost_records, refused_calls;
    uint64_t
        unjudged_rows;  /* of tables of which a filter cannot say what it wants: not passed on */
    uint64_t details;   /* spans with more to tell */
    uint64_t own_facts; /* what files say of themselves as a whole */
    /* Known after trace_finish. */
    uint64_t lone_ends;                           /* of links */
    uint64_t messages, sent_alone, handled_alone; /* the last two: without the other end */
    uint64_t too_early; /* messages that were handled before they were sent, beyond their bound */
    struct trace_message earliest; /* of these, the worst */
    int64_t first_ns, last_ns;     /* of spans; 0,0 without */
    /* While spans are filtered: when workers recorded, inside the window asked for, whatever else
     * the filters leave of it. */
    bool saw;
    int64_t saw_first_ns, saw_last_ns;
};
const struct trace_totals *trace_totals(const struct trace *trace);

/* ---- for readers: each returns the number. Texts are copied; *number in is ignored. ------- */

uint32_t trace_add_process(struct trace *trace, struct trace_process process);
/* A track of its process; parent in is ignored. */
uint32_t trace_add_track(struct trace *trace, struct trace_track track);
/* A track below another one of the same process. */
uint32_t trace_add_track_below(struct trace *trace, uint32_t parent, struct trace_track track);
/* The same number for the same text. */
uint32_t trace_add_name(struct trace *trace, const char *text, uint32_t bytes);
/* The same for texts that may be none: a label, which is 0 for an empty text. */
uint32_t trace_add_label(struct trace *trace, const char *text, uint32_t bytes);
/* Looks at ids, too: numbers for count new spans (or links). */
uint64_t trace_new_ids(struct trace *trace, uint64_t count);
/* details: of these spans; NULL if none of them has one. */
void trace_add_spans(struct trace *trace, const struct trace_span *spans, size_t count,
                     const struct trace_details *details);
/* Ascending by time, after all samples of the track so far. */
void trace_add_samples(struct trace *trace, uint32_t track, const struct trace_sample *samples,
                       size_t count);
void trace_add_link(struct trace *trace, struct trace_link link);
void trace_add_link_end(struct trace *trace, const struct trace_link_end *end);
void trace_add_message_end(struct trace *trace, const struct trace_message_end *end);
uint32_t trace_add_table(struct trace *trace, uint32_t process, const struct rbwp_schema *schema);
void trace_add_rows(struct trace *trace, const struct trace_rows *rows);
/* Rows that are not passed on because spans are filtered. */
void trace_add_unjudged_rows(struct trace *trace, uint32_t rows);
void trace_add_loss(struct trace *trace, struct trace_loss loss);
void trace_add_fact(struct trace *trace, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* What a file says of itself as a whole: formats without facts say that they leave it out. */
void trace_add_own_fact(struct trace *trace, const char *key, struct trace_text value);
/* Adds to the totals; nothing where first_ns is after last_ns. */
void trace_saw(struct trace *trace, int64_t first_ns, int64_t last_ns);
/* Leaves of the span what lies in the window, marked. False when nothing does. */
bool trace_clip(struct trace_span *span, int64_t from_ns, int64_t to_ns);
bool trace_is_full(const struct trace *trace);
/* Everything after it is dropped; the user is told. */
void trace_out_of_memory(struct trace *trace);
bool trace_failed(const struct trace *trace);
/* After the last source: joins the ends of links. */
void trace_finish(struct trace *trace);

/* What was told of a number; valid as long as the trace. */
const struct trace_process *trace_process_of(const struct trace *trace, uint32_t number);
const struct trace_track *trace_track_of(const struct trace *trace, uint32_t number);
/* Tracks told so far: numbers below it. */
uint32_t trace_track_count(const struct trace *trace);
struct trace_text trace_name_of(const struct trace *trace, uint32_t number);
/* The text of a label. */
struct trace_text trace_label_of(const struct trace *trace, uint32_t label);

#endif /* TRACE_H */
