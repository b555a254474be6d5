/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sqlite_database.h - a database being made: what its parts share.
 *
 * export_sqlite.c has what every trace has, sqlite_tables.c a program's own
 * tables and the values of both.
 */
#ifndef SQLITE_DATABASE_H
#define SQLITE_DATABASE_H

#include "span_columns.h"

#include <sqlite3.h>

enum { SQLITE_STATEMENTS_MAX = 16 };

struct database {
    struct trace_pass *pass;
    const char *path;
    char *tmp; /* name while it is built */
    sqlite3 *db;
    sqlite3_stmt *inserts[SQLITE_STATEMENTS_MAX];
    const struct span_column *span_columns[SPAN_COLUMNS_MAX];
    int span_column_count;
    struct sqlite_table *tables;       /* a program's own */
    struct sqlite_table_place *places; /* by the trace's number of a table */
    uint32_t table_count, table_room, place_room;
    bool failed;
};

/* sqlite_*.sql: before anything is put in; behind it, before and after track_busy. */
extern const char sqlite_tables[], sqlite_span_views[], sqlite_views[];

/* A message is given for the first one. */
void sqlite_fail(struct database *database, const char *why);

/* One row: its values in the order of the columns. */
struct sqlite_row {
    struct database *database;
    sqlite3_stmt *insert;
    int column;
};
void sqlite_number(struct sqlite_row *row, int64_t value);
void sqlite_number_or_null(struct sqlite_row *row, bool there, int64_t value);
/* What INTEGER does not hold is a real number. */
void sqlite_unsigned(struct sqlite_row *row, uint64_t value);
/* NaN is a text: SQLite would store NULL. */
void sqlite_real(struct sqlite_row *row, double value);
void sqlite_text(struct sqlite_row *row, struct trace_text value);
void sqlite_text_or_null(struct sqlite_row *row, struct trace_text value, bool is_command);
void sqlite_end_row(struct sqlite_row *row);

/* ---- a program's own tables ---------------------------------------------------------- */

/* A column's line in table_column. */
void sqlite_put_column(struct database *database, const struct rbwp_schema *schema,
                       const char *sql_table, uint32_t column, const char *sql_column);

/* Of the sink. */
void sqlite_take_table(void *context, const struct trace_table *table);
void sqlite_take_rows(void *context, const struct trace_rows *rows);
void sqlite_tables_free(struct database *database);

#endif /* SQLITE_DATABASE_H */
