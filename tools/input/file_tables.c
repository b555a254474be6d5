/* SPDX-License-Identifier: Apache-2.0 */
#include "file_tables.h"
#include "grow.h"
#include "message.h"
#include "table_bind.h"
#include "sorted.h"

#include <stdlib.h>
#include <string.h>

/* ---- columns of a table ---------------------------------------------------------------------- */

#define SCHEMA_OF_TABLE(table) [KNOWN_##table] = KNOWN_SCHEMA(table),
static const struct rbwp_schema schemas[] = {KNOWN_TABLES(SCHEMA_OF_TABLE)};

static bool column_is(const struct rbwp_column *column, const struct rbwp_column *wanted)
{
    return column->type == wanted->type && column->name_bytes == wanted->name_bytes &&
           memcmp(column->name, wanted->name, wanted->name_bytes) == 0;
}

bool table_is(const struct rbwp_schema *schema, enum known_table table)
{
    const struct rbwp_schema *known = &schemas[table];
    return schema->name_bytes == known->name_bytes &&
           memcmp(schema->name, known->name, known->name_bytes) == 0;
}

bool table_bind(const struct rbwp_schema *schema, enum known_table table, uint16_t *columns)
{
    const struct rbwp_schema *known = &schemas[table];
    const bool is = table_is(schema, table);
    for (uint16_t i = 0; i < known->column_count; i++) {
        uint16_t at = 0;
        while (is && at < schema->column_count &&
               !column_is(&schema->columns[at], &known->columns[i]))
            at++;
        columns[i] = is && at < schema->column_count ? at : TABLE_NO_COLUMN;
    }
    return is;
}

bool table_bind_rows(const struct rbwp_rows *rows, enum known_table table, const uint64_t **cells)
{
    uint16_t columns[RBWP_COLUMNS_MAX];
    const bool is = table_bind(rows->schema, table, columns);
    for (uint16_t i = 0; is && i < schemas[table].column_count; i++)
        cells[i] = columns[i] == TABLE_NO_COLUMN ? NULL : rows->cells[columns[i]];
    return is;
}

/* ---- row place ------------------------------------------------------------------------------- */

struct row_place row_place_of(const struct rbwp_schema *schema)
{
    struct row_place place = {-1, -1};
    bool start = false;
    for (int i = 0; i < schema->column_count; i++) {
        const struct rbwp_column *column = &schema->columns[i];
        bool starts = column->role == RBWP_ROLE_START;
        if (column->type == RBWP_COLUMN_TIME && (place.time < 0 || (starts && !start))) {
            place.time = i;
            start = starts;
        }
        if (column->type == RBWP_COLUMN_U64 && column->role == RBWP_ROLE_THREAD && place.thread < 0)
            place.thread = i;
    }
    return place;
}

bool row_time(const struct row_place *place, const struct rbwp_rows *rows, uint32_t row,
              int64_t *time_ns_out)
{
    if (place->time >= 0)
        *time_ns_out = (int64_t)rows->cells[place->time][row];
    return place->time >= 0;
}

uint64_t row_thread(const struct row_place *place, const struct rbwp_rows *rows, uint32_t row)
{
    return place->thread >= 0 ? rows->cells[place->thread][row] : rows->thread_id;
}

/* ---- tables of a file ------------------------------------------------------------------------ */

bool file_tables_begin(struct file_tables *tables, struct input *input)
{
    *tables = (struct file_tables){.input = input, .catalog = rbwp_catalog_new()};
    if (!tables->catalog)
        message("out of memory");
    return tables->catalog;
}

void file_tables_end(struct file_tables *tables)
{
    rbwp_catalog_free(tables->catalog);
    gpu_devices_free(&tables->gpus);
    free(tables->problems);
    *tables = (struct file_tables){0};
}

static void file_tables_note(struct file_tables *tables, const struct rbwp_error *error)
{
    if (tables->broken++ < INPUT_PROBLEM_LINES)
        message("%s: %s", tables->input->name, error->text);
    if (tables->problem_count < FILE_TABLES_PROBLEMS_KEPT &&
        GROW_ARRAY(tables->problems, tables->problem_room, tables->problem_count + 1))
        tables->problems[tables->problem_count++] = (struct rbwp_problem){.error = *error};
}

enum rbwp_status file_tables_take(struct file_tables *tables, const struct rbwp_block *block,
                                  struct rbwp_rows *rows_out, struct rbwp_error *error)
{
    enum rbwp_status status = rbwp_catalog_take(tables->catalog, block, rows_out, error);
    if (status < 0)
        file_tables_note(tables, error);
    if (status == RBWP_OK && !gpu_devices_take(&tables->gpus, rows_out, tables->catalog) &&
        !tables->failed) {
        tables->failed = true;
        message("out of memory; GPUs are missing");
    }
    return status;
}

bool file_tables_next(struct file_tables *tables, struct rbwp_rows *rows_out)
{
    struct rbwp_block block;
    struct rbwp_error error;
    while (input_next(tables->input, &block))
        if (file_tables_take(tables, &block, rows_out, &error) == RBWP_OK)
            return true;
    return false;
}

SORTED_COMPARE(by_offset, struct rbwp_table_range, it->offset)

struct rbwp_table_range *table_ranges_in_order(const struct rbwp_trailer *trailer)
{
    uint32_t count = trailer->table_range_count;
    struct rbwp_table_range *ranges = calloc(count + 1u, sizeof *ranges);
    if (ranges && count) {
        memcpy(ranges, trailer->table_ranges, count * sizeof *ranges);
        qsort(ranges, count, sizeof *ranges, by_offset);
    }
    return ranges;
}
