/* SPDX-License-Identifier: Apache-2.0 */
#include "table_export.h"
#include "file_tables.h"
#include "json_text.h"
#include "message.h"
#include "result_print.h"
#include "terminal_text.h"

#include <math.h>
#include <stdio.h>

/* ---- a filter of rows ------------------------------------------------------------------------ */

bool row_filter_start(struct row_filter *filter, const struct filter_options *options,
                      const struct input *input, const struct rbwp_catalog *catalog)
{
    *filter = (struct row_filter){.options = options, .catalog = catalog, .place = {-1, -1}};
    bool loaded = names_load(&filter->names, input->reader);
    filter_start(&filter->filter, options, input->reader, &filter->names);
    return loaded;
}

void row_filter_stop(struct row_filter *filter)
{
    filter_stop(&filter->filter);
    names_free(&filter->names);
}

const char *row_filter_enter(struct row_filter *filter, const struct rbwp_schema *schema)
{
    filter->place = row_place_of(schema);
    filter->label = -1;
    for (int i = schema->column_count; i-- > 0;)
        if (schema->columns[i].role == RBWP_ROLE_LABEL &&
            schema->columns[i].type == RBWP_COLUMN_NAME)
            filter->label = i;
    const struct filter_options *options = filter->options;
    if (filter->place.time < 0 && (options->from.set || options->to.set))
        return "--from and --to";
    return filter->label < 0 && options->labels.count ? "--name" : NULL;
}

static bool takes_time(struct row_filter *filter, int64_t time_ns)
{
    filter_resolve(&filter->filter, time_ns);
    return !(filter->options->from.set && time_ns < filter->filter.from_ns) &&
           !(filter->options->to.set && time_ns >= filter->filter.to_ns);
}

/* Rows of one thread mostly follow each other. */
static bool takes_thread(struct row_filter *filter, uint64_t thread_id, int64_t time_ns)
{
    if (!filter->any_thread || thread_id != filter->thread_id) {
        filter->any_thread = true;
        filter->thread_id = thread_id;
        filter->takes_thread =
            thread_id && filter_takes_thread(&filter->filter, thread_id, time_ns);
    }
    return filter->takes_thread;
}

bool row_filter_takes(struct row_filter *filter, const struct rbwp_rows *rows, uint32_t row)
{
    const struct filter_options *options = filter->options;
    int64_t time_ns = 0;
    if (row_time(&filter->place, rows, row, &time_ns) && !takes_time(filter, time_ns))
        return false;
    if (options->threads.count &&
        !takes_thread(filter, row_thread(&filter->place, rows, row), time_ns))
        return false;
    if (options->labels.count == 0)
        return true;
    uint64_t number = rows->cells[filter->label][row];
    struct rbwp_text name = rbwp_catalog_name(filter->catalog, number);
    return number && filter_patterns_fit(&options->labels, number, name.text, name.bytes);
}

/* ---- rows as text ---------------------------------------------------------------------------- */

static void cell_value_put_text(struct out *out, struct rbwp_text text, enum cell_form form)
{
    struct trace_text cell = {text.text, text.bytes};
    const char *rest = text.text;
    size_t left = text.bytes;
    switch (form) {
    case CELL_CSV:
        cell_csv(out, cell, false);
        break;
    case CELL_TSV:
        cell_tsv(out, cell, false);
        break;
    case CELL_JSON:
        json_string(out, text.text, text.bytes);
        break;
    case CELL_PEOPLE:
        while (left) {
            char *at = out_room(out, 4096);
            out_end(out, at + terminal_text_piece(&rest, &left, at, 4096));
        }
        break;
    }
}

/* JSON has no word for what is no number. */
static void put_f64(struct out *out, double value, enum cell_form form)
{
    if (isfinite(value))
        out_format(out, "%.17g", value);
    else
        out_text(out, form == CELL_JSON ? "null"
                      : isnan(value)    ? "nan"
                      : value < 0       ? "-inf"
                                        : "inf");
}

/* A number that stands for something: none if it is 0. */
static void put_reference(struct out *out, uint64_t number, enum cell_form form)
{
    if (number)
        out_u64(out, number);
    else
        out_text(out, form == CELL_JSON ? "null" : "");
}

