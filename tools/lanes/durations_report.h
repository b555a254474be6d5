/* SPDX-License-Identifier: Apache-2.0 */
/*
 * durations_report.h - the durations of kernels' spans as a result table.
 */
#ifndef DURATIONS_REPORT_H
#define DURATIONS_REPORT_H

#include "kernel_dumps.h"
#include "rbwp_durations.h"
#include "result_print.h"

/* `all` of the rows. */
struct durations_report {
    const void *context;
    bool by_block; /* the upper half of a group's number is its block */
    /* Into text of 256 bytes, or static; terminated. */
    const char *(*group)(const void *context, uint64_t group, char *text);
    const char *(*event)(const void *context, int64_t event, char *text);
    bool (*fill)(const void *context, struct rbwp_durations *durations); /* false without memory */
    const struct result_column *json; /* the document, of the context */
    struct rbwp_durations *durations; /* the following are the report's own */
    char *text;
};

extern const struct result_table durations_table;
struct result_rows durations_rows(const struct result_at *at);
/* files: that no output may replace. */
enum exit_code durations_show(struct durations_report *report, const struct kernel_options *options,
                              struct operands files);

/* The column of a document. */
#define DURATIONS                                                                                  \
    {                                                                                              \
        "durations", NULL, 0, RESULT_LIST, .list = &durations_table, .rows = durations_rows,       \
                                           .closed = true                                          \
    }

#endif /* DURATIONS_REPORT_H */
