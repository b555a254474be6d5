/* SPDX-License-Identifier: Apache-2.0 */
#include "recover_ring.h"

#include "catalog_join.h"

#include <stdlib.h>
#include <string.h>

#define NAMES_AT_ONCE 1024u
#define NAME_BYTES_AT_ONCE (1u << 20)

void recover_rows_free(struct recover_rows *rows)
{
    rbwp_catalog_free(rows->catalog);
    row_block_free(&rows->block);
    free(rows->last_row);
    free(rows->has_schema);
    free(rows->cells);
    *rows = (struct recover_rows){0};
}

enum rbwp_status recover_rows_note(struct recover_rows *rows, const struct rbwp_block *block)
{
    struct rbwp_rows ignored;
    if (!rows->catalog && !(rows->catalog = rbwp_catalog_new()))
        return RBWP_E_MEMORY;
    /* What breaks a rule is kept, and no reader will know more of it than the catalog does. */
    enum rbwp_status status = rbwp_catalog_take(rows->catalog, block, &ignored, NULL);
    return status == RBWP_E_MEMORY ? status : RBWP_OK;
}

void recover_rows_begin(struct recover_rows *rows, const struct live_tables *tables,
                        const struct live_clock *clock, size_t chunk_words,
                        struct rbwp_writer *writer)
{
    rows->tables = tables;
    rows->clock = clock;
    rows->chunk_words = chunk_words;
    rows->writer = writer;
}

/* What FILE has, and memory for a chunk: before the first one that has rows. */
static enum rbwp_status recover_rows_prepare(struct recover_rows *rows)
{
    size_t words = rows->chunk_words;
    if (rows->cells)
        return RBWP_OK;
    if (!rows->catalog)
        rows->catalog = rbwp_catalog_new();
    rows->last_row = calloc(RBWP_TABLES_MAX + 1, sizeof *rows->last_row);
    rows->has_schema = calloc(RBWP_TABLES_MAX + 1, sizeof *rows->has_schema);
    rows->cells = malloc(words * sizeof *rows->cells);
    uint64_t data = row_block_data_max(RBWP_COLUMNS_MAX, (uint32_t)words / RBWP_COLUMNS_MAX + 1);
    enum rbwp_status status = row_block_init(&rows->block, data, true);
    if (status != RBWP_OK || !rows->catalog || !rows->last_row || !rows->has_schema || !rows->cells)
        return RBWP_E_MEMORY;
    for (uint32_t i = 0; i < rbwp_catalog_schema_count(rows->catalog); i++) {
        uint32_t table = rbwp_catalog_schema(rows->catalog, i)->table;
        rows->has_schema[table] = true;
        rows->last_row[table] = catalog_last_row(rows->catalog, i);
    }
    rows->last_name = catalog_last_name(rows->catalog);
    return RBWP_OK;
}

/* ---- what rows need -------------------------------------------------------------------------- */

/* Names that follow each other, from *number on, which moves behind them. */
static enum rbwp_status write_run(struct recover_rows *rows, uint32_t *number)
{
    const struct live_tables *tables = rows->tables;
    uint32_t first = *number, count = 0, room = tables->name_count - first + 1;
    uint64_t bytes = 0;
    const struct rbwp_text *names = &tables->names[first - 1];
    while (count < room && count < NAMES_AT_ONCE && bytes < NAME_BYTES_AT_ONCE && names[count].text)
        bytes += names[count++].bytes;
    *number += count ? count : 1;
    if (count == 0)
        return RBWP_OK;
    rows->last_name = first + count - 1;
    return rbwp_writer_add_names(rows->writer, first, names, count);
}

static enum rbwp_status recover_rows_write_names(struct recover_rows *rows)
{
    const struct live_tables *tables = rows->tables;
    enum rbwp_status status = RBWP_OK;
    if (!rows->names_done && rows->last_name < tables->name_count)
        for (uint32_t number = (uint32_t)rows->last_name + 1;
             status == RBWP_OK && number <= tables->name_count;)
            status = write_run(rows, &number);
    rows->names_done = true;
    return status;
}

static const struct rbwp_schema *find_schema(const struct recover_rows *rows, uint32_t table)
{
    for (uint32_t i = 0; i < rbwp_catalog_schema_count(rows->catalog); i++)
        if (rbwp_catalog_schema(rows->catalog, i)->table == table)
            return rbwp_catalog_schema(rows->catalog, i);
    return live_tables_find(rows->tables, table);
}

