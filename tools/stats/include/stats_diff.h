/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stats_diff.h - two traces' sums beside each other.
 *
 * Rows are matched by category and name: slots and ids may differ from run to
 * run. Rows of one trace that have both in common are one.
 */
#ifndef STATS_DIFF_H
#define STATS_DIFF_H

#include "stats.h"
#include "terminal.h"

enum diff_metric { DIFF_MEAN, DIFF_P50, DIFF_P99, DIFF_TOTAL, DIFF_METRICS };
extern const char *const diff_metric_name[DIFF_METRICS];

enum diff_verdict { DIFF_SLOWER, DIFF_FASTER, DIFF_SAME, DIFF_NEW, DIFF_GONE };
extern const char *const diff_verdict_name[];

struct diff_row {
    uint8_t category;
    struct trace_text name; /* of one of the two stats */
    struct stats_row a, b;  /* sums of the rows; count is 0 where there is none */
    enum diff_verdict verdict;
};

struct diff {
    enum diff_metric metric;
    uint64_t threshold; /* growth that is tolerated, in thousandths of a percent */
    struct diff_row *rows;
    uint32_t count, slower;
};

/* What b is, held against a. */
enum diff_verdict diff_judge(const struct diff *diff, uint64_t a, uint64_t b);
uint64_t diff_value(const struct stats_row *row, enum diff_metric metric);

/* metric and threshold are set. Rows come with what grew most in total first. Both stats must
 * outlive the diff. False when out of memory. */
bool diff_make(struct diff *diff, const struct stats *a, const struct stats *b);
void diff_free(struct diff *diff);

#endif /* STATS_DIFF_H */
