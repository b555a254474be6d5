/* SPDX-License-Identifier: Apache-2.0 */
/* stats_report.h - the sums of files (stats.h), shown as tables for people or as JSON. */
#ifndef STATS_REPORT_H
#define STATS_REPORT_H

#include "stats.h"
#include "trace_pass.h"

/* ---- rows in order --------------------------------------------------------------------------- */
/* Which rows of the sums stand in which table, and in which order. */

enum stats_section {
    SECTION_WORK_ITEMS = 1, /* calls, by slot */
    SECTION_SUB_ITEMS = 2,
    SECTION_GPU_WORK = 4,
    SECTION_THREADS = 8,
    SECTION_GPUS = 16,
    SECTION_CONCURRENCY = 32,
    SECTION_LONGEST = 64,
    SECTION_RANGES = 128,
    SECTION_COUNTERS = 256,
    SECTION_INSIDE = 512,
    SECTION_MESSAGES = 1024,
    SECTION_NODES = 4096,
    SECTION_ALL = 2047 | SECTION_NODES,
    /* What rows are shown beside the ranges, and beside the work items. */
    SECTION_GPU_RANGES = 2048,
    SECTION_QUEUED = 8192,
    /* Only if they are asked for. */
    SECTION_FINDINGS = 16384,
    SECTION_ARGUMENTS = 32768,
    SECTION_STACKS = 65536
};

/* What rows have, and may be sorted by: "count,total,...". */
extern const char stats_row_titles[];
bool stats_has_title(const char *title, size_t bytes);

/* The section of a table by its name in JSON (0: it is in all); false: there is none, or it cannot
 * be CSV. */
bool stats_csv_section(const char *name, unsigned *section_out);

/* The rows of a section (of a stats_section) by the column of that title (NULL: by their total),
 * numbers from the greatest on; their order is the caller's to free, NULL when out of memory. */
struct result_rows stats_rows_of(const struct stats *stats, enum stats_section section,
                                 const char *title);

struct stats_report_options {
    struct reading_options reading;
    bool json;
    const char *csv;     /* a table's name; NULL: no CSV */
    bool csv_known;      /* it is one of the sums */
    const char *cache;   /* where sums of single files are kept (stats_files.h); NULL: nowhere */
    bool critical_path;  /* this alone: critical_path.h */
    const char *of;      /* the call that it ends with, a pattern; NULL: the run */
    unsigned sections;   /* 0: all */
    const char *arg_key; /* of SECTION_ARGUMENTS */
    bool fold_literals;  /* in its texts */
    const char *sort;    /* as in struct stats_form */
    const char *columns;
    struct {
        bool set;
        uint32_t count;
    } top;
};

/* What stats prints as JSON, at most so many columns. */
enum { STATS_DOCUMENT_MAX = 32 };
void stats_document(struct result_column *columns_out);

/* Reads the files, adds up and shows. */
enum exit_code stats_report(const struct stats_report_options *options, struct operands files);

#endif /* STATS_REPORT_H */
