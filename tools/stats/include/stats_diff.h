/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stats_diff.h - two traces' sums beside each other, or those of several runs a side: spans, how
 * long work waited from its launch to its start, by GPU, and the values of counters.
 *
 * Tracks are matched by name; those of one run that have it in common are one. What only one side
 * has is not compared, but for spans.
 */
#ifndef STATS_DIFF_H
#define STATS_DIFF_H

#include "result_print.h"
#include "stats.h"

/* ---- whether the runs of two sides were made by turns ---------------------------------------- */
/*
 * What else a machine does, and how warm it is, changes over minutes. Where all runs of one side
 * were made before those of the other, such a drift looks like a change of the program. By turns
 * are runs that, in the order of their beginnings, change sides at least half as often as the side
 * with fewer has runs, and of which neither side mostly came first: no more than three quarters of
 * the pairs of runs are in one order.
 */

/* Unknown: a run does not say when it began (in ns since 1970), or each side has one. */
enum turns { TURNS_UNKNOWN, TURNS_NOT_TAKEN, TURNS_TAKEN, TURNS_WORDS };
extern const char *const turns_name[TURNS_WORDS];

/* Of runs of a, then of b. */
enum turns turns_of(const int64_t *began_ns, uint32_t a, uint32_t b);

enum { DIFF_RUNS_MAX = 64 }; /* of a side */

/* The last three are a mean, too. */
enum diff_metric {
    DIFF_NET, /* the mean less the time runnable; of a row of which that is not known the mean */
    DIFF_MEAN,
    DIFF_P50,
    DIFF_P99,
    DIFF_TOTAL,
    DIFF_RUNNING,
    DIFF_RUNNABLE,
    DIFF_WAITING,
    DIFF_METRICS
};
extern const char *const diff_metric_name[DIFF_METRICS];

/* Of counters more is not worse. */
enum diff_verdict {
    DIFF_SLOWER,
    DIFF_FASTER,
    DIFF_SAME,
    DIFF_NEW,
    DIFF_GONE,
    DIFF_MORE,
    DIFF_LESS,
    DIFF_VERDICTS
};
extern const char *const diff_verdict_name[DIFF_VERDICTS];

/* What one run has of a row. */
struct diff_run {
    uint64_t value, total_ns; /* value: by the metric */
    uint64_t count;           /* 0: it has none, nor a value */
    uint64_t mean_ns;
    bool knows_net; /* whether its calls were ready to run is known of nearly all of their time */
};
/* Of the runs of a side that have the row. */
struct diff_side {
    struct diff_run median; /* each of its own */
    uint64_t least, greatest;
};

struct diff_row {
    enum diff_verdict verdict; /* first: of each kind of row */
    uint8_t category;
    struct trace_text name; /* of one of the stats */
    struct stats_row a, b;  /* sums of the rows of all runs; count is 0 where there is none */
    enum diff_metric by;    /* as wanted, but for net that some run does not know */
    struct diff_side of_a, of_b;
    struct diff_run *runs; /* of a, then of b */
    double spread;    /* the greatest value less the least, by the median, of the less even side */
    double seen_from; /* the least growth that would have been a verdict; 0: none would */
    bool noisy;       /* same, though beyond the threshold: chance does that as well */
    bool few;         /* same, since there are too few spans to say more */
    /* By net: medians of the means, and whether these alone say that it is slower. No verdict. */
    uint64_t mean_a_ns, mean_b_ns;
    bool slower_by_mean;
};

struct launch_diff {
    enum diff_verdict verdict;
    bool noisy;
    struct trace_text name;
    struct launch_sums a, b;   /* of all runs of a side; without bounds */
    uint64_t a_value, b_value; /* what is compared, the median of the runs */
};

/* A value holds until the next one; the mean is over time. */
struct counter_side {
    uint64_t count;
    double min, max, last;
    double area, length_ns;
};

struct counter_diff {
    enum diff_verdict verdict; /* by the mean */
    bool noisy;
    struct trace_text name, unit;
    struct counter_side a, b; /* of all runs of a side */
    double a_mean, b_mean;    /* the median of the runs */
};

struct diff {
    enum diff_metric metric; /* as wanted; the mean after all where net is known of no row */
    uint32_t means;          /* rows of both sides, by mean since net is not known */
    uint64_t threshold;      /* growth that is tolerated, in thousandths of a percent */
    uint64_t min_count;      /* spans that both sides must have, all runs together, to be judged */
    uint32_t a_runs, b_runs;
    struct diff_run *runs;
    struct diff_row *rows;
    struct launch_diff *launches;
    struct counter_diff *counters;
    uint32_t count, launch_count, counter_count;
    uint32_t slower; /* rows and launches */
    /* Of all comparisons together no more than this part may find something by chance. */
    double error_rate;
    uint32_t comparisons; /* rows and launches that both sides have */
    uint32_t runs_needed; /* of a side, for a verdict */
    bool judged;          /* there are so many: else what is slower may be so by chance */
    bool failed;          /* without memory */
    enum turns turns;     /* not taken: what is slower may be so by a drift of the machine */
};

#define DIFF_ERROR_RATE 0.01

double counter_side_mean(const struct counter_side *side);

/* metric, threshold, min_count and the numbers of runs, one at least, are set. stats: of the runs
 * of a, then of b; they must outlive the diff. Rows come with what grew most in total first. False
 * when out of memory. */
bool diff_make(struct diff *diff, const struct stats *const *stats);
void diff_free(struct diff *diff);

/* all: rows that are the same, too; else they are counted. */
void diff_text(struct out *out, const struct diff *diff, bool all, struct colors colors);
/* A test case a row or launch, in JUnit's XML: what was not judged is skipped. */
void diff_junit(struct out *out, const struct diff *diff);
/* The document. */
extern const struct result_column diff_columns[];

#endif /* STATS_DIFF_H */
