/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_rows.h - one block of rows, taken apart and checked against its schema (SPEC.md,
 * section 9.2, R48 and what R49 says of cells).
 */
#ifndef TABLE_ROWS_H
#define TABLE_ROWS_H

#include "rbwp_table.h"

#define ROWS_HEAD_BYTES 40u
#define ROWS_COLUMN_BYTES 8u

/* Smallest and largest time in the columns that are times; 0 and 0 without. */
void rows_times(const struct rbwp_schema *schema, uint32_t column_count,
                const uint64_t *const *cells, uint32_t rows, int64_t *first_ns_out,
                int64_t *last_ns_out);

/* What stands before the columns. */
struct rows_head {
    uint32_t table, rows, column_count;
    uint64_t first_row;
    int64_t first_ns, last_ns;
};
/* The data behind the tag. False if they are too short. */
bool rows_head_decode(const uint8_t *data, size_t count, struct rows_head *head_out);

/* Memory for the cells of a block, used again. Zeros are a valid start. */
struct row_store {
    uint64_t *cells; /* of one column after another */
    size_t room;     /* in cells */
    const uint64_t *column[RBWP_COLUMNS_MAX];
};
void row_store_free(struct row_store *store);
/* Of a column: one cell over another one. */
void row_store_move(struct row_store *store, uint32_t column, uint32_t from, uint32_t to);

/* Decodes the columns into store->column. RBWP_OK, RBWP_E_CORRUPT (R48), RBWP_E_MEMORY. */
enum rbwp_status rows_decode(struct row_store *store, const struct rbwp_schema *schema,
                             const struct rows_head *head, const uint8_t *data, size_t count);

#endif /* TABLE_ROWS_H */
