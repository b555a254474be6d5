/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ptx_timing.h - when the records of a launch were made, by the host's clock.
 *
 * A lane of wide cells has one pair of globaltimer and clock, and a globaltimer for each record, so
 * its clock is laid through them: records keep their order and length, and how far the line is from
 * the timer is in the bound. A lane of compat cells has a clock alone: it is taken to begin with
 * the kernel, and could begin as much later as it is shorter. Anchors lead from the globaltimer to
 * the host; without them, or where they contradict the launch, the kernel may have run at any time
 * between the launch and its end as the host saw them.
 */
#ifndef PTX_TIMING_H
#define PTX_TIMING_H

#include "ptx_walk.h"

struct ptx_timing {
    int64_t low_ns, high_ns;    /* the host's: it ran between them */
    int64_t start_ns, stop_ns;  /* the device's, of the kernel */
    struct ptx_anchor from, to; /* the host's of the device's are between these */
    bool anchored;
    double cycles_per_ns;
    uint64_t bound_ns; /* of the kernel's times */
    const struct ptx_matrix *matrix;
};

/* matrix: NULL where there is none. launch_ns is not after done_ns. */
void ptx_timing_find(struct ptx_timing *timing, const struct ptx_launch *launch,
                     const struct ptx_matrix *matrix);

/* The host's time of the device's, not outside of the launch. */
int64_t ptx_timing_host(const struct ptx_timing *timing, int64_t device_ns);

/* How the clock of a lane runs. */
struct ptx_lane_timing {
    uint64_t clock;
    int64_t device_ns; /* at that clock */
    double cycles_per_ns;
    uint64_t bound_ns; /* of the records' times */
};
/* rows: of the lane; at least one of them has a start. */
void ptx_timing_lane(const struct ptx_timing *timing, uint32_t lane, struct ptx_lane_timing *out);
/* The host's time of a lane's clock. */
int64_t ptx_timing_at(const struct ptx_timing *timing, const struct ptx_lane_timing *lane,
                      uint64_t clock);

#endif /* PTX_TIMING_H */
