/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_columns.h - what a file holds beside its records, as columns.
 *
 * dump and info show it by the same ones. Those of sections and tables of the format follow from
 * the format's own lists of fields (format_fields.h).
 */
#ifndef FILE_COLUMNS_H
#define FILE_COLUMNS_H

#include "file_tables.h"
#include "result_table.h"

/* A file as far as it has been read: of a stream, what stands at its end is not known before. */
struct file_shown {
    const struct input *input;
    const struct file_tables *tables;
    const struct rbwp_file_header *header;
    const struct rbwp_tables *names;
    const struct rbwp_trailer *trailer; /* NULL: there is none */
    const struct rbwp_problem *cut;     /* where it just stops; NULL: nowhere */
    uint64_t bytes, blocks, opaque_blocks, records, problems;
    uint32_t kept_problems; /* of them, those that the reader has */
    bool finalised, valid;
};
struct file_shown file_shown_of(const struct input *input, const struct file_tables *tables,
                                uint64_t opaque_blocks);

/* Of tables, as they are known by now. */
extern const struct result_table file_counted_tables;
struct result_rows file_table_rows(const struct file_shown *file);

/* Rows are of struct file_shown: "file" and "header"; counts of blocks and of tables' rows; and all
 * from "file_size" on. Call file_columns_fill before they are used. */
extern const struct result_column file_head_columns[], file_count_columns[], file_table_columns[],
    file_tail_columns[];
/* Of struct rbwp_block_header, and of an entry of the section with that tag. */
extern struct result_column file_block_columns[RESULT_FIELDS_MAX];
void file_columns_fill(void);

#endif /* FILE_COLUMNS_H */
