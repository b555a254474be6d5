/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stats_tables.h - the sums as result tables (result_table.h): what their columns are called, how
 * they are shown, merged and kept. Rows are of what struct stats holds, which is `all` of them.
 */
#ifndef STATS_TABLES_H
#define STATS_TABLES_H

#include "stats.h"

/* ---- sums of nodes --------------------------------------------------------------------------- */
/*
 * How busy each process of a job was, and how even that is.
 *
 * A process is as busy as its workers: their busy time over the run of all, times their number. Who
 * is busiest holds the others up, if they wait for it; the imbalance is how many times as busy as
 * the mean it is.
 */

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

enum { STATS_TRACKS_SHOWN = 1000, STATS_KERNELS_SHOWN = 100, STATS_LINES_SHOWN = 20 };

/* Of single structs. */
extern const struct result_column stats_columns[], stats_process_columns[], stats_track_columns[],
    stats_launch_columns[], stats_row_columns[], stats_call_columns[], stats_loss_columns[],
    stats_values_columns[], stats_nodes_columns[], stats_counter_columns[];

extern const struct result_table stats_open_table, stats_findings_table, stats_values_table,
    stats_work_items_table, stats_queued_table, stats_sub_items_table, stats_gpu_work_table,
    stats_nodes_table, stats_threads_table, stats_gpus_table, stats_launches_table,
    stats_kernels_table, stats_groups_table, stats_overlaps_table, stats_kernel_lines_table,
    stats_lines_table, stats_ranges_table, stats_gpu_ranges_table, stats_other_tracks_table,
    stats_counters_table, stats_messages_table, stats_longest_table, stats_losses_table;

#endif /* STATS_TABLES_H */
