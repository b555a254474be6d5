/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_bind.h - where a file's schema has the columns of a known table (known_tables.h): by name
 * and type, so that later versions may add some and other writers may leave some out.
 */
#ifndef TABLE_BIND_H
#define TABLE_BIND_H

#include "known_tables.h"

#define TABLE_NO_COLUMN UINT16_MAX

bool table_is(const struct rbwp_schema *schema, enum known_table table);

/* columns: a number for each of the table's, TABLE_NO_COLUMN where the schema lacks it. False: the
 * schema is another table's, and has none of them. */
bool table_bind(const struct rbwp_schema *schema, enum known_table table, uint16_t *columns);

/* The same for rows of one block: the cells of each column, NULL where they lack it. */
bool table_bind_rows(const struct rbwp_rows *rows, enum known_table table, const uint64_t **cells);

/* Of a column that rows may lack: its cells are 0 then. */
static inline uint64_t table_cell(const uint64_t *cells, uint32_t row)
{
    return cells ? cells[row] : 0;
}

/* ---- row place ------------------------------------------------------------------------------- */
/*
 * When and on which thread a row of a table happened, as far as the roles of its
 * columns say.
 */

/* Columns; -1: there is none. */
struct row_place {
    int time;   /* that of the start, or else the first time */
    int thread; /* where rows of a block may be of several threads */
};
struct row_place row_place_of(const struct rbwp_schema *schema);

/* False if the rows have no time. */
bool row_time(const struct row_place *place, const struct rbwp_rows *rows, uint32_t row,
              int64_t *time_ns_out);
/* 0: not known. */
uint64_t row_thread(const struct row_place *place, const struct rbwp_rows *rows, uint32_t row);

#endif /* TABLE_BIND_H */
