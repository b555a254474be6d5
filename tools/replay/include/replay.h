/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay.h - a recorded run once more, with one thing changed.
 *
 * Each thread and stream does what it did, in its order: work takes as long as it did, times a
 * factor for some names; what a link led to waits for where the link departed; a gap before a call
 * that no link explains is kept. Calls that were handed over in a queue go to any worker of their
 * pool, the longest queued first: those threads are a pool that took up work of one name. What
 * passed between the time when a call could have begun and its begin passes again.
 *
 * Memory: a span, its two ends, and each link take some 150 bytes together; REPLAY_SPANS at most.
 */
#ifndef REPLAY_H
#define REPLAY_H

#include "critical_walk.h"

enum { REPLAY_SPANS = 1 << 22 };

/* The own time of a name, as it is anywhere or inside of another one. */
struct replay_change {
    uint32_t name, outer; /* outer: TRACE_NONE: anywhere */
    double factor;        /* 0 of a wait: nobody waits there */
};

struct replay_ask {
    const struct replay_change *changes;
    uint32_t change_count;
    uint32_t workers; /* of the pool that was busy longest; 0: as they were */
    double launch;    /* factor of the time from a launch to its work where the stream is free */
};

struct replay {
    /* What is given, from the latest end on. */
    struct replay_span *spans;
    struct replay_link *links;
    uint32_t span_count, span_room, link_count, link_room;
    uint64_t launches; /* of the links */
    bool full, failed; /* too many; without memory */

    /* Made of it. */
    struct replay_op *ops;
    struct replay_job *jobs;
    struct replay_lane *lanes;
    struct replay_kernel *kernels; /* by their end */
    uint32_t op_count, op_room, job_count, job_room, lane_count, lane_room, kernel_count;
    int64_t first_ns, last_ns;
    uint32_t workers, pool; /* of the pool that was busy longest */
};

void replay_add(struct replay *replay, const struct critical_step *step);
/* After the last one. False without memory. */
bool replay_make(struct replay *replay, const struct replay_ask *ask);
/* How long it takes; changed: as asked for. pinned: each call stays on its thread, in its order.
 * False: it comes to no end, or is without memory. */
bool replay_run(const struct replay *replay, const struct replay_ask *ask, bool changed,
                bool pinned, uint64_t *ns_out);
void replay_free(struct replay *replay);

#endif /* REPLAY_H */
