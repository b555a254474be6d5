/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row_block.h - rows, column by column, as a finished block (SPEC.md, section 9.2).
 *
 * For who keeps the rows himself until they become a block; the row encoder (rbwp_table.h) is built
 * upon it. After init nothing is allocated.
 */
#ifndef ROW_BLOCK_H
#define ROW_BLOCK_H

#include "rbwp_table.h"

struct deflater;

/* Memory for one block at a time. Zeros are a valid start. */
struct row_block {
    uint8_t *data;   /* header and data of a block, uncompressed */
    uint8_t *sealed; /* the same, compressed; NULL: never */
    struct deflater *deflate;
};

/* The most that a block's data can come to, not counting bytes of cells that are bytes. */
uint64_t row_block_data_max(uint32_t columns, uint32_t rows);

/* For blocks of so many bytes of data. RBWP_E_MEMORY. Free it in each case. */
enum rbwp_status row_block_init(struct row_block *block, uint64_t data_bytes, bool compress);
void row_block_free(struct row_block *block);

/* Rows of one table, by column; at least one. */
struct row_batch {
    const struct rbwp_schema *schema;
    const uint64_t *const *cells; /* read more than once: nobody may change them meanwhile */
    const uint8_t *bytes;         /* what cells of columns of bytes refer to; NULL without such */
    uint32_t rows;
    uint64_t thread_id; /* that made them, 0 = several */
    uint64_t first_row; /* the number of the first */
};
/* *sealed_out is valid until the next call. */
void row_block_seal(struct row_block *block, const struct row_batch *batch,
                    struct rbwp_sealed_block *sealed_out);

#endif /* ROW_BLOCK_H */
