/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_catalog.c - what a file's blocks say of its tables, learnt block by block (SPEC.md,
 * section 9.2).
 *
 * Rows are handed out block by block and never kept. What is kept, schemas and
 * names, is bounded, whatever the file says.
 */
#include "table_catalog.h"

#include "buffer.h"
#include "bytes.h"
#include "reader_error.h"
#include "table_names.h"
#include "table_rows.h"
#include "table_schema.h"
#include "grow.h"

#include <inttypes.h>
#include <stdlib.h>

#define SCHEMAS_KEPT_MAX (64u << 20)

struct known_table {
    struct rbwp_schema *schema;
    uint64_t last_row, rows;
    uint64_t passed; /* the last row of blocks that are not shown */
};

struct rbwp_catalog {
    struct known_table *tables; /* in the order of the file */
    uint32_t table_count, table_room;
    uint64_t schema_bytes;
    uint32_t place[RBWP_TABLES_MAX + 1]; /* index + 1 in tables, by table */
    struct table_names names;
    struct row_store store;
};

struct rbwp_catalog *rbwp_catalog_new(void)
{
    return calloc(1, sizeof(struct rbwp_catalog));
}

void rbwp_catalog_free(struct rbwp_catalog *catalog)
{
    if (!catalog)
        return;
    for (uint32_t i = 0; i < catalog->table_count; i++)
        free(catalog->tables[i].schema);
    free(catalog->tables);
    table_names_free(&catalog->names);
    row_store_free(&catalog->store);
    free(catalog);
}

uint32_t rbwp_catalog_schema_count(const struct rbwp_catalog *catalog)
{
    return catalog->table_count;
}

const struct rbwp_schema *rbwp_catalog_schema(const struct rbwp_catalog *catalog, uint32_t index)
{
    return catalog->tables[index].schema;
}

uint64_t rbwp_catalog_row_count(const struct rbwp_catalog *catalog, uint32_t index)
{
    return catalog->tables[index].rows;
}

struct rbwp_text rbwp_catalog_name(const struct rbwp_catalog *catalog, uint64_t number)
{
    return table_names_get(&catalog->names, number);
}

uint64_t catalog_last_row(const struct rbwp_catalog *catalog, uint32_t index)
{
    return catalog->tables[index].last_row;
}

uint64_t catalog_last_name(const struct rbwp_catalog *catalog)
{
    return catalog->names.last;
}

static struct known_table *find(struct rbwp_catalog *catalog, uint32_t table)
{
    uint32_t place = table <= RBWP_TABLES_MAX ? catalog->place[table] : 0;
    return place ? &catalog->tables[place - 1] : NULL;
}

const struct rbwp_schema *rbwp_catalog_find(const struct rbwp_catalog *catalog, uint32_t table)
{
    uint32_t place = table <= RBWP_TABLES_MAX ? catalog->place[table] : 0;
    return place ? catalog->tables[place - 1].schema : NULL;
}

void catalog_next_file(struct rbwp_catalog *catalog)
{
    catalog->names.file_last = 0;
    for (uint32_t i = 0; i < catalog->table_count; i++)
        catalog->tables[i].last_row = catalog->tables[i].passed = 0;
}

/* False if it has none. */
static bool latest_time(const struct rbwp_rows *rows, uint32_t row, int64_t *latest_ns_out)
{
    bool any = false;
    *latest_ns_out = 0;
    for (uint32_t c = 0; c < rows->schema->column_count; c++) {
        const int64_t time_ns = (int64_t)rows->cells[c][row];
        if (rows->schema->columns[c].type != RBWP_COLUMN_TIME || (any && time_ns <= *latest_ns_out))
            continue;
        *latest_ns_out = time_ns;
        any = true;
    }
    return any;
}

void catalog_keep_rows(struct rbwp_catalog *catalog, struct rbwp_rows *rows, int64_t from_ns,
                       int64_t until_ns)
{
    uint32_t kept = 0;
    int64_t latest_ns;
    for (uint32_t i = 0; i < rows->rows; i++) {
        if (latest_time(rows, i, &latest_ns) && (latest_ns < from_ns || latest_ns >= until_ns))
            continue;
        for (uint32_t c = 0; kept < i && c < rows->schema->column_count; c++)
            row_store_move(&catalog->store, c, i, kept);
        kept++;
    }
    rows->rows = kept;
}

