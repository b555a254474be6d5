/* SPDX-License-Identifier: Apache-2.0 */
/* result_print.h - result tables as JSON, as CSV, and as text for people. */
#ifndef RESULT_PRINT_H
#define RESULT_PRINT_H

#include "result_table.h"
#include "terminal.h"

/* ---- JSON ------------------------------------------------------------------------------ */

/* "KEY":VALUE,... of a row. */
void result_json_members(struct out *out, const struct result_column *columns,
                         const struct result_at *at);
void result_json_object(struct out *out, const struct result_column *columns,
                        const struct result_at *at);
/* csv: of which of its lists CSV is wanted, by key; of one inside their rows, a line has the cells
 * of both. NULL: an object as JSON, and the end of the line. */
void result_document(struct out *out, const struct result_column *columns, const char *csv,
                     const void *all, const void *row);
/* Whether that is one of them, or nothing is wanted. */
bool result_has_list(const struct result_column *columns, const char *csv);
/* The same of documents that are a line for each row of the first list. keys: CSV
 * begins with them. */
void result_lines(struct out *out, const struct result_column *columns, const char *csv, bool keys,
                  const void *all);
/* Each member on a line of its own, of columns that all have a key. */
void result_json_lines(struct out *out, const struct result_column *columns,
                       const struct result_at *at);
/* ,"KEY":[{...},...], each row on a line of its own. */
void result_json_list(struct out *out, const struct result_table *table,
                      const struct result_rows *rows, const void *all);

/* An object with these members as JSON Schema, of which `title` is said. */
void result_schema(struct out *out, const char *title, const struct result_column *columns);
/* What is no text. */
void result_json_number(struct out *out, const struct result_column *column,
                        const struct result_cell *cell);

/* ---- CSV --------------------------------------------------------------------------------- */

#define CSV_OPTION(offset, tables)                                                                 \
    {                                                                                              \
        "csv", 0, "TABLE", tables, "one table of --json as CSV", offset, option_store_text         \
    }

/* A line of keys, if it is wanted, then one a row; parts of rows are columns PART_KEY, what has a
 * form of its own and lists are omitted. Names are safe in spreadsheets (below). */
void result_csv(struct out *out, const struct result_table *table, const struct result_rows *rows,
                const void *all, bool keys);

/* ---- text -------------------------------------------------------------------------------- */

enum { RESULT_NAME_COLUMNS = 20, RESULT_COLUMNS_MAX = 16 };

struct result_view {
    struct out *out;
    struct colors colors;
    unsigned width;  /* columns of a line */
    bool shorten;    /* names that do not fit into it */
    int64_t zero_ns; /* times count from it */
    const void *all; /* the analysis, for columns that not each has */
};

/* Columns that are shown. */
struct result_layout {
    struct result_place columns[RESULT_COLUMNS_MAX];
    unsigned count, taken; /* columns of the line, but for the name's */
    const char *(*color)(const struct colors *colors, const void *row); /* of a line; or NULL */
};

/* wanted: titles, with commas; NULL: as many of the table's as fit. reserve: columns of the line
 * for what comes behind the name. */
struct result_layout result_layout(const struct result_view *view, const struct result_table *table,
                                   const char *wanted, unsigned reserve);
/* Without the column of that title. */
void result_layout_drop(struct result_layout *layout, const char *title, size_t bytes);
void result_text_title(const struct result_view *view, const char *title);
void result_text_titles(const struct result_view *view, const struct result_layout *layout);
/* Behind two blanks. */
void result_text_name(const struct result_view *view, struct trace_text text);
/* Each on a line of its own. after: what comes behind the name; may be NULL. */
void result_text_rows(const struct result_view *view, const struct result_layout *layout,
                      const struct result_rows *rows, const void *all, const void *parent,
                      void (*after)(const struct result_view *view, const struct result_at *at));
/* Rows up to table->shown under title and titles; nothing of no rows. */
void result_text(const struct result_view *view, const struct result_table *table,
                 const struct result_layout *layout, const struct result_rows *rows,
                 const void *all,
                 void (*after)(const struct result_view *view, const struct result_at *at));
/* "  ... and 7 more (--json has all)", if there are more than are shown. what: "" or " kernels". */
void result_text_more(const struct result_view *view, uint32_t count, uint32_t shown,
                      const char *what);

/* ---- cell text ------------------------------------------------------------------------------- */
/*
 * Names as cells of tables in text: CSV and TSV.
 *
 * A cell is safe on a terminal and in a spreadsheet: characters that are
 * obeyed instead of shown, and bytes that are not UTF-8, become \xNN, a
 * backslash \\ (text_name.h), and what a spreadsheet would take for a formula,
 * since it begins with = + - @ or their wide forms, gets an apostrophe before
 * it, as does what begins with one. One to one: who takes one apostrophe off
 * and undoes \xNN and \\ has the name's bytes back. A cell is one line.
 *
 * Raw cells have the bytes as they are: CSV with quotes where it must, TSV,
 * which has none, with \t, \n, \r and \\ for tab, line feed, return and
 * backslash.
 */

void cell_csv(struct out *out, struct trace_text text, bool raw);
void cell_tsv(struct out *out, struct trace_text text, bool raw);

#endif /* RESULT_PRINT_H */
