/* SPDX-License-Identifier: Apache-2.0 */
#include "dump_tables.h"

#include "dump_columns.h"
#include "json_line.h"
#include "json_text.h"
#include "message.h"
#include "result_print.h"

#include <stdlib.h>
#include <string.h>

bool table_dump_begin(struct table_dump *tables, struct dump *dump, struct input *input)
{
    const struct dump_options *options = dump->options;
    *tables = (struct table_dump){.dump = dump};
    if (!file_tables_begin(&tables->tables, input))
        return false;
    if (options->rows_max.set)
        tables->shown = calloc(RBWP_TABLES_MAX + 1, sizeof *tables->shown);
    bool good = !options->rows_max.set || tables->shown;
    tables->filtered = good && filter_is_set(&options->filter);
    if (tables->filtered)
        good = row_filter_start(&tables->filter, &options->filter, input, tables->tables.catalog);
    if (!good)
        message("out of memory");
    return good;
}

void table_dump_end(struct table_dump *tables)
{
    if (tables->filtered)
        row_filter_stop(&tables->filter);
    free(tables->shown);
    file_tables_end(&tables->tables);
}

void table_dump_take(struct table_dump *tables, const struct rbwp_block *block,
                     struct table_block *seen_out)
{
    seen_out->status = file_tables_take(&tables->tables, block, &seen_out->rows, &seen_out->error);
}

/* ---- which rows ------------------------------------------------------------------- */

/* Rows belong to no work item and are no kind of record; a table without times has none of a
 * window. */
static bool may_have_wanted(struct table_dump *tables, const struct rbwp_rows *rows)
{
    const struct filter_options *options = &tables->dump->options->filter;
    return !tables->filtered || (!options->slots.count && !options->kinds &&
                                 !row_filter_enter(&tables->filter, rows->schema));
}

static bool takes(struct table_dump *tables, const struct rbwp_rows *rows, uint32_t row)
{
    return !tables->filtered || row_filter_takes(&tables->filter, rows, row);
}

bool table_dump_wants(struct table_dump *tables, const struct table_block *seen)
{
    bool wanted = false;
    if (seen->status != RBWP_OK || !may_have_wanted(tables, &seen->rows))
        return false;
    for (uint32_t i = 0; !wanted && i < seen->rows.rows; i++)
        wanted = takes(tables, &seen->rows, i);
    return wanted;
}

/* Goes on to the next row that is shown, *row itself or one behind it. */
static bool find_row(struct table_dump *tables, const struct rbwp_rows *rows, uint32_t *row)
{
    uint32_t *shown = tables->shown ? &tables->shown[rows->schema->table] : NULL;
    if (shown && *shown >= tables->dump->options->rows_max.rows)
        return false;
    while (*row < rows->rows && !takes(tables, rows, *row))
        ++*row;
    if (*row == rows->rows)
        return false;
    if (shown)
        ++*shown;
    tables->dump->found.taken++;
    return true;
}

/* ---- in a block --------------------------------------------------------------------- */

static void dump_tables_put_row(struct out *out, const struct cell_source *source, uint32_t row,
                                bool first)
{
    out_text(out, first ? "\n[" : ",\n[");
    for (uint32_t c = 0; c < source->rows->schema->column_count; c++) {
        out_text(out, c ? "," : "");
        cell_value(out, source, c, row, CELL_JSON);
    }
    out_text(out, "]");
}

static void dump_tables_put_rows(struct table_dump *tables, struct out *out,
                                 const struct rbwp_rows *rows)
{
    struct cell_source source = {tables->tables.catalog, rows};
    uint64_t shown = 0;
    json_open(out, "table", '{');
    result_json_members(out, dump_rows_columns, &(struct result_at){.row = rows});
    json_open(out, "rows", '[');
    for (uint32_t i = 0; !out_failed(out) && find_row(tables, rows, &i); i++)
        dump_tables_put_row(out, &source, i, shown++ == 0);
    out_text(out, "]");
    if (tables->filtered || tables->shown)
        json_u64(out, "rows_shown", shown);
    out_text(out, "}");
}