void rbwp_catalog_pass(struct rbwp_catalog *catalog, uint32_t table, uint64_t last_row)
{
    struct known_table *known = find(catalog, table);
    if (known && last_row > known->passed)
        known->passed = last_row;
}

/* ---- a schema ---------------------------------------------------------------------- */

/* R45. The first one counts; the same again is fine. */
static bool is_same(const struct rbwp_schema *known, const uint8_t *data, size_t count)
{
    struct buffer bytes = {0};
    schema_encode(known, &bytes);
    bool same = !bytes.failed && bytes.count == count && memcmp(bytes.bytes, data, count) == 0;
    buffer_free(&bytes);
    return same;
}

/* R46. */
static bool names_known_tables(struct rbwp_catalog *catalog, const struct rbwp_schema *schema)
{
    for (uint32_t i = 0; i < schema->column_count; i++) {
        uint32_t table = schema->columns[i].table;
        if (table && table != schema->table && !find(catalog, table))
            return false;
    }
    return true;
}

static enum rbwp_status keep(struct rbwp_catalog *catalog, const struct rbwp_schema *schema,
                             size_t bytes)
{
    if (catalog->schema_bytes + bytes > SCHEMAS_KEPT_MAX)
        return RBWP_E_LIMIT;
    if (!grow_array32(&catalog->tables, &catalog->table_room, catalog->table_count + 1,
                      sizeof *catalog->tables))
        return RBWP_E_MEMORY;
    struct rbwp_schema *own = schema_copy(schema);
    if (!own)
        return RBWP_E_MEMORY;
    catalog->schema_bytes += bytes;
    catalog->tables[catalog->table_count++] = (struct known_table){.schema = own};
    catalog->place[own->table] = catalog->table_count;
    return RBWP_OK;
}

static enum rbwp_status take_schema(struct rbwp_catalog *catalog, const uint8_t *data, size_t count,
                                    struct place place, struct rbwp_error *error)
{
    bool memory;
    struct rbwp_schema *schema = schema_decode(data, count, &memory);
    place.rule = RULE_SCHEMA;
    if (!schema)
        return memory ? error_set_memory(error, place.section)
                      : error_set(error, RBWP_E_CORRUPT, place,
                                  "a schema does not fill its block, or has a type that is not "
                                  "known; its table is left out");
    const struct known_table *known = find(catalog, schema->table);
    enum rbwp_status status = RBWP_END;
    if (known) {
        place.rule = RULE_SCHEMA_ONCE;
        if (!is_same(known->schema, data, count))
            status = error_set(error, RBWP_E_CORRUPT, place,
                               "table %" PRIu32 " has another schema already, which counts",
                               schema->table);
    } else if (!names_known_tables(catalog, schema)) {
        place.rule = RULE_SCHEMA_ROWS_OF;
        status = error_set(error, RBWP_E_CORRUPT, place,
                           "table %" PRIu32 " names rows of one that has no schema yet; it is left "
                           "out",
                           schema->table);
    } else {
        status = keep(catalog, schema, count);
        place.rule = 0;
        if (status != RBWP_OK)
            error_set(error, status, place, "the schemas cannot be kept: %s",
                      rbwp_status_text(status));
        else
            status = RBWP_END;
    }
    free(schema);
    return status;
}

/* ---- names ------------------------------------------------------------------------- */

static enum rbwp_status take_names(struct rbwp_catalog *catalog, const uint8_t *data, size_t count,
                                   struct place place, struct rbwp_error *error)
{
    enum rbwp_status status = table_names_add(&catalog->names, data, count);
    if (status == RBWP_OK)
        return RBWP_END;
    if (status != RBWP_E_CORRUPT)
        return error_set(error, status, place, "the names cannot be kept: %s",
                         rbwp_status_text(status));
    place.rule = RULE_NAMES;
    return error_set(error, status, place,
                     "names do not fill their block, or have numbers that were given before");
}

/* ---- rows -------------------------------------------------------------------------- */

/* The largest number that a cell of a column may have; UINT64_MAX: any. */
static uint64_t reference_max(struct rbwp_catalog *catalog, const struct known_table *table,
                              const struct rbwp_column *column)
{
    if (column->type == RBWP_COLUMN_NAME)
        return catalog->names.last;
    if (column->type != RBWP_COLUMN_ROW || column->table == table->schema->table)
        return UINT64_MAX;
    const struct known_table *other = find(catalog, column->table);
    return other->passed > other->last_row ? other->passed : other->last_row;
}