static double f64_of(uint64_t cell)
{
    double value;
    memcpy(&value, &cell, sizeof value);
    return value;
}

void cell_value(struct out *out, const struct cell_source *source, uint32_t column, uint32_t row,
                enum cell_form form)
{
    uint64_t cell = source->rows->cells[column][row];
    switch (source->rows->schema->columns[column].type) {
    case RBWP_COLUMN_I64:
    case RBWP_COLUMN_TIME:
        out_i64(out, (int64_t)cell);
        break;
    case RBWP_COLUMN_F64:
        put_f64(out, f64_of(cell), form);
        break;
    case RBWP_COLUMN_NAME:
        if (cell)
            cell_value_put_text(out, rbwp_catalog_name(source->catalog, cell), form);
        else
            put_reference(out, 0, form);
        break;
    case RBWP_COLUMN_ROW:
        put_reference(out, cell, form);
        break;
    case RBWP_COLUMN_BYTES:
        cell_value_put_text(out, rbwp_rows_bytes(source->rows, cell), form);
        break;
    default:
        out_u64(out, cell);
        break;
    }
}

static bool is_wanted(const struct rbwp_schema *schema, const char *table)
{
    char number[16];
    snprintf(number, sizeof number, "%u", schema->table);
    return (strlen(table) == schema->name_bytes &&
            memcmp(table, schema->name, schema->name_bytes) == 0) ||
           strcmp(table, number) == 0;
}

/* The first line of CSV and TSV; of several files that agree once. */
static void put_heads(struct out *out, const struct rbwp_schema *schema,
                      const struct table_export *wanted)
{
    enum cell_form form = wanted->form;
    uint64_t hash = TEXT_HASH_FIRST;
    for (uint32_t c = 0; c < schema->column_count; c++) {
        hash = text_hash(hash, &schema->columns[c].name_bytes, sizeof(uint16_t));
        hash = text_hash(hash, schema->columns[c].name, schema->columns[c].name_bytes);
    }
    uint64_t columns = hash | 1;
    if (form == CELL_JSON || *wanted->columns == columns)
        return;
    *wanted->columns = columns;
    out_text(out, "row");
    for (uint32_t c = 0; c < schema->column_count; c++) {
        struct trace_text name = {schema->columns[c].name, schema->columns[c].name_bytes};
        out_text(out, form == CELL_CSV ? "," : "\t");
        (form == CELL_CSV ? cell_csv : cell_tsv)(out, name, false);
    }
    out_text(out, "\n");
}

static void table_export_put_row(struct out *out, const struct cell_source *source, uint32_t row,
                                 enum cell_form form)
{
    out_u64(out, source->rows->first_row + row);
    for (uint32_t c = 0; c < source->rows->schema->column_count; c++) {
        out_text(out, form == CELL_TSV ? "\t" : ",");
        cell_value(out, source, c, row, form);
    }
    out_text(out, "\n");
}

static void put_json_row(struct out *out, const struct cell_source *source, uint32_t row)
{
    out_text(out, "{");
    json_u64(out, "row", source->rows->first_row + row);
    out_text(out, ",");
    table_json_cells(out, source, row);
    out_text(out, "}\n");
}

/* Behind the last row: has the file such a table, with or without rows? */
static const struct rbwp_schema *table_export_find(const struct rbwp_catalog *catalog,
                                                   const char *table)
{
    for (uint32_t i = 0; i < rbwp_catalog_schema_count(catalog); i++)
        if (is_wanted(rbwp_catalog_schema(catalog, i), table))
            return rbwp_catalog_schema(catalog, i);
    return NULL;
}

/* Rows of one block. False: the limit is reached. */
static bool table_export_put_rows(struct out *out, const struct cell_source *source,
                                  struct row_filter *filter, const struct table_export *wanted,
                                  uint64_t *written)
{
    for (uint32_t i = 0; i < source->rows->rows; i++) {
        if (!row_filter_takes(filter, source->rows, i))
            continue;
        if (wanted->limit && *written == wanted->limit)
            return false;
        if (wanted->form == CELL_JSON)
            put_json_row(out, source, i);
        else
            table_export_put_row(out, source, i, wanted->form);
        ++*written;
    }
    return true;
}

