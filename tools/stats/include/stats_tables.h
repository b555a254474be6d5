/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stats_tables.h - the sums as result tables (result_table.h): what their columns are called, how
 * they are shown, merged and kept. Rows are of what struct stats holds, which is `all` of them.
 */
#ifndef STATS_TABLES_H
#define STATS_TABLES_H

#include "node_sums.h"
#include "result_table.h"
#include "stats.h"

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