/* R49 for cells. The column that breaks it, or -1. */
static int refers_wrongly(struct rbwp_catalog *catalog, const struct known_table *table,
                          const struct rows_head *head)
{
    const struct rbwp_schema *schema = table->schema;
    for (uint32_t c = 0; c < head->column_count; c++) {
        const uint64_t *cells = catalog->store.column[c];
        uint64_t most = reference_max(catalog, table, &schema->columns[c]), highest = 0;
        if (schema->columns[c].type == RBWP_COLUMN_ROW && most == UINT64_MAX) {
            for (uint32_t i = 0; i < head->rows; i++)
                if (cells[i] >= head->first_row + i)
                    return (int)c;
        } else if (most != UINT64_MAX) {
            for (uint32_t i = 0; i < head->rows; i++)
                highest = cells[i] > highest ? cells[i] : highest;
            if (highest > most)
                return (int)c;
        }
    }
    return -1;
}

static enum rbwp_status take_rows(struct rbwp_catalog *catalog, const struct rbwp_block *block,
                                  struct rbwp_rows *rows_out, struct place place,
                                  struct rbwp_error *error)
{
    const uint8_t *data = block->data + TABLE_TAG_BYTES;
    size_t count = block->header.data_bytes - TABLE_TAG_BYTES;
    struct rows_head head;
    place.rule = RULE_ROWS_FILL;
    if (!rows_head_decode(data, count, &head))
        return error_set(error, RBWP_E_CORRUPT, place, "a block of rows ends in its head");
    struct known_table *table = find(catalog, head.table);
    place.rule = RULE_ROWS_REFER;
    if (!table)
        return error_set(error, RBWP_E_CORRUPT, place,
                         "rows of table %" PRIu32 ", which has no schema", head.table);
    if (head.first_row <= table->last_row)
        return error_set(error, RBWP_E_CORRUPT, place,
                         "row %" PRIu64 " of table %" PRIu32 " comes again", head.first_row,
                         head.table);
    enum rbwp_status status = rows_decode(&catalog->store, table->schema, &head, data, count);
    if (status == RBWP_E_MEMORY)
        return error_set_memory(error, place.section);
    int64_t first_ns = 0, last_ns = 0;
    if (status == RBWP_OK)
        rows_times(table->schema, head.column_count, catalog->store.column, head.rows, &first_ns,
                   &last_ns);
    place.rule = RULE_ROWS_FILL;
    if (status != RBWP_OK || first_ns != head.first_ns || last_ns != head.last_ns)
        return error_set(error, RBWP_E_CORRUPT, place,
                         "%" PRIu32 " rows of table %" PRIu32
                         " do not fill their block, or are not of its times",
                         head.rows, head.table);
    place.rule = RULE_ROWS_REFER;
    int wrong = refers_wrongly(catalog, table, &head);
    if (wrong >= 0)
        return error_set(error, RBWP_E_CORRUPT, place,
                         "column %d of table %" PRIu32 " names what is not there yet", wrong,
                         head.table);
    table->last_row = head.first_row + head.rows - 1;
    table->rows += head.rows;
    *rows_out = (struct rbwp_rows){
        .schema = table->schema,
        .first_row = head.first_row,
        .rows = head.rows,
        .thread_id = block->header.thread_id,
        .first_ns = first_ns,
        .last_ns = last_ns,
        .cells = catalog->store.column,
        .bytes = data,
    };
    return RBWP_OK;
}

/* ---- a block ------------------------------------------------------------------------- */

static bool has_tag(const struct rbwp_block *block, const char tag[4])
{
    return memcmp(block->data, tag, TABLE_TAG_BYTES) == 0;
}

enum rbwp_status rbwp_catalog_take(struct rbwp_catalog *catalog, const struct rbwp_block *block,
                                   struct rbwp_rows *rows_out, struct rbwp_error *error)
{
    if (block->header.records || block->header.data_bytes < TABLE_TAG_BYTES)
        return RBWP_END;
    const uint8_t *data = block->data + TABLE_TAG_BYTES;
    size_t count = block->header.data_bytes - TABLE_TAG_BYTES;
    struct place place = {"table", block->offset, 0};
    if (has_tag(block, RBWP_ROWS_TAG))
        return take_rows(catalog, block, rows_out, place, error);
    if (has_tag(block, RBWP_SCHEMA_TAG))
        return take_schema(catalog, data, count, place, error);
    if (has_tag(block, RBWP_NAMES_TAG))
        return take_names(catalog, data, count, place, error);
    return RBWP_END;
}
