/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chrome_spans.h - events of Chrome JSON as spans.
 *
 * Events are in no order, so all spans go through a span_sorter, and flows
 * along with them (chrome_flows.h). Whatever is not understood is counted and
 * told.
 */
#ifndef CHROME_SPANS_H
#define CHROME_SPANS_H

#include "chrome_flows.h"
#include "chrome_own.h"
#include "chrome_tracks.h"
#include "kept_losses.h"
#include "merge_sorter.h"
#include "open_spans.h"
#include "sample_sorter.h"
#include "span_detail.h"
#include "span_sorter.h"
#include "trace_filter.h"
#include "trace_source.h"

/* ---- annotations that Chrome JSON does not have ---------------------------------------------- */

struct rbwp_annotator;

/* Zero makes none. */
struct chrome_ranges {
    struct rbwp_annotator *annotator; /* NULL: nobody asked */
    struct merge_sorter host;         /* ranges and launches, by thread and time */
    bool annotated;                   /* the file has annotations */
    bool failed;                      /* out of memory */
};

/* ---- chrome spans ---------------------------------------------------------------------------- */

enum { CHROME_PHASES = 128 };

struct chrome_spans {
    struct chrome_tracks *tracks;
    const struct trace_source *opened;
    struct trace *trace;
    int64_t zero_ns; /* of the text's times on the trace's axis */
    struct trace_filter filter;
    struct span_sorter spans;
    struct chrome_flows flows;
    struct chrome_ranges ranges;
    struct open_spans open;
    struct sample_sorter samples;
    struct detail_maker detail;
    struct kept_losses losses; /* of our own exports */
    bool ours;                 /* it is an export of this program */
    bool kineto;               /* in Kineto's form */
    struct chrome_kineto form; /* of the event, in that */
    /* The span that came last: ends of flows that follow it are its own. */
    struct {
        bool valid;
        uint32_t row, track;
        uint64_t id; /* 0: it was not wanted */
        int64_t start_ns;
    } last;
    bool by_correlation; /* nothing else tells which call launched a kernel */
    uint64_t bad_times, no_times, strays, unfinished, backwards;
    uint64_t not_numbers;             /* values of counters */
    uint64_t crowded;                 /* begins that found no room */
    uint64_t left_out[CHROME_PHASES]; /* by phase; 0: none or no single character */
};

/* NULL without memory. */
struct chrome_spans *chrome_spans_start(struct chrome_tracks *tracks,
                                        const struct trace_source *opened, struct trace *trace,
                                        const struct trace_read_options *options);
void chrome_spans_take(struct chrome_spans *spans, const struct chrome_event *event);
/* All goes to the trace. False when something is missing, with messages given. */
bool chrome_spans_finish(struct chrome_spans *spans);
void chrome_spans_free(struct chrome_spans *spans);

/* Whether it is a flow from a launch to its kernel. */
bool chrome_spans_is_launch(const struct chrome_event *event);
/* Whether events of this phase are shown, metadata not being one. */
bool chrome_spans_knows(char phase);
/* Whether it is of something that a GPU does. */
bool chrome_spans_is_gpu(const struct chrome_event *event);

#endif /* CHROME_SPANS_H */
