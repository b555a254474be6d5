/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parquet_tables.h - tables whose schema says not how to show them, each as a Parquet file.
 *
 * Beside OUT.parquet is OUT.NAME.parquet, with the process and the row's number before
 * the table's own columns. A row group is a block of the file, so nothing is kept.
 */
#ifndef PARQUET_TABLES_H
#define PARQUET_TABLES_H

#include "parquet_file.h"
#include "thread_map.h"
#include "trace_pass.h"

enum { PARQUET_TABLES_MAX = 64 }; /* files open at once; rows of more are left out */

/* Zero is none. */
struct parquet_tables {
    struct trace_pass *pass;
    struct parquet_table *tables; /* by the trace's number of a table */
    uint32_t count, open;
    int64_t *values, *there; /* of a column of a block */
    uint32_t *places;
    struct trace_text *texts;
    uint32_t value_room, there_room, place_room, text_room;
    struct parquet_bytes repaired;
    uint64_t left_out; /* rows */
    bool failed;       /* the user was told */
};

void parquet_tables_add(struct parquet_tables *tables, const struct trace_table *table);
void parquet_tables_take(struct parquet_tables *tables, const struct trace_rows *rows);
/* Finishes the files. EXIT_GOOD, or EXIT_PARTLY if one of them is not whole. */
enum exit_code parquet_tables_finish(struct parquet_tables *tables);

#endif /* PARQUET_TABLES_H */
