/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_catalog.c - what a file's blocks say of its tables, learnt block by block (SPEC.md,
 * section 9.2).
 *
 * Rows are handed out block by block and never kept. What is kept, schemas and
 * names, is bounded, whatever the file says.
 */
#include "catalog_join.h"

#include "grow.h"
#include "reader_error.h"
#include "table_rows.h"
#include "table_schema.h"
#include "writer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- the names of a file by number (SPEC.md, section 9.2, R47) ------------------------------- */
/*
 * A block of names is kept as it came, with
 * where each name begins; numbers are found by halving among the blocks.
 */

/* Names of blocks, in the order of their numbers. Zeros are a valid start. */
struct table_names {
    struct names_run *runs;
    uint32_t run_count, run_room;
    uint64_t last;      /* the highest number so far */
    uint64_t file_last; /* in the file that is read: lower where an earlier one had names, too */
    uint64_t bytes;     /* kept; at most NAMES_KEPT_MAX */
};
#define NAMES_KEPT_MAX (64u << 20)

static struct rbwp_text table_names_get(const struct table_names *names, uint64_t number);

#define NAMES_HEAD_BYTES 8u

struct names_run {
    uint64_t first;
    uint32_t count;
    uint32_t *ends; /* of each name in text; text follows in the same memory */
    const char *text;
};

static void table_names_free(struct table_names *names)
{
    for (uint32_t i = 0; i < names->run_count; i++)
        free(names->runs[i].ends);
    free(names->runs);
    *names = (struct table_names){0};
}

/* R47 but for the numbers. The bytes of the names, or -1. */
static int64_t text_bytes(const uint8_t *lengths, uint32_t count, size_t left)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += load_le32(lengths + (size_t)i * 4);
    return sum == left ? (int64_t)sum : -1;
}

/* Names of an earlier file of the recording come again; behind them run has what is new. False if
 * one is another than it was. */
static bool pass_known(struct table_names *names, struct names_run *run, const uint8_t **lengths,
                       struct cursor *texts)
{
    for (; run->count && run->first <= names->last; run->first++, run->count--, *lengths += 4) {
        struct rbwp_text known = table_names_get(names, run->first);
        uint32_t bytes = load_le32(*lengths);
        const uint8_t *text = cursor_take(texts, bytes);
        if (known.bytes && (known.bytes != bytes || memcmp(known.text, text, bytes) != 0))
            return false;
        names->file_last = run->first;
    }
    return true;
}

/* The data behind a tag: RBWP_OK, RBWP_E_CORRUPT (R47), RBWP_E_MEMORY, RBWP_E_LIMIT. */
static enum rbwp_status table_names_add(struct table_names *names, const uint8_t *data,
                                        size_t count)
{
    struct cursor cursor = {data, count};
    const uint8_t *head = cursor_take(&cursor, NAMES_HEAD_BYTES);
    if (!head)
        return RBWP_E_CORRUPT;
    struct names_run run = {.first = load_le32(head), .count = load_le32(head + 4)};
    const uint8_t *lengths = cursor_take(&cursor, (uint64_t)run.count * 4);
    int64_t bytes = lengths ? text_bytes(lengths, run.count, cursor.left) : -1;
    if (bytes < 0 || run.count == 0 || run.first <= names->file_last)
        return RBWP_E_CORRUPT;
    if (run.first <= names->last) {
        if (!pass_known(names, &run, &lengths, &cursor))
            return RBWP_E_CORRUPT;
        bytes = (int64_t)cursor.left;
    }
    if (run.count == 0)
        return RBWP_OK;
    size_t kept = (size_t)run.count * sizeof *run.ends + (size_t)bytes;
    if (names->bytes + kept > NAMES_KEPT_MAX)
        return RBWP_E_LIMIT;
    run.ends = malloc(kept);
    if (!run.ends ||
        !grow_array32(&names->runs, &names->run_room, names->run_count + 1, sizeof *names->runs)) {
        free(run.ends);
        return RBWP_E_MEMORY;
    }
    uint32_t end = 0;
    for (uint32_t i = 0; i < run.count; i++)
        run.ends[i] = end += load_le32(lengths + (size_t)i * 4);
    run.text = memcpy(run.ends + run.count, cursor.next, (size_t)bytes);
    names->runs[names->run_count++] = run;
    names->last = names->file_last = run.first + run.count - 1;
    names->bytes += kept;
    return RBWP_OK;
}

