/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stats_report.h - the forms in which stats.h is shown: tables for people, and JSON.
 *
 * Both show the same sections in the same order; rows are sorted by their
 * total, then by name, so that the output of the same trace is the same.
 */
#ifndef STATS_REPORT_H
#define STATS_REPORT_H

#include "stats.h"
#include "trace_pass.h"

enum stats_section {
    SECTION_WORK_ITEMS = 1, /* calls, by slot */
    SECTION_SUB_ITEMS = 2,
    SECTION_GPU_WORK = 4,
    SECTION_THREADS = 8,
    SECTION_GPUS = 16,
    SECTION_CONCURRENCY = 32,
    SECTION_LONGEST = 64,
    SECTION_ALL = 127
};

struct stats_report_options {
    struct reading_options reading;
    bool json;
    unsigned sections; /* 0: all */
    struct {
        bool set;
        uint32_t count;
    } top;
};

/* The section whose table the category's rows stand in. */
enum stats_section stats_section_of(unsigned category);

/* Numbers of the rows of a section (of a stats_section) as they are shown; count_out of them, in
 * memory that the caller frees. NULL when out of memory. */
uint32_t *stats_rows_of(const struct stats *stats, enum stats_section section, uint32_t *count_out);

void stats_text(struct out *out, const struct stats *stats, unsigned sections,
                struct colors colors);
void stats_json(struct out *out, const struct stats *stats, unsigned sections);

/* Reads the files, adds up and shows. */
enum exit_code stats_report(const struct stats_report_options *options, struct operands files);

#endif /* STATS_REPORT_H */
