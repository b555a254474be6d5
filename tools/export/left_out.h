/* SPDX-License-Identifier: Apache-2.0 */
/* left_out.h - what a format has no place for is counted and said, once, at the end. */
#ifndef LEFT_OUT_H
#define LEFT_OUT_H

#include "result_table.h"
#include "trace_pass.h"

/* What the exporter counted. Links, counter values and rows are added where its sink takes none. */
struct left_out {
    uint64_t points;  /* in time, where only spans have a length */
    uint64_t links;   /* of kinds that it does not know */
    uint64_t details; /* spans whose arguments are not shown */
    uint64_t counters;
    uint64_t rows;
    uint64_t no_work; /* ranges, annotations, waits in queues, where only work is shown */
};

extern const struct result_column dropped_columns[]; /* of struct export_file */

/* How many of the spans have arguments. */
uint64_t left_out_arguments(const struct trace_span *spans, size_t count,
                            const struct trace_details *details);

/* "folded: left out 3 links, 12 points in time". Nothing if there is nothing. */
void left_out_tell(const struct trace_pass *pass, const char *format, struct left_out left_out);

#endif /* LEFT_OUT_H */
