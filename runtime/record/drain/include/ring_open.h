/* SPDX-License-Identifier: Apache-2.0 */
/* ring_open.h - what a thread has open between two of its chunks. */
#ifndef RING_OPEN_H
#define RING_OPEN_H

#include "live_layout.h"

struct chunk;
struct shared_timeline;

/* Zeros: nothing. The outermost first; those beyond the room are only counted. */
struct ring_open {
    uint32_t count, deeper;
    struct live_ring_open open[LIVE_RING_OPEN_MAX];
};

/* Moves on behind the events of a published chunk of the thread. True: there are sub-items among
 * them. */
bool ring_open_pass(struct ring_open *open, const struct chunk *chunk,
                    struct shared_timeline *timeline);

#endif /* RING_OPEN_H */
