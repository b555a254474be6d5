/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_parts.h - the tables of a file in its parts.
 *
 * Each part has all schemas and names, and of the rows those that belong to it,
 * in their order, numbered anew from 1. A cell that names a row (type 7) has the new number
 * of that row, or 0 where the part does not have it.
 *
 * The encoder of one table serves all parts: a block of the original gives at least one block in
 * each part that it has rows for.
 */
#ifndef TABLE_PARTS_H
#define TABLE_PARTS_H

#include "input.h"
#include "rbwp_table.h"

struct part_file;
struct kept_block;

/* Rows of one table in one part: what the numbers of the original have become. */
struct part_table {
    uint64_t rows;
    struct row_run *runs; /* ascending */
    uint32_t run_count, run_room;
};

/* Of one part. Zeros are a valid start. */
struct part_tables {
    uint32_t blocks_written;   /* schemas and names of the original */
    struct part_table *tables; /* by number of the table, see below */
    uint32_t table_room;
};
void part_tables_free(struct part_tables *tables);

/* The part that a row belongs to: its number in *part_out. False: none, or nothing goes on. */
typedef bool table_place_fn(void *context, uint64_t thread_id, const int64_t *time_ns,
                            uint32_t *part_out);
/* That part. NULL: nothing goes on; that was told. */
typedef struct part_file *table_part_fn(void *context, uint32_t part);

struct table_parts {
    struct input *input;
    struct rbwp_catalog *catalog;
    struct kept_block *kept; /* schemas and names, as they came */
    uint32_t kept_count, kept_room;
    uint16_t *numbers; /* by table: the how many-th it is that has rows; 0 none yet */
    uint16_t number_count;
    struct row_to *rows; /* of a block: which part each goes to */
    uint32_t row_room;
    struct rbwp_row_encoder *encoder; /* of `encoded` */
    const struct rbwp_schema *encoded;
    uint64_t broken; /* blocks left out */
    table_place_fn *place;
    table_part_fn *part;
    void *context;
};

/* False without memory. */
bool table_parts_start(struct table_parts *parts, struct input *input, table_place_fn *place,
                       table_part_fn *part, void *context);
void table_parts_stop(struct table_parts *parts);

/* Takes a block without records. *taken_out: it is one of a table. False: nothing goes on; that
 * was told. */
bool table_parts_take(struct table_parts *parts, const struct rbwp_block *block, bool *taken_out);
/* Before a part ends: schemas and names that it has not. False: nothing goes on; that was told. */
bool table_parts_end(struct table_parts *parts, struct part_file *part);

#endif /* TABLE_PARTS_H */
