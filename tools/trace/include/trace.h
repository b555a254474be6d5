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
 * - a process is passed on before its tracks, a track and a name before the first
 *   span that has them; numbers count up from 0 in that order;
 * - spans come in batches of one track. In a batch they ascend by start, and
 *   of two with the same start the longer, outer one comes first. Batches of
 *   one track and row ascend likewise, but for spans marked TRACE_LATE,
 *   whose contents were too many to be held back (or whose file's index is wrong);
 * - two spans of one track and row are disjoint, or one encloses the other;
 * - a GPU's or another profiler's spans come sorted, after those of the
 *   source's threads; rows of tables that come in order come among these;
 * - the samples of a counter ascend by time;
 * - links come after both their ends' tracks, in any order; those
 *   that are joined by key, and messages, after all sources;
 * - long calls and waits that were looked at come by time, before the spans of their source;
 * - a table is passed on before its rows;
 * - losses and facts come behind the spans of their source.
 *
 * Times are nanoseconds since 1970 on the trace's axis, alignment and filters
 * already applied; of GPUs they are without what noticing their work adds.
 * Texts are any bytes, not terminated.
 */
#ifndef TRACE_H
#define TRACE_H

#include "command.h"
#include "trace_link.h"
#include "trace_rows.h"
#include "trace_stack.h"
#include "trace_track.h"

struct trace_span;
struct trace_detail;
struct trace_details;

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
    /* Whether the frames of this look are wanted, which take time to find; NULL: they are. */
    bool (*frames)(void *context, const struct trace_stack *stack);
    void (*stack)(void *context, const struct trace_stack *stack);
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
    uint64_t details;   /* spans with a detail */
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
/* Whether the sink takes the next ones at all. */
bool trace_wants_stacks(const struct trace *trace);
bool trace_wants_frames(struct trace *trace, const struct trace_stack *stack);
void trace_add_stack(struct trace *trace, const struct trace_stack *stack);
uint32_t trace_add_table(struct trace *trace, uint32_t process, const struct rbwp_schema *schema);
void trace_add_rows(struct trace *trace, const struct trace_rows *rows);
/* Rows that are not passed on because spans are filtered. */
void trace_add_unjudged_rows(struct trace *trace, uint32_t rows);
void trace_add_loss(struct trace *trace, struct trace_loss loss);
void trace_add_fact(struct trace *trace, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* "process.NUMBER.WHAT" */
void trace_add_process_fact(struct trace *trace, uint32_t process, const char *what,
                            const char *format, ...) __attribute__((format(printf, 4, 5)));
/* What a file says of itself as a whole: formats without facts say that they leave it out. */
void trace_add_own_fact(struct trace *trace, const char *key, struct trace_text value);
/* Adds to the totals; nothing where first_ns is after last_ns. */
void trace_saw(struct trace *trace, int64_t first_ns, int64_t last_ns);
/* Leaves of the span what lies in the window, marked. False when nothing does. */
bool trace_clip(struct trace_span *span, int64_t from_ns, int64_t to_ns);
bool trace_is_full(const struct trace *trace);
/* Gives a message; everything after it is dropped. */
void trace_out_of_memory(struct trace *trace);
bool trace_failed(const struct trace *trace);
/* After the last source: joins the ends of links. */
void trace_finish(struct trace *trace);

/* What was added under a number; valid as long as the trace. */
const struct trace_process *trace_process_of(const struct trace *trace, uint32_t number);
const struct trace_track *trace_track_of(const struct trace *trace, uint32_t number);
/* Tracks added so far: numbers below it. */
uint32_t trace_track_count(const struct trace *trace);
struct trace_text trace_name_of(const struct trace *trace, uint32_t number);
/* The text of a label. */
struct trace_text trace_label_of(const struct trace *trace, uint32_t label);

#endif /* TRACE_H */
