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

#include "stats_diff.h"

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
