/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.h - a trace as one page that opens anywhere.
 *
 * The page is one HTML file that needs no network. What it shows is added up
 * while the trace is read (stats.h for the tables, timeline.h for the
 * drawing, waits.h for what lies between) and put into it as packed data
 * (page_data.h); page.js draws it.
 */
#ifndef REPORT_H
#define REPORT_H

#include "export.h"
#include "stats.h"
#include "page_timeline.h"
#include "waits.h"

enum { REPORT_DETAIL_MB = 32, REPORT_DETAIL_MB_MAX = 400 };

struct report_options {
    struct export_options common;
    struct {
        bool set;
        uint32_t megabytes;
    } detail; /* of the page, for single spans */
};

struct report_fact {
    char *key, *value;
};

struct report {
    const struct report_options *options;
    struct trace *trace;
    struct stats stats;
    struct trace_sink stats_sink;
    struct kinds kinds;
    struct timeline timeline;
    struct waits waits;
    struct report_fact *facts;
    uint32_t fact_count;
    /* Where workers had spans: the page is about that. A GPU's times may make no sense. */
    bool has_focus;
    int64_t focus_first_ns, focus_last_ns;
    bool failed;
};

/* What is known when the timeline has been written. */
struct report_page {
    struct detail_taken taken;
    unsigned levels;
};

/* The page's numbers and names as JSON. */
void report_json(const struct report *report, const struct report_page *page, struct out *out);

enum exit_code report_files(const struct report_options *options, struct operands files);

#endif /* REPORT_H */
