/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chrome_ranges.h - annotations that Chrome JSON does not have: when the GPU work that was launched
 * in a named range ran, for each stream.
 *
 * A launch is of the innermost range around it on its thread; its number ("correlation") leads to
 * the work. Made when they are asked for (trace_read_options.annotate), and the file has none.
 */
#ifndef CHROME_RANGES_H
#define CHROME_RANGES_H

#include "merge_sorter.h"
#include "span_detail.h"
#include "span_sorter.h"
#include "trace_source.h"

struct rbwp_annotator;

/* Zero makes none. */
struct chrome_ranges {
    struct rbwp_annotator *annotator; /* NULL: nobody asked */
    struct merge_sorter host;         /* ranges and launches, by thread and time */
    bool annotated;                   /* the file has annotations */
    bool failed;                      /* out of memory */
};

void chrome_ranges_start(struct chrome_ranges *ranges, const struct trace_read_options *options);
/* external: what the file calls a range, 0 for nothing. */
void chrome_ranges_take(struct chrome_ranges *ranges, const struct trace_span *span,
                        uint64_t correlation, uint64_t external);
/* Behind the last span. False when some are missing. */
bool chrome_ranges_finish(struct chrome_ranges *ranges, struct trace *trace,
                          struct span_sorter *spans, struct detail_maker *detail);
void chrome_ranges_stop(struct chrome_ranges *ranges);

#endif /* CHROME_RANGES_H */
