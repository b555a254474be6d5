/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recover_rows.h - rows of tables that only the live file has, into the result.
 *
 * Is shown the blocks of FILE that are kept, so that it knows which schemas, names and rows are
 * there already; adds what the rows of a chunk need, and the rows.
 */
#ifndef RECOVER_ROWS_H
#define RECOVER_ROWS_H

#include "live_file.h"
#include "live_log.h"
#include "row_block.h"

/* Zeros are a valid start. */
struct recover_rows {
    const struct live_tables *tables;
    const struct live_clock *clock; /* has a sample where there is a chunk */
    struct rbwp_writer *writer;
    size_t chunk_words;
    struct rbwp_catalog *catalog; /* of FILE */
    uint64_t *last_row;           /* in the result, by table */
    bool *has_schema;             /* the same */
    uint64_t last_name;           /* the same */
    bool names_done;              /* those of the live file are in it */
    struct row_block block;
    uint64_t *cells;
};
void recover_rows_free(struct recover_rows *rows);

/* A block of FILE that is kept. RBWP_E_MEMORY. */
enum rbwp_status recover_rows_note(struct recover_rows *rows, const struct rbwp_block *block);

/* The blocks of FILE are done; chunks have so many words. */
void recover_rows_begin(struct recover_rows *rows, const struct live_tables *tables,
                        const struct live_clock *clock, size_t chunk_words,
                        struct rbwp_writer *writer);

/* What a block of rows needs before it, which is copied as it is: so many rows from first_row on.
 * *usable_out: its table is known, and the rows come behind those in the result. As
 * rbwp_writer_add_block; RBWP_E_MEMORY. */
enum rbwp_status recover_rows_precede(struct recover_rows *rows, uint32_t table, uint64_t first_row,
                                      uint32_t count, bool *usable_out);

/*
 * The rows of a chunk, count words of them, behind all that is in the result. *damaged_out: some or
 * all of them cannot be rows of a table that is known. *rows_out are those that were written. As
 * rbwp_writer_add_block; RBWP_E_MEMORY.
 */
enum rbwp_status recover_rows_add(struct recover_rows *rows, const struct live_chunk *chunk,
                                  const uint64_t *words, size_t count, uint64_t *rows_out,
                                  bool *damaged_out);

#endif /* RECOVER_ROWS_H */
