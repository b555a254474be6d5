/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_columns.h - the columns of the tables of GPUs (SPEC.md, section 9.3), for those who write
 * them: the recorder that reaps, the collector in programs nobody changed, and the tools that make
 * a profile of what probes left. A writer takes those up to the last one that it fills; each
 * version of gpu_activity has the columns of the one before, and more.
 */
#ifndef GPU_COLUMNS_H
#define GPU_COLUMNS_H

#include "rbwp_table.h"

/* clang-format off */
#define GPU_ACTIVITY_LAUNCH_COLUMNS                                                                \
    RBWP_COLUMN(TIME, START, "start", ""),                                                         \
    RBWP_COLUMN(TIME, STOP, "stop", ""),                                                           \
    RBWP_COLUMN(U64, TRACK, "processor", ""),                                                      \
    RBWP_COLUMN(U64, NONE, "stream", ""),                                                          \
    RBWP_COLUMN(U64, THREAD, "thread", ""),                                                        \
    RBWP_COLUMN(U64, NONE, "slot", ""),                                                            \
    RBWP_COLUMN(TIME, NONE, "begin", ""),                                                          \
    RBWP_COLUMN(TIME, NONE, "end", ""),                                                            \
    RBWP_COLUMN(DURATION, START_BOUND, "start_bound", ""),                                         \
    RBWP_COLUMN(DURATION, STOP_BOUND, "stop_bound", ""),                                           \
    RBWP_COLUMN(NAME, LABEL, "name", ""),                                                          \
    RBWP_COLUMN(U64, NONE, "correlation", "")
#define GPU_ACTIVITY_COLUMNS_2                                                                     \
    GPU_ACTIVITY_LAUNCH_COLUMNS,                                                                   \
    RBWP_COLUMN(DURATION, NONE, "launching", ""),                                                  \
    RBWP_COLUMN(U64, NONE, "idle", ""),                                                            \
    RBWP_COLUMN(U64, NONE, "range", "")
#define GPU_ACTIVITY_COLUMNS_3                                                                     \
    GPU_ACTIVITY_COLUMNS_2,                                                                        \
    RBWP_COLUMN(U64, NONE, "kind", ""),                                                            \
    RBWP_COLUMN(U64, NONE, "bytes", "bytes"),                                                      \
    RBWP_COLUMN(U64, NONE, "graph_node", ""),                                                      \
    RBWP_COLUMN(U64, NONE, "shape", "")
#define GPU_ACTIVITY_COLUMNS_4                                                                     \
    GPU_ACTIVITY_COLUMNS_3,                                                                        \
    RBWP_COLUMN(NAME, NONE, "call", "")

#define GPU_DEVICE_COLUMNS                                                                         \
    RBWP_COLUMN(U64, ID, "processor", ""),                                                         \
    RBWP_COLUMN(NAME, LABEL, "name", ""),                                                          \
    RBWP_COLUMN(U64, NONE, "api", ""),                                                             \
    RBWP_COLUMN(U64, NONE, "rounds", ""),                                                          \
    RBWP_COLUMN(I64, NONE, "bias", "ns"),                                                          \
    RBWP_COLUMN(U64, NONE, "bias_spread", "ns"),                                                   \
    RBWP_COLUMN(U64, NONE, "idle_rounds", ""),                                                     \
    RBWP_COLUMN(I64, NONE, "idle_bias", "ns"),                                                     \
    RBWP_COLUMN(U64, NONE, "idle_bias_spread", "ns"),                                              \
    RBWP_COLUMN(U64, NONE, "multiprocessors", ""),                                                 \
    RBWP_COLUMN(U64, NONE, "memory", "bytes")
/* clang-format on */

#endif /* GPU_COLUMNS_H */
