/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_list.c - see table_list.h. The first rows of a table are shown, so they are kept until the
 * last row of the file has been counted.
 */
#include "table_list.h"

#include "cell_value.h"
#include "file_tables.h"
#include "json_text.h"
#include "message.h"
#include "table_glance.h"
#include "table_json.h"
#include "terminal_text.h"
#include "grow.h"

#include <inttypes.h>
#include <stdlib.h>

#define SAMPLE_ROWS 3u

struct listed {
    uint64_t rows;
    int64_t first_ns, last_ns; /* 0,0 without times */
    struct rbwp_rows sample;   /* SAMPLE_ROWS at most, in memory of its own */
};

struct list {
    struct listed *tables; /* in the order of the catalog */
    uint32_t room;
    const struct rbwp_catalog *catalog;
};

/* ---- reading --------------------------------------------------------------------- */

static bool room_for(struct list *list, uint32_t count)
{
    return grow_zeroed32(&list->tables, &list->room, count, sizeof *list->tables);
}

/* Copies the first rows, with the bytes that their cells stand for. */
static bool keep_sample(struct rbwp_rows *sample, const struct rbwp_rows *rows)
{
    uint32_t count = rows->rows < SAMPLE_ROWS ? rows->rows : SAMPLE_ROWS;
    uint32_t columns = rows->schema->column_count;
    size_t bytes = 0;
    for (uint32_t c = 0; c < columns; c++)
        for (uint32_t i = 0; rows->schema->columns[c].type == RBWP_COLUMN_BYTES && i < count; i++)
            bytes += (uint32_t)rows->cells[c][i];
    size_t pointers = columns * sizeof(uint64_t *), words = (size_t)columns * count * 8;
    uint8_t *memory = malloc(pointers + words + bytes);
    if (!memory)
        return false;
    uint64_t **cells = (uint64_t **)(void *)memory;
    uint64_t *next = (uint64_t *)(void *)(memory + pointers);
    uint8_t *text = memory + pointers + words, *end = text;
    for (uint32_t c = 0; c < columns; c++, next += count) {
        cells[c] = next;
        memcpy(next, rows->cells[c], count * sizeof *next);
        for (uint32_t i = 0; rows->schema->columns[c].type == RBWP_COLUMN_BYTES && i < count; i++) {
            struct rbwp_text one = rbwp_rows_bytes(rows, next[i]);
            memcpy(end, one.text, one.bytes);
            next[i] = (uint64_t)(end - text) << 32 | one.bytes;
            end += one.bytes;
        }
    }
    *sample = *rows;
    sample->rows = count;
    sample->cells = (const uint64_t *const *)cells;
    sample->bytes = text;
    return true;
}

/* The line of a table that the catalog knows. NULL without memory. */
static struct listed *line_of(struct list *list, uint32_t table)
{
    uint32_t i = 0;
    if (!room_for(list, rbwp_catalog_schema_count(list->catalog)))
        return NULL;
    while (rbwp_catalog_schema(list->catalog, i)->table != table)
        i++;
    return &list->tables[i];
}

static void count_rows(struct listed *table, uint64_t rows, int64_t first_ns, int64_t last_ns)
{
    if (table->rows == 0 || first_ns < table->first_ns)
        table->first_ns = first_ns;
    if (table->rows == 0 || last_ns > table->last_ns)
        table->last_ns = last_ns;
    table->rows += rows;
}

static bool take_rows(struct list *list, const struct rbwp_rows *rows)
{
    struct listed *table = line_of(list, rows->schema->table);
    if (!table || (table->rows == 0 && !keep_sample(&table->sample, rows)))
        return false;
    count_rows(table, rows->rows, rows->first_ns, rows->last_ns);
    return true;
}

static bool take_sample(void *context, const struct rbwp_rows *rows)
{
    struct listed *table = line_of(context, rows->schema->table);
    return table && keep_sample(&table->sample, rows);
}

/* By the index. False if that cannot be, for whatever reason. */
static bool list_by_index(struct list *list, struct file_tables *walk, bool json)
{
    const struct rbwp_trailer *trailer = rbwp_reader_trailer(walk->input->reader);
    if (!table_glance(walk->input, walk->catalog, json ? NULL : take_sample, list))
        return false;
    for (uint32_t i = 0; i < trailer->table_range_count; i++) {
        const struct rbwp_table_range *range = &trailer->table_ranges[i];
        struct listed *table = range->rows && range->table ? line_of(list, range->table) : NULL;
        if (table)
            count_rows(table, range->rows, range->first_ns, range->last_ns);
    }
    return room_for(list, rbwp_catalog_schema_count(walk->catalog));
}

