/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stats_diff.h - two traces' sums beside each other, or those of several runs a side.
 *
 * Rows are matched by category and name: slots and ids may differ from run to
 * run. Rows of one trace that have both in common are one. Of several runs of a side
 * the median counts, and where runs of both sides lie among each other nothing is said to
 * have changed.
 */
#ifndef STATS_DIFF_H
#define STATS_DIFF_H

#include "stats.h"
#include "terminal.h"

enum { DIFF_RUNS_MAX = 64 }; /* of a side */

enum diff_metric { DIFF_MEAN, DIFF_P50, DIFF_P99, DIFF_TOTAL, DIFF_METRICS };
extern const char *const diff_metric_name[DIFF_METRICS];

enum diff_verdict { DIFF_SLOWER, DIFF_FASTER, DIFF_SAME, DIFF_NEW, DIFF_GONE };
extern const char *const diff_verdict_name[];

/* What one run has of a row. */
struct diff_run {
    uint64_t value, total_ns; /* value: by the metric */
    uint64_t count;           /* 0: it has none, nor a value */
};
/* Of the runs of a side that have the row. */
struct diff_side {
    struct diff_run median; /* each of its own */
    uint64_t least, greatest;
};

struct diff_row {
    uint8_t category;
    struct trace_text name; /* of one of the stats */
    struct stats_row a, b;  /* sums of the rows of all runs; count is 0 where there is none */
    struct diff_side of_a, of_b;
    const struct diff_run *runs; /* of a, then of b */
    double spread; /* the greatest value less the least, by the median, of the less even side */
    bool noisy;    /* same, though beyond the threshold: runs of both sides lie among each other */
    bool few;      /* same, since there are too few spans to say more */
    enum diff_verdict verdict;
};

struct diff {
    enum diff_metric metric;
    uint64_t threshold; /* growth that is tolerated, in thousandths of a percent */
    uint64_t min_count; /* spans that both sides must have, all runs together, to be judged */
    uint32_t a_runs, b_runs;
    struct diff_run *runs;
    struct diff_row *rows;
    uint32_t count, slower;
};

/* What b is, held against a. */
enum diff_verdict diff_judge(const struct diff *diff, uint64_t a, uint64_t b);
uint64_t diff_value(const struct stats_row *row, enum diff_metric metric);

/* metric, threshold, min_count and the numbers of runs, one at least, are set. stats: of the runs
 * of a, then of b; they must outlive the diff. Rows come with what grew most in total first. False
 * when out of memory. */
bool diff_make(struct diff *diff, const struct stats *const *stats);
void diff_free(struct diff *diff);

#endif /* STATS_DIFF_H */