/* A chunk has no other cells than those of 64 bits that stand for themselves. */
static bool recover_rows_fits(const struct rbwp_schema *schema, const struct live_chunk *chunk)
{
    bool fit = schema && schema->column_count == chunk->columns;
    for (uint32_t i = 0; fit && i < schema->column_count; i++)
        fit = schema->columns[i].type != RBWP_COLUMN_BYTES &&
              schema->columns[i].type != RBWP_COLUMN_ROW;
    return fit;
}

/* ---- rows -------------------------------------------------------------------------------------
 */

/* One column out of the rows. most: larger ones become 0. */
static void take_column(const uint64_t *words, uint32_t columns, uint32_t count, uint64_t most,
                        uint64_t *cells_out)
{
    for (uint32_t i = 0; i < count; i++, words += columns)
        cells_out[i] = *words <= most ? *words : 0;
}

static void to_times(const struct live_clock *clock, uint64_t *cells, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (cells[i])
            cells[i] = (uint64_t)live_clock_ns(clock, cells[i]);
}

static enum rbwp_status write_rows(struct recover_rows *rows, const struct rbwp_schema *schema,
                                   const struct live_chunk *chunk, const uint64_t *words,
                                   uint32_t count)
{
    const uint64_t *columns[RBWP_COLUMNS_MAX];
    struct rbwp_sealed_block sealed;
    for (uint32_t c = 0; c < schema->column_count; c++) {
        uint64_t *cells = rows->cells + (size_t)c * count;
        bool name = schema->columns[c].type == RBWP_COLUMN_NAME;
        take_column(words + c, schema->column_count, count, name ? rows->last_name : UINT64_MAX,
                    cells);
        if (c < 64 && chunk->tick_columns >> c & 1)
            to_times(rows->clock, cells, count);
        columns[c] = cells;
    }
    const struct row_batch batch = {
        .schema = schema,
        .cells = columns,
        .rows = count,
        .thread_id = chunk->thread_id,
        .first_row = rows->last_row[schema->table] + 1,
    };
    row_block_seal(&rows->block, &batch, &sealed);
    enum rbwp_status status = rbwp_writer_add_block(rows->writer, &sealed);
    if (status == RBWP_OK)
        rows->last_row[schema->table] += count;
    return status;
}

/* Names and schema, which stand before all rows of the table. */
static enum rbwp_status write_schema(struct recover_rows *rows, const struct rbwp_schema *schema)
{
    enum rbwp_status status = recover_rows_write_names(rows);
    if (status == RBWP_OK && !rows->has_schema[schema->table]) {
        status = rbwp_writer_add_schema(rows->writer, schema);
        rows->has_schema[schema->table] = true;
    }
    return status;
}

enum rbwp_status recover_rows_precede(struct recover_rows *rows, uint32_t table, uint64_t first_row,
                                      uint32_t count, bool *usable_out)
{
    *usable_out = false;
    enum rbwp_status status = recover_rows_prepare(rows);
    const struct rbwp_schema *schema = status == RBWP_OK ? find_schema(rows, table) : NULL;
    if (!schema || count == 0 || first_row <= rows->last_row[schema->table] ||
        first_row > UINT64_MAX - count)
        return status;
    *usable_out = true;
    rows->last_row[schema->table] = first_row + count - 1;
    return write_schema(rows, schema);
}

enum rbwp_status recover_rows_add(struct recover_rows *rows, const struct live_chunk *chunk,
                                  const uint64_t *words, size_t count, uint64_t *rows_out,
                                  bool *damaged_out)
{
    *rows_out = 0;
    *damaged_out = true;
    enum rbwp_status status = recover_rows_prepare(rows);
    const struct rbwp_schema *schema = status == RBWP_OK ? find_schema(rows, chunk->table) : NULL;
    if (status != RBWP_OK || !recover_rows_fits(schema, chunk))
        return status;
    uint64_t most = count / chunk->columns;
    uint32_t written = (uint32_t)(chunk->rows < most ? chunk->rows : most);
    *damaged_out = chunk->rows > most;
    if (written == 0)
        return RBWP_OK;
    status = write_schema(rows, schema);
    if (status == RBWP_OK)
        status = write_rows(rows, schema, chunk, words, written);
    if (status == RBWP_OK)
        *rows_out = written;
    return status;
}