static bool list_by_blocks(struct list *list, struct file_tables *walk)
{
    struct rbwp_rows rows;
    while (file_tables_next(walk, &rows))
        if (!take_rows(list, &rows))
            return false;
    return room_for(list, rbwp_catalog_schema_count(walk->catalog));
}

static void free_list(struct list *list)
{
    for (uint32_t i = 0; i < list->room; i++)
        free((void *)(uintptr_t)list->tables[i].sample.cells);
    free(list->tables);
}

/* ---- text ------------------------------------------------------------------------- */

static void put_name(struct out *out, const char *name, size_t bytes)
{
    while (bytes) {
        char *at = out_room(out, 4096);
        out_end(out, at + terminal_text_piece(&name, &bytes, at, 4096));
    }
}

static void text_column(struct out *out, const struct rbwp_column *column)
{
    const char *role = rbwp_column_role_name(column->role);
    out_text(out, "  ");
    put_name(out, column->name, column->name_bytes);
    out_format(out, ": %s", rbwp_column_type_name(column->type));
    if (column->table)
        out_format(out, " of table %u", column->table);
    if (column->unit_bytes) {
        out_text(out, " in ");
        put_name(out, column->unit, column->unit_bytes);
    }
    if (*role)
        out_format(out, ", %s", role);
    out_text(out, "\n");
}

static void text_sample(struct out *out, const struct rbwp_catalog *catalog,
                        const struct rbwp_rows *sample)
{
    struct cell_source source = {catalog, sample};
    for (uint32_t i = 0; i < sample->rows; i++) {
        out_format(out, "  row %" PRIu64 ":", sample->first_row + i);
        for (uint32_t c = 0; c < sample->schema->column_count; c++) {
            out_text(out, c ? ", " : " ");
            put_name(out, sample->schema->columns[c].name, sample->schema->columns[c].name_bytes);
            out_text(out, "=");
            cell_value(out, &source, c, i, CELL_PEOPLE);
        }
        out_text(out, "\n");
    }
}

static void text_table(struct out *out, const struct rbwp_catalog *catalog, uint32_t number,
                       const struct listed *table)
{
    const struct rbwp_schema *schema = rbwp_catalog_schema(catalog, number);
    put_name(out, schema->name, schema->name_bytes);
    out_format(out, ": table %" PRIu32 ", version %u, %" PRIu64 " row%s", schema->table,
               schema->version, table->rows, table->rows == 1 ? "" : "s");
    if (table->first_ns || table->last_ns)
        out_format(out, ", %" PRId64 " to %" PRId64 " ns", table->first_ns, table->last_ns);
    out_text(out, "\n");
    for (uint32_t i = 0; i < schema->column_count; i++)
        text_column(out, &schema->columns[i]);
    if (table->rows)
        text_sample(out, catalog, &table->sample);
}

/* ---- JSON -------------------------------------------------------------------------- */

static void json_table(struct out *out, const struct rbwp_catalog *catalog, uint32_t number,
                       const struct listed *table)
{
    const struct rbwp_schema *schema = rbwp_catalog_schema(catalog, number);
    out_text(out, "{");
    table_json_head(out, schema);
    out_text(out, ",");
    json_u64(out, "row_count", table->rows);
    out_text(out, ",");
    json_i64(out, "first", table->first_ns);
    out_text(out, ",");
    json_i64(out, "last", table->last_ns);
    out_text(out, ",");
    table_json_columns(out, schema);
    out_text(out, "}");
}

bool table_list(struct out *out, struct input *input, bool json, uint64_t *broken_out)
{
    struct file_tables walk;
    struct list list = {0};
    if (!file_tables_begin(&walk, input))
        return false;
    list.catalog = walk.catalog;
    bool good = table_glance_can(input) && list_by_index(&list, &walk, json);
    if (!good) {
        (void)!rbwp_reader_rewind(input->reader); /* a stream has not moved */
        free_list(&list);
        file_tables_end(&walk);
        if (!file_tables_begin(&walk, input))
            return false;
        list = (struct list){.catalog = walk.catalog};
        good = list_by_blocks(&list, &walk);
        if (!good)
            message("out of memory");
    }
    uint32_t count = rbwp_catalog_schema_count(walk.catalog);
    out_text(out, json ? "{\"tables\":[" : "");
    for (uint32_t i = 0; good && i < count; i++) {
        out_text(out, !json ? (i ? "\n" : "") : i ? ",\n" : "\n");
        (json ? json_table : text_table)(out, walk.catalog, i, &list.tables[i]);
    }
    out_text(out, json ? "]}" : count ? "" : "no tables\n");
    *broken_out = walk.broken;
    free_list(&list);
    file_tables_end(&walk);
    return good;
}
