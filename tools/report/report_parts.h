/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_parts.h - what the page shows, added up while the trace is read.
 *
 * Sums for the tables (stats.h), the drawing (page_timeline.h), and what lies
 * between (below); put into the page as packed data (page_data.h), which its
 * scripts draw.
 */
#ifndef REPORT_PARTS_H
#define REPORT_PARTS_H

#include "counter_lines.h"
#include "critical_path.h"
#include "findings.h"
#include "page_timeline.h"
#include "report.h"
#include "stack_tree.h"

/* ---- waits ----------------------------------------------------------------------------------- */
/*
 * The times in which a worker did nothing.
 *
 * A wait is the time between two outermost spans of a thread or processor.
 * All are counted by length for each track; the WAITS_LONGEST longest ones of
 * the trace are kept.
 */

struct trace_span;

enum { WAITS_LONGEST = 200 };

struct wait {
    int64_t start_ns;
    uint64_t duration_ns;
    uint32_t track;
};
struct waits_track {
    bool any;
    int64_t until_ns; /* stop of what came so far */
    struct histogram durations;
};
struct waits {
    struct waits_track *tracks;
    uint32_t track_room;
    struct wait longest[WAITS_LONGEST]; /* a heap, the shortest on top; sorted by waits_finish */
    uint32_t count;
    bool failed; /* out of memory: waits are missing, and a message was given */
};

/* NULL for a track without waits. */
const struct histogram *waits_of(const struct waits *waits, uint32_t track);

/* ---- report parts ---------------------------------------------------------------------------- */

struct report_fact {
    char *key, *value;
};

/* What programs noted of single calls, for the page.
 *
 * Element args0: for each span its track and the number of its kind (varints), its start (8 bytes,
 * ns, little-endian), and its arguments as stats.h has them, with their length (a varint) in
 * front. So many as fit into PAGE_ARGS_BYTES, those that come first; of the others the number is
 * known. */
enum { PAGE_ARGS_BYTES = 8 << 20 };
struct page_args {
    struct buffer bytes;
    uint64_t dropped; /* spans */
};

struct report {
    struct stats stats; /* first: what the page takes as they do, their sink takes */
    struct trace_sink stats_sink;
    const struct report_options *options;
    struct trace *trace;
    struct trace *names; /* in place of one, of sums of files; NULL: they were read in one pass */
    struct kinds kinds;
    struct timeline timeline;
    struct waits waits;
    struct counter_lines counters;
    struct page_args args;
    struct stack_tree stacks;                    /* of workers; what is in them are kinds */
    struct findings findings;                    /* when all has come */
    const struct critical_report_view *critical; /* likewise; NULL: it is not known */
    struct report_fact *facts;
    uint32_t fact_count, fact_room;
    /* Where workers had spans: the page is about that. A GPU's times may make no sense. */
    bool has_focus;
    int64_t focus_first_ns, focus_last_ns;
    bool has_life; /* of processes of a family */
    int64_t life_first_ns, life_last_ns;
    bool failed;
};

/* What is known when the timeline has been written. */
struct report_page {
    struct detail_taken taken;
    unsigned levels;
};

/* The page's numbers and names as JSON. */
void report_json(const struct report *report, const struct report_page *page, struct out *out);

/* "kernel_lines": what probes recorded in kernels, and "sources": text of the lines where that can
 * be read. Ends with a comma. */
void report_lines_json(const struct report *report, struct out *out);

#endif /* REPORT_PARTS_H */
