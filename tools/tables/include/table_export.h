/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_export.h - the rows of one of a file's own tables as CSV, TSV or NDJSON.
 */
#ifndef TABLE_EXPORT_H
#define TABLE_EXPORT_H

#include "filter.h"
#include "input.h"
#include "result_table.h"
#include "table_bind.h"

/* ---- a filter of rows ------------------------------------------------------------------------ */
/* Which rows of a table are wanted: by the columns whose roles say time, thread and name. */

/* Does not move while it is in use. */
struct row_filter {
    const struct filter_options *options;
    const struct rbwp_catalog *catalog; /* of the names */
    struct filter filter;
    struct names names; /* of threads */
    struct row_place place;
    int label; /* column; -1: there is none */
    uint64_t thread_id;
    bool any_thread, takes_thread; /* what was said of that thread */
};

/* False without memory. Stop it in each case. */
bool row_filter_start(struct row_filter *filter, const struct filter_options *options,
                      const struct input *input, const struct rbwp_catalog *catalog);
void row_filter_stop(struct row_filter *filter);

/* Before rows of a table. What is asked and is not in the table: "--from" ...; NULL: nothing. */
const char *row_filter_enter(struct row_filter *filter, const struct rbwp_schema *schema);
bool row_filter_takes(struct row_filter *filter, const struct rbwp_rows *rows, uint32_t row);

/* Cells of a file's own tables as text: CSV, TSV, JSON, and for people.
 *
 * Numbers and times are decimal, times and durations in nanoseconds; a name is
 * its text; a cell without a name or row is empty (JSON: null). */

enum cell_form { CELL_CSV, CELL_TSV, CELL_JSON, CELL_PEOPLE };

struct cell_source {
    const struct rbwp_catalog *catalog; /* of the names */
    const struct rbwp_rows *rows;
};

void cell_value(struct out *out, const struct cell_source *source, uint32_t column, uint32_t row,
                enum cell_form form);

/* filter: of rows; what a table has no column for cannot be asked of it. */
struct table_export {
    const char *table; /* name or number */
    enum cell_form form;
    uint64_t limit; /* rows at most; 0 all */
    const struct filter_options *filter;
    uint64_t *columns; /* which ones the first line written last names, 0 none: not named again */
};

/* EXIT_BAD_DATA with the message given if the file has no such table, the filter asks what the
 * table does not have, or there is no memory. *broken_out: blocks dropped. */
enum exit_code table_export(struct out *out, struct input *input, const struct table_export *wanted,
                            uint64_t *broken_out);

/* Of struct rbwp_schema: "name", "table" and "version"; and "columns": name, type, role and unit of
 * each, and whose rows it names. */
extern const struct result_column table_head_columns[], table_columns_columns[];
/* Members of JSON, "key":value with commas between, none around: the cells of a row, each with the
 * name of its column. */
void table_json_cells(struct out *out, const struct cell_source *source, uint32_t row);

#endif /* TABLE_EXPORT_H */
