/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_tables.h - what kernels noted, as rows of a profile's tables (SPEC.md, section 9.3).
 */
#ifndef KERNEL_TABLES_H
#define KERNEL_TABLES_H

#include "known_tables.h"
#include "rbwp_events.h"
#include "rbwp_lanes.h"

#define KERNEL_SM_UNKNOWN UINT64_MAX

extern const struct rbwp_schema kernel_lane_schema, kernel_event_schema; /* table: 0 */

/* What rows of one launch share, and how their times get onto the session's axis. */
struct kernel_place {
    uint64_t processor, launch;
    int64_t shift_ns; /* to be added to times */
    uint64_t bound_ns;
};

/* The cells of a row; group and event: numbers of names. Not of RBWP_LANE_STRAY_END. */
void kernel_lane_cells(const struct kernel_place *place, const struct rbwp_lane_span *span,
                       uint64_t group, uint64_t event, uint64_t cells[COLUMNS_lane_span]);
void kernel_event_cells(const struct kernel_place *place, const struct rbwp_device_event *event,
                        uint64_t name, uint64_t cells[COLUMNS_device_event]);

#endif /* KERNEL_TABLES_H */
