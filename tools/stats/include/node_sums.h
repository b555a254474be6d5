/* SPDX-License-Identifier: Apache-2.0 */
/*
 * node_sums.h - how busy each process of a job was, and how even that is.
 *
 * A process is as busy as its workers: their busy time over the run of all, times their number. Who
 * is busiest holds the others up, if they wait for it; the imbalance is how many times as busy as
 * the mean it is.
 */
#ifndef NODE_SUMS_H
#define NODE_SUMS_H

#include "stats.h"

struct node_sum {
    uint32_t process; /* number */
    uint32_t node, workers;
    uint64_t busy_ns, calls, longest_gap_ns, lost_records;
    double share; /* 0 to 1 */
};

struct node_sums {
    struct node_sum *list; /* by node, then by number of process; only those with workers */
    uint32_t count;
    double mean, imbalance; /* of shares; 0 without */
};

/* False without memory. */
bool node_sums_make(struct node_sums *sums, const struct stats *stats);
/* By share, the busiest first. */
void node_sums_order(struct node_sums *sums);
void node_sums_free(struct node_sums *sums);

/* How busy its workers were in one of so many equal parts of the run, 0 to 1. */
double node_share_at(const struct stats *stats, const struct node_sum *node, uint32_t part,
                     uint32_t parts);

#endif /* NODE_SUMS_H */
