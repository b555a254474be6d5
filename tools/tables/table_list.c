/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_list.c - see table_list.h. The first rows of a table are shown, so they are kept as text
 * until the last row of the file has been counted.
 */
#include "table_list.h"

#include "cell_value.h"
#include "json_text.h"
#include "message.h"
#include "table_walk.h"
#include "terminal_text.h"

#include <inttypes.h>
#include <stdlib.h>

#define SAMPLE_ROWS 3u

struct listed {
    uint64_t blocks;
    int64_t first_ns, last_ns; /* 0,0 without times */
    struct rbwp_rows sample;   /* SAMPLE_ROWS at most, in memory of its own */
};

struct list {
    struct listed *tables; /* in the order of the catalog */
    uint32_t room;
};

/* ---- reading --------------------------------------------------------------------- */

static bool room_for(struct list *list, uint32_t count)
{
    if (count <= list->room)
        return true;
    struct listed *more = realloc(list->tables, count * sizeof *more);
    if (!more)
        return false;
    memset(more + list->room, 0, (count - list->room) * sizeof *more);
    list->tables = more;
    list->room = count;
    return true;
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

static uint32_t number_of(const struct rbwp_catalog *catalog, const struct rbwp_schema *schema)
{
    uint32_t i = 0;
    while (rbwp_catalog_schema(catalog, i) != schema)
        i++;
    return i;
}

static bool count_rows(struct list *list, const struct rbwp_catalog *catalog,
                       const struct rbwp_rows *rows)
{
    if (!room_for(list, rbwp_catalog_schema_count(catalog)))
        return false;
    struct listed *table = &list->tables[number_of(catalog, rows->schema)];
    bool first = table->blocks++ == 0;
    if (first || rows->first_ns < table->first_ns)
        table->first_ns = rows->first_ns;
    if (first || rows->last_ns > table->last_ns)
        table->last_ns = rows->last_ns;
    return !first || keep_sample(&table->sample, rows);
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
    uint64_t rows = rbwp_catalog_row_count(catalog, number);
    out_format(out, ": table %" PRIu32 ", version %u, %" PRIu64 " row%s", schema->table,
               schema->version, rows, rows == 1 ? "" : "s");
    if (table->first_ns || table->last_ns)
        out_format(out, ", %" PRId64 " to %" PRId64 " ns", table->first_ns, table->last_ns);
    out_text(out, "\n");
    for (uint32_t i = 0; i < schema->column_count; i++)
        text_column(out, &schema->columns[i]);
    if (table->blocks)
        text_sample(out, catalog, &table->sample);
}

/* ---- JSON -------------------------------------------------------------------------- */

static void json_column(struct out *out, const struct rbwp_column *column)
{
    out_text(out, "{");
    json_name(out, "name", column->name, column->name_bytes);
    out_text(out, ",");
    json_plain(out, "type", rbwp_column_type_name(column->type));
    out_text(out, ",");
    json_plain(out, "role", rbwp_column_role_name(column->role));
    out_text(out, ",");
    json_name(out, "unit", column->unit, column->unit_bytes);
    out_text(out, ",");
    json_u64(out, "of_table", column->table);
    out_text(out, "}");
}

static void json_table(struct out *out, const struct rbwp_catalog *catalog, uint32_t number,
                       const struct listed *table)
{
    const struct rbwp_schema *schema = rbwp_catalog_schema(catalog, number);
    out_text(out, "{");
    json_name(out, "name", schema->name, schema->name_bytes);
    out_text(out, ",");
    json_u64(out, "table", schema->table);
    out_text(out, ",");
    json_u64(out, "version", schema->version);
    out_text(out, ",");
    json_u64(out, "row_count", rbwp_catalog_row_count(catalog, number));
    out_text(out, ",");
    json_i64(out, "first", table->first_ns);
    out_text(out, ",");
    json_i64(out, "last", table->last_ns);
    out_text(out, ",\"columns\":[");
    for (uint32_t i = 0; i < schema->column_count; i++) {
        out_text(out, i ? ",\n" : "\n");
        json_column(out, &schema->columns[i]);
    }
    out_text(out, "]}");
}

bool table_list(struct out *out, struct input *input, bool json, uint64_t *broken_out)
{
    struct table_walk walk;
    struct rbwp_rows rows;
    struct list list = {0};
    if (!table_walk_begin(&walk, input))
        return false;
    bool good = true;
    while (good && table_walk_next(&walk, &rows))
        good = count_rows(&list, walk.catalog, &rows);
    uint32_t count = rbwp_catalog_schema_count(walk.catalog);
    good = good && room_for(&list, count);
    if (!good)
        message("out of memory");
    out_text(out, json ? "{\"tables\":[" : "");
    for (uint32_t i = 0; good && i < count; i++) {
        out_text(out, !json ? (i ? "\n" : "") : i ? ",\n" : "\n");
        (json ? json_table : text_table)(out, walk.catalog, i, &list.tables[i]);
    }
    out_text(out, json ? "]}" : count ? "" : "no tables\n");
    *broken_out = walk.broken;
    free_list(&list);
    table_walk_end(&walk);
    return good;
}
