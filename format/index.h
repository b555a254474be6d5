/* SPDX-License-Identifier: Apache-2.0 */
/* index.h - the writer's block index: a bounded number of ranges of whole blocks. */
#ifndef INDEX_H
#define INDEX_H

#include "rbwp_format.h"

#define INDEX_RANGES_MAX 4096u

struct block_index {
    struct rbwp_index_range *ranges; /* INDEX_RANGES_MAX of them */
    uint32_t count;
    uint32_t blocks_per_range; /* new blocks join the last range until it has so many */
};

enum rbwp_status index_init(struct block_index *index);
void index_free(struct block_index *index);

/* Adds the block behind all others, as a range of its own. */
void index_add(struct block_index *index, const struct rbwp_index_range *block);

/* Joins b to a, which it follows. Also what the verifier compares the ranges of a file with. */
void index_join(struct rbwp_index_range *a, const struct rbwp_index_range *b);

#endif /* INDEX_H */
