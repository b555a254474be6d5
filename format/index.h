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

/* ---- tables ---------------------------------------------------------------------------------- */

/*
 * Where the blocks of tables are: a bounded number of ranges of each (SPEC.md, section 10.13).
 *
 * Who writes and who verifies a file look at its blocks in the same way, by what stands at their
 * beginning; whether the rest of a block is right is the catalog's to know.
 */

#define TABLE_RANGES_MAX 4096u
#define TABLE_LOOK_BYTES 36u /* of a block's data */

/*
 * One block as a range, all but its place. begin: the first count bytes of its data; no more than
 * TABLE_LOOK_BYTES are looked at. False: it is no block of a table, or its head cannot be.
 */
bool table_range_of(const struct rbwp_block_header *header, const uint8_t *begin, size_t count,
                    struct rbwp_table_range *range_out);

/* Joins b to a, which it follows in the file; both are of one table. */
void table_range_join(struct rbwp_table_range *a, const struct rbwp_table_range *b);

/* Zeros are a valid start. Nothing is allocated as long as there are no tables. */
struct table_index {
    struct rbwp_table_range *ranges;
    uint16_t *last; /* by table: 1 + the number of its last range; 0 none */
    uint32_t count;
    uint32_t blocks_per_range; /* blocks join the last range of their table until it has so many */
    bool gave_up;              /* no memory, or more tables than ranges: there is no index */
};
void table_index_free(struct table_index *index);

/* Adds a block that stands behind all others. */
void table_index_add(struct table_index *index, const struct rbwp_table_range *block);

#endif /* INDEX_H */
