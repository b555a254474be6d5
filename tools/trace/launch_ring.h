/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch_ring.h - the last calls of a slot, and which of them had begun last at a time.
 *
 * Calls of one slot on several threads come in the order of their blocks, not of time: hence all
 * that are kept count. Those of a block ascend, so of each part of the ring is known what its calls
 * lie between and where one block ends and the next begins, and few are looked at one by one.
 */
#ifndef LAUNCH_RING_H
#define LAUNCH_RING_H

#include <stdint.h>

enum {
    LAUNCH_RING_CALLS = 4096,
    LAUNCH_RING_PART = 32,
    LAUNCH_RING_PARTS = LAUNCH_RING_CALLS / LAUNCH_RING_PART
};
#define LAUNCH_RING_NONE UINT32_MAX

/* Zero is empty. */
struct launch_ring {
    int64_t begin_ns[LAUNCH_RING_CALLS];
    uint32_t tracks[LAUNCH_RING_CALLS];
    /* Of parts that were filled to their end. turn: where the one call is that is earlier than the
     * one before, LAUNCH_RING_PART if all ascend, 0 if there are several. */
    int64_t least_ns[LAUNCH_RING_PARTS], most_ns[LAUNCH_RING_PARTS];
    uint8_t turn[LAUNCH_RING_PARTS];
    uint64_t count;
    uint32_t found; /* the part of the answer before */
};

void launch_ring_sum_up(struct launch_ring *ring, uint32_t part);

static inline void launch_ring_add(struct launch_ring *ring, int64_t begin_ns, uint32_t track)
{
    uint32_t at = (uint32_t)(ring->count++ % LAUNCH_RING_CALLS);
    ring->begin_ns[at] = begin_ns;
    ring->tracks[at] = track;
    if (at % LAUNCH_RING_PART == LAUNCH_RING_PART - 1)
        launch_ring_sum_up(ring, at / LAUNCH_RING_PART);
}

/* Where the call is that began last of those that had begun by time_ns; of several that began at
 * the same time the first place. LAUNCH_RING_NONE: none had. */
uint32_t launch_ring_find(struct launch_ring *ring, int64_t time_ns);

#endif /* LAUNCH_RING_H */
