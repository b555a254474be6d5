/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resync.h - find the next whole block behind damage (SPEC.md, section 8).
 */
#ifndef RESYNC_H
#define RESYNC_H

#include "block.h"
#include "source.h"

struct resync {
    uint64_t spent; /* work on places that were no block, over the life of the reader */
};

/* Where to look. */
struct resync_range {
    uint64_t from, end; /* end is UINT64_MAX if only the source knows */
    uint64_t block_end; /* where the damaged block ends by its own header; 0 = not known */
};

/*
 * Finds the first place in the range where a block is. RBWP_OK and its offset; RBWP_END and where
 * the range or the data end; RBWP_E_LIMIT when the search was given up, and where; RBWP_E_IO,
 * RBWP_E_MEMORY.
 */
enum rbwp_status resync_find(struct resync *resync, struct source *source,
                             struct block_decoder *decoder, struct resync_range range,
                             uint64_t *offset_out, struct rbwp_error *error);

#endif /* RESYNC_H */
