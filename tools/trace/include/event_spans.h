/* SPDX-License-Identifier: Apache-2.0 */
/* event_spans.h - what sources of other profilers have in common: losses, filters, flows, and
 * begins that wait for their ends. */
#ifndef EVENT_SPANS_H
#define EVENT_SPANS_H

#include "span_sorter.h"
#include "trace_source.h"

/* ---- losses ---------------------------------------------------------------------------------- */
/*
 * Losses that are found while spans are read, and emitted when all are known, behind every track.
 * Beyond KEPT_LOSSES_MAX they are added to the last one.
 */

enum { KEPT_LOSSES_MAX = 4096 };

/* Zero is none. */
struct deferred_losses {
    struct kept_loss *list;
    uint32_t count, room;
    bool failed; /* out of memory: some are missing */
};

/* The cause is copied. */
void deferred_losses_add(struct deferred_losses *kept, const struct trace_loss *loss);
/* name: what trace_loss_name made of the loss, whose cause it has. */
void deferred_losses_add_named(struct deferred_losses *kept, struct trace_loss loss,
                               struct trace_text name);
void deferred_losses_emit(const struct deferred_losses *kept, struct trace *trace);
void deferred_losses_free(struct deferred_losses *kept);

/* ---- filter ---------------------------------------------------------------------------------- */
/*
 * The filters of the command line, for spans of other profilers.
 *
 * They have no slots and threads in RBWP's sense: a slot pattern is held against the span's name, a
 * thread pattern against its track's. Numbers match the item and the track's id. Kinds of records
 * are RBWP's alone, but for gpu: spans of a GPU.
 */

struct trace_filter {
    const struct filter_options *options; /* NULL: all is taken */
    int64_t from_ns, to_ns, zero_ns;
    bool clip;
};

/* zero_ns: on the trace's axis, where the file's relative times count from. */
void trace_filter_start(struct trace_filter *filter, const struct trace_read_options *options,
                        int64_t zero_ns);
bool trace_filter_takes(const struct trace_filter *filter, struct trace *trace,
                        const struct trace_span *span);
/* Of a counter: it is in the window, and no filter asks for something that counters have not. */
bool trace_filter_takes_sample(const struct trace_filter *filter, int64_t time_ns);
/* Of a span that is taken, leaves what lies in the window if the options say so. False when
 * nothing does. */
bool trace_filter_clip(const struct trace_filter *filter, struct trace_span *span);

/* ---- flows ----------------------------------------------------------------------------------- */
/*
 * Flow events of Chrome JSON as links between spans.
 *
 * A flow event names no span: it binds to the one around its time on its track, or to the next one.
 * So it goes through the same span_sorter as the spans, as a marker; when all comes out in order,
 * the span it binds to is at hand. Its other end may be anywhere: the trace joins both by their
 * key.
 */

enum flow_shape {
    FLOW_START,       /* s */
    FLOW_START_ALONE, /* the same, also where there is no span around */
    FLOW_STEP,        /* t */
    FLOW_END,         /* f with bp "e" */
    FLOW_END_AT_NEXT  /* f */
};

struct chrome_flow {
    uint64_t key; /* what all events of one flow share, and those of no other one, in any file */
    int64_t time_ns;
    uint32_t track, label;
    enum trace_link_kind kind;
    enum flow_shape shape;
};

struct chrome_flows {
    uint64_t lone; /* ends that bind to no span */
    bool failed;
};

void chrome_flows_mark(struct span_sorter *spans, const struct chrome_flow *flow);
/* Instead of span_sorter_finish: spans go to the trace, and ends of links. */
void chrome_flows_finish(struct chrome_flows *flows, struct span_sorter *spans,
                         struct trace *trace);

/* ---- begins that wait for their ends, by a key ----------------------------------------------- */
/*
 * The newest begin of a key is closed first. Memory holds what is open, at most OPEN_SPANS_MAX with
 * OPEN_SPANS_DETAIL_BYTES_MAX of details; more are turned away.
 */

struct open_entry;
struct trace_detail;
struct trace_span;

#define OPEN_SPANS_MAX (1u << 20)
#define OPEN_SPANS_CELLS (1u << 12)
#define OPEN_SPANS_DETAIL_BYTES_MAX (64u << 20)

struct open_spans {
    struct open_entry *entries;
    uint32_t cells[OPEN_SPANS_CELLS]; /* newest entry of each hash, index + 1 */
    uint32_t first;                   /* cells before it are empty */
    uint32_t count, room;             /* entries ever used */
    uint32_t free;                    /* list of those that are free, index + 1 */
    uint64_t detail_bytes;            /* of all that are open */
    uint64_t cut;                     /* details for which there was no room */
    bool failed;                      /* out of memory: details are missing */
    uint64_t crowded;                 /* begins that found no room */
    uint64_t strays;                  /* ends without a begin */
    uint64_t backwards;               /* that end before they begin */
};

/* detail: what more the span has, NULL for nothing; it is copied. False when there is no room. Zero
 * is none open. */
bool open_spans_push(struct open_spans *open, uint64_t key, const struct trace_span *span,
                     const struct trace_detail *detail);
/* *detail_out is to be freed; NULL: it has none. */
bool open_spans_pop(struct open_spans *open, uint64_t key, struct trace_span *span_out,
                    struct trace_detail **detail_out);
/* The same for an end at that time: *span_out ends there, or where it begins. */
bool open_spans_end(struct open_spans *open, uint64_t key, int64_t stop_ns,
                    struct trace_span *span_out, struct trace_detail **detail_out);
/* Any one of those that are left; false when none is. */
bool open_spans_pop_any(struct open_spans *open, struct trace_span *span_out,
                        struct trace_detail **detail_out);
/* Says what was dropped or cut, with other arguments of that file that were; whether it was
 * nothing. */
bool open_spans_report(const struct open_spans *open, const char *name, uint64_t cut);
void open_spans_free(struct open_spans *open);

#endif /* EVENT_SPANS_H */
