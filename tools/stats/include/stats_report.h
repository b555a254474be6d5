/* SPDX-License-Identifier: Apache-2.0 */
/* stats_report.h - the sums of files (stats.h), shown as tables for people or as JSON. */
#ifndef STATS_REPORT_H
#define STATS_REPORT_H

#include "result_table.h"
#include "stats_rows.h"
#include "trace_pass.h"

struct stats_report_options {
    struct reading_options reading;
    bool json;
    const char *csv;     /* a table's name; NULL: no CSV */
    bool csv_known;      /* it is one of the sums */
    const char *cache;   /* where sums of single files are kept (summary_cache.h); NULL: nowhere */
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