static uint32_t u32_of(const uint8_t *bytes)
{
    return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static bool has_tag(const struct rbwp_block *block, const char *tag)
{
    return memcmp(block->data, tag, 4) == 0;
}

/* Of a block that the catalog has learnt from. */
static const struct rbwp_schema *schema_of(const struct table_dump *tables,
                                           const struct rbwp_block *block)
{
    return rbwp_catalog_find(tables->tables.catalog, u32_of(block->data + 4));
}

static void put_names(struct out *out, const struct rbwp_catalog *catalog,
                      const struct rbwp_block *block)
{
    uint32_t first = u32_of(block->data + 4), count = u32_of(block->data + 8);
    json_open(out, "names", '{');
    json_u64(out, "first", first);
    json_open(out, "names", '[');
    for (uint32_t i = 0; i < count; i++) {
        struct rbwp_text name = rbwp_catalog_name(catalog, (uint64_t)first + i);
        out_text(out, i ? "," : "");
        json_string(out, name.text, name.bytes);
    }
    out_text(out, "]}");
}

static void put_schema(struct out *out, const struct rbwp_schema *schema)
{
    result_json_members(out, dump_schema_columns, &(struct result_at){.row = schema});
}

static void put_broken(struct out *out, const struct rbwp_error *error)
{
    json_open(out, "broken", '{');
    result_json_members(out, dump_broken_columns, &(struct result_at){.row = error});
    out_text(out, "}");
}

void table_dump_members(struct table_dump *tables, struct out *out, const struct rbwp_block *block,
                        const struct table_block *seen)
{
    if (seen->status < 0)
        put_broken(out, &seen->error);
    else if (seen->status == RBWP_OK)
        dump_tables_put_rows(tables, out, &seen->rows);
    else if (has_tag(block, RBWP_NAMES_TAG))
        put_names(out, tables->tables.catalog, block);
    else if (has_tag(block, RBWP_SCHEMA_TAG)) {
        json_open(out, "schema", '{');
        put_schema(out, schema_of(tables, block));
        out_text(out, "}");
    }
}

/* ---- as lines ----------------------------------------------------------------------- */

static void line_head(struct out *out, const struct table_dump *tables)
{
    const char *path = tables->tables.input->path;
    out_text(out, "{");
    json_name(out, "file", path, strlen(path));
}

static void row_line(struct table_dump *tables, struct out *out, const struct names *names,
                     const struct cell_source *source, uint32_t row)
{
    const struct rbwp_rows *rows = source->rows;
    const struct rbwp_schema *schema = rows->schema;
    struct row_place place = row_place_of(schema);
    uint64_t thread_id = row_thread(&place, rows, row);
    int64_t time_ns = 0;
    bool timed = row_time(&place, rows, row, &time_ns);
    line_head(out, tables);
    if (thread_id)
        json_thread_members(out, names, thread_id, time_ns);
    if (timed)
        json_i64(out, "ts", time_ns);
    out_text(out, ",\"type\":\"ROW\",");
    json_u64(out, "table", schema->table);
    json_name(out, "name", schema->name, schema->name_bytes);
    json_u64(out, "row", rows->first_row + row);
    json_open(out, "cells", '{');
    table_json_cells(out, source, row);
    out_text(out, "}}\n");
}

void table_dump_lines(struct table_dump *tables, struct out *out, const struct names *names,
                      const struct rbwp_block *block)
{
    struct table_block seen;
    table_dump_take(tables, block, &seen);
    if (seen.status == RBWP_END && has_tag(block, RBWP_SCHEMA_TAG) && !tables->filtered) {
        line_head(out, tables);
        out_text(out, ",\"type\":\"TABLE\"");
        put_schema(out, schema_of(tables, block));
        out_text(out, "}\n");
    }
    if (seen.status != RBWP_OK || !may_have_wanted(tables, &seen.rows))
        return;
    struct cell_source source = {tables->tables.catalog, &seen.rows};
    for (uint32_t i = 0; !out_failed(out) && find_row(tables, &seen.rows, &i); i++)
        row_line(tables, out, names, &source, i);
}
