/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lane_layout.h - where the records of a buffer of lanes lie.
 */
#ifndef LANE_LAYOUT_H
#define LANE_LAYOUT_H

#include "rbwp_lanes.h"

/* A layout that was found, all of it known but for what 0 stands for in the anchors and the grid.
 */
struct lane_slots {
    struct rbwp_lanes_layout layout; /* max_records 0: as many as there are */
    const uint8_t *records;          /* the first slot */
    uint64_t count;                  /* slots, as many as there are whole */
    uint64_t lanes;                  /* blocks * groups */
    uint32_t record_bytes;           /* 8 or 16 */
    bool cut;                        /* the header says that there are more */
};

RBWP_MUST_USE enum rbwp_status lane_slots_find(struct lane_slots *slots, const void *buffer,
                                               size_t bytes, const struct rbwp_lanes_layout *wanted,
                                               struct rbwp_error *error);

#endif /* LANE_LAYOUT_H */