/* The rows, and which schema the table has: NULL none. *unasked_out: a condition that it has no
 * column for. */
static const struct rbwp_schema *export_rows(struct out *out, struct file_tables *walk,
                                             const struct table_export *wanted,
                                             struct row_filter *filter, const char **unasked_out)
{
    const struct rbwp_schema *schema = NULL; /* the first that was meant: names may repeat */
    struct rbwp_rows rows;
    uint64_t written = 0;
    bool more = true;
    while (!out_failed(out) && file_tables_next(walk, &rows)) {
        struct cell_source source = {walk->catalog, &rows};
        if (schema ? rows.schema != schema : !is_wanted(rows.schema, wanted->table))
            continue;
        if (!schema && (*unasked_out = row_filter_enter(filter, rows.schema)))
            return rows.schema;
        if (!schema)
            put_heads(out, rows.schema, wanted);
        schema = rows.schema;
        more = more && table_export_put_rows(out, &source, filter, wanted, &written);
    }
    if (schema || !(schema = table_export_find(walk->catalog, wanted->table)))
        return schema;
    *unasked_out = row_filter_enter(filter, schema);
    if (!*unasked_out)
        put_heads(out, schema, wanted);
    return schema;
}

enum exit_code table_export(struct out *out, struct input *input, const struct table_export *wanted,
                            uint64_t *broken_out)
{
    struct file_tables walk;
    struct row_filter filter;
    const char *unasked = NULL;
    if (!file_tables_begin(&walk, input))
        return EXIT_BAD_DATA;
    const struct rbwp_schema *schema = NULL;
    if (!row_filter_start(&filter, wanted->filter, input, walk.catalog))
        message("out of memory");
    else if (!(schema = export_rows(out, &walk, wanted, &filter, &unasked)))
        message("%s: no table '%s' ('rbwp tables' lists them)", input->name, wanted->table);
    else if (unasked)
        message("%s: table '%s' has no column that %s could ask", input->name, wanted->table,
                unasked);
    *broken_out = walk.broken;
    row_filter_stop(&filter);
    file_tables_end(&walk);
    return schema && !unasked ? EXIT_GOOD : EXIT_BAD_DATA;
}

#define SCHEMA_NAME(key, type, field)                                                              \
    {                                                                                              \
        key, NULL, 0, RESULT_NAME, RESULT_NAME_OF(struct type, field)                              \
    }
RESULT_MAKES(column_word, rbwp_column,
             result_word(what ? rbwp_column_role_name(row->role)
                              : rbwp_column_type_name(row->type)))

const struct result_column table_head_columns[] = {
    SCHEMA_NAME("name", rbwp_schema, name),
    RESULT_PLAIN("table", RESULT_ID, struct rbwp_schema, table),
    RESULT_PLAIN("version", RESULT_ID, struct rbwp_schema, version), RESULT_LAST};

static const struct result_column column_columns[] = {
    SCHEMA_NAME("name", rbwp_column, name),
    RESULT_PLAIN_MADE("type", RESULT_WORD, column_word, 0),
    RESULT_PLAIN_MADE("role", RESULT_WORD, column_word, 1),
    SCHEMA_NAME("unit", rbwp_column, unit),
    RESULT_PLAIN("of_table", RESULT_ID, struct rbwp_column, table),
    RESULT_LAST};
static const struct result_table columns_table = {"columns", NULL, column_columns, "", NULL, 0};

static struct result_rows column_rows(const struct result_at *at)
{
    const struct rbwp_schema *schema = at->row;
    return result_array(schema->columns, sizeof *schema->columns, schema->column_count);
}

const struct result_column table_columns_columns[] = {{"columns", NULL, 0, RESULT_LIST,
                                                       .list = &columns_table, .rows = column_rows,
                                                       .one_line = true},
                                                      RESULT_LAST};

void table_json_cells(struct out *out, const struct cell_source *source, uint32_t row)
{
    const struct rbwp_schema *schema = source->rows->schema;
    for (uint32_t c = 0; c < schema->column_count; c++) {
        out_text(out, c ? "," : "");
        json_string(out, schema->columns[c].name, schema->columns[c].name_bytes);
        out_text(out, ":");
        cell_value(out, source, c, row, CELL_JSON);
    }
}
