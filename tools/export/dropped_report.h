/* SPDX-License-Identifier: Apache-2.0 */
/* dropped_report.h - counts what a format cannot represent and reports it once, at the end. */
#ifndef DROPPED_REPORT_H
#define DROPPED_REPORT_H

#include "result_table.h"
#include "trace_pass.h"

/* What the exporter counted. Links, counter values and rows are added where its sink takes none. */
struct dropped {
    uint64_t points;  /* in time, where only spans have a length */
    uint64_t links;   /* of kinds that it does not know */
    uint64_t details; /* spans whose arguments are not shown */
    uint64_t counters;
    uint64_t rows;
    uint64_t no_work; /* ranges, annotations, waits in queues, where only work is shown */
};

extern const struct result_column dropped_columns[]; /* of struct export_file */

/* "folded: dropped 3 links, 12 points in time", if there is anything; also keeps the counts for
 * --json and --csv. */
void dropped_report(const struct trace_pass *pass, const char *format, struct dropped dropped);

#endif /* DROPPED_REPORT_H */
