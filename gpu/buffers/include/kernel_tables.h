/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_tables.h - what kernels noted, as rows of a profile's tables (SPEC.md, section 9.3).
 */
#ifndef KERNEL_TABLES_H
#define KERNEL_TABLES_H

#include "rbwp_events.h"
#include "rbwp_lanes.h"
#include "rbwp_table.h"

enum kernel_lane_column {
    KERNEL_LANE_START,
    KERNEL_LANE_STOP,
    KERNEL_LANE_PROCESSOR,
    KERNEL_LANE_LAUNCH,
    KERNEL_LANE_BLOCK,
    KERNEL_LANE_GROUP,
    KERNEL_LANE_SM,
    KERNEL_LANE_EVENT,
    KERNEL_LANE_KIND,
    KERNEL_LANE_BOUND,
    KERNEL_LANE_COLUMNS
};
#define KERNEL_SM_UNKNOWN UINT64_MAX

enum kernel_event_column {
    KERNEL_EVENT_START,
    KERNEL_EVENT_STOP,
    KERNEL_EVENT_RANK,
    KERNEL_EVENT_PROCESSOR,
    KERNEL_EVENT_LAUNCH,
    KERNEL_EVENT_EVENT,
    KERNEL_EVENT_PROGRAM,
    KERNEL_EVENT_PID_M,
    KERNEL_EVENT_PID_N,
    KERNEL_EVENT_TARGET_RANK,
    KERNEL_EVENT_XCC,
    KERNEL_EVENT_CU,
    KERNEL_EVENT_ADDRESS,
    KERNEL_EVENT_OP,
    KERNEL_EVENT_BYTES,
    KERNEL_EVENT_BOUND,
    KERNEL_EVENT_COLUMNS
};

extern const struct rbwp_schema kernel_lane_schema, kernel_event_schema; /* table: 0 */

/* What rows of one launch share, and how their times get onto the session's axis. */
struct kernel_place {
    uint64_t processor, launch;
    int64_t shift_ns; /* to be added to times */
    uint64_t bound_ns;
};

/* The cells of a row; group and event: numbers of names. Not of RBWP_LANE_STRAY_END. */
void kernel_lane_cells(const struct kernel_place *place, const struct rbwp_lane_span *span,
                       uint64_t group, uint64_t event, uint64_t cells[KERNEL_LANE_COLUMNS]);
void kernel_event_cells(const struct kernel_place *place, const struct rbwp_device_event *event,
                        uint64_t name, uint64_t cells[KERNEL_EVENT_COLUMNS]);

#endif /* KERNEL_TABLES_H */
