/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block_sweep.h - through the time of one block of a kernel, with all of its groups side by side.
 *
 * Spans come by start, of those that start together the longer one first. What a group does is what
 * its innermost span says: the one that began last of those that are open.
 */
#ifndef BLOCK_SWEEP_H
#define BLOCK_SWEEP_H

#include "inside_kernels.h"

enum { BLOCK_SWEEP_DEPTH = 32 }; /* what is deeper counts as what is around it */

struct block_open {
    int64_t stop_ns;
    bool waits;
};

struct block_sweep {
    struct inside_kernel *kernel; /* NULL: no block is begun */
    int64_t first_ns, now_ns, last_ns;
    uint32_t busy, waiting, present; /* groups, as bits */
    uint32_t depth[INSIDE_GROUPS_MAX];
    struct block_open open[INSIDE_GROUPS_MAX][BLOCK_SWEEP_DEPTH];
};

/* No block is begun before. */
void block_sweep_begin(struct block_sweep *sweep, struct inside_kernel *kernel, int64_t start_ns);
void block_sweep_add(struct block_sweep *sweep, uint32_t group, int64_t start_ns, int64_t stop_ns,
                     bool waits);
/* To the end of the block, if one is begun. */
void block_sweep_end(struct block_sweep *sweep);

#endif /* BLOCK_SWEEP_H */
