/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tracks_diff.h - what tracks of two traces have beside spans, side by side: how long work waited
 * from its launch to its start, by GPU, and the values of counters.
 *
 * Tracks are matched by name; those of one run that have it in common are one. What only one side
 * has is not compared.
 */
#ifndef TRACKS_DIFF_H
#define TRACKS_DIFF_H

#include "stats.h"
#include "terminal.h"

/* ---- two traces' sums beside each other, or those of several runs a side --------------------- */

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

/* metric, threshold, min_count and the numbers of runs, one at least, are set. stats: of the runs
 * of a, then of b; they must outlive the diff. Rows come with what grew most in total first. False
 * when out of memory. */
bool diff_make(struct diff *diff, const struct stats *const *stats);
void diff_free(struct diff *diff);

/* ---- tracks diff ----------------------------------------------------------------------------- */

struct launch_diff {
    struct trace_text name;
    struct launch_sums a, b;   /* of all runs of a side; bounds are left out */
    uint64_t a_value, b_value; /* what is compared, the median of the runs */
    bool noisy;                /* differs, but runs of both sides lie among each other: the same */
    enum diff_verdict verdict;
};

/* A value holds until the next one; the mean is over time. */
struct counter_side {
    uint64_t count;
    double min, max, last;
    double area, length_ns;
};
enum counter_verdict { COUNTER_MORE, COUNTER_LESS, COUNTER_SAME };
extern const char *const counter_verdict_name[];

struct counter_diff {
    struct trace_text name, unit;
    struct counter_side a, b; /* of all runs of a side */
    double a_mean, b_mean;    /* the median of the runs */
    bool noisy;
    enum counter_verdict verdict; /* by the mean: more is not worse */
};

struct tracks_diff {
    struct launch_diff *launches;
    struct counter_diff *counters;
    uint32_t launch_count, counter_count;
    uint32_t slower; /* launches */
};

uint64_t launch_diff_value(const struct launch_sums *side, enum diff_metric metric);
double counter_side_mean(const struct counter_side *side);

/* Measured and judged as the spans' diff is, stats as it has them, which must outlive it. False
 * when out of memory. */
bool tracks_diff_make(struct tracks_diff *made, const struct diff *diff,
                      const struct stats *const *stats);
void tracks_diff_free(struct tracks_diff *made);

#endif /* TRACKS_DIFF_H */