static struct rbwp_text table_names_get(const struct table_names *names, uint64_t number)
{
    uint32_t low = 0, high = names->run_count; /* the run is in [low, high) */
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (names->runs[middle].first <= number)
            low = middle;
        else
            high = middle;
    }
    const struct names_run *run = low < high ? &names->runs[low] : NULL;
    if (!run || number < run->first || number - run->first >= run->count)
        return (struct rbwp_text){"", 0};
    uint64_t i = number - run->first;
    uint32_t begin = i ? run->ends[i - 1] : 0;
    return (struct rbwp_text){run->text + begin, run->ends[i] - begin};
}

enum rbwp_status rbwp_writer_add_names(struct rbwp_writer *writer, uint32_t first,
                                       const struct rbwp_text *names, uint32_t count)
{
    struct buffer buffer = {0};
    uint8_t number[4];
    if (first == 0 || count == 0 || count > UINT32_MAX - first)
        return RBWP_E_INVALID;
    store_le32(number, first);
    buffer_append(&buffer, number, sizeof number);
    store_le32(number, count);
    buffer_append(&buffer, number, sizeof number);
    for (uint32_t i = 0; i < count; i++) {
        store_le32(number, names[i].bytes);
        buffer_append(&buffer, number, sizeof number);
    }
    for (uint32_t i = 0; i < count; i++)
        buffer_append(&buffer, names[i].text, names[i].bytes);
    enum rbwp_status status = buffer.failed                         ? RBWP_E_MEMORY
                              : buffer.count > RBWP_BLOCK_BYTES_MAX ? RBWP_E_LIMIT
                                                                    : RBWP_OK;
    if (status == RBWP_OK)
        status = writer_add_packed(writer, RBWP_NAMES_TAG, buffer.bytes, (uint32_t)buffer.count);
    buffer_free(&buffer);
    return status;
}

/* ---- table catalog --------------------------------------------------------------------------- */

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

static struct known_table *table_catalog_find(struct rbwp_catalog *catalog, uint32_t table)
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
    struct known_table *known = table_catalog_find(catalog, table);
    if (known && last_row > known->passed)
        known->passed = last_row;
}

/* ---- a schema ---------------------------------------------------------------------- */

/* R45. The first one counts; the same again is fine. */
static bool table_catalog_is_same(const struct rbwp_schema *known, const uint8_t *data,
                                  size_t count)
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
        if (table && table != schema->table && !table_catalog_find(catalog, table))
            return false;
    }
    return true;
}

static enum rbwp_status table_catalog_keep(struct rbwp_catalog *catalog,
                                           const struct rbwp_schema *schema, size_t bytes)
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
                                  "known; its table is dropped");
    const struct known_table *known = table_catalog_find(catalog, schema->table);
    enum rbwp_status status = RBWP_END;
    if (known) {
        place.rule = RULE_SCHEMA_ONCE;
        if (!table_catalog_is_same(known->schema, data, count))
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
        status = table_catalog_keep(catalog, schema, count);
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

static enum rbwp_status table_catalog_take_names(struct rbwp_catalog *catalog, const uint8_t *data,
                                                 size_t count, struct place place,
                                                 struct rbwp_error *error)
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
    const struct known_table *other = table_catalog_find(catalog, column->table);
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

static enum rbwp_status table_catalog_on_rows(struct rbwp_catalog *catalog,
                                              const struct rbwp_block *block,
                                              struct rbwp_rows *rows_out, struct place place,
                                              struct rbwp_error *error)
{
    const uint8_t *data = block->data + TABLE_TAG_BYTES;
    size_t count = block->header.data_bytes - TABLE_TAG_BYTES;
    struct rows_head head;
    place.rule = RULE_ROWS_FILL;
    if (!rows_head_decode(data, count, &head))
        return error_set(error, RBWP_E_CORRUPT, place, "a block of rows ends in its head");
    struct known_table *table = table_catalog_find(catalog, head.table);
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

static bool table_catalog_has_tag(const struct rbwp_block *block, const char tag[4])
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
    if (table_catalog_has_tag(block, RBWP_ROWS_TAG))
        return table_catalog_on_rows(catalog, block, rows_out, place, error);
    if (table_catalog_has_tag(block, RBWP_SCHEMA_TAG))
        return take_schema(catalog, data, count, place, error);
    if (table_catalog_has_tag(block, RBWP_NAMES_TAG))
        return table_catalog_take_names(catalog, data, count, place, error);
    return RBWP_END;
}
