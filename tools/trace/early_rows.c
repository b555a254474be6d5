/* SPDX-License-Identifier: Apache-2.0 */
#include "early_rows.h"
#include "catalog_join.h"
#include "file_tables.h"

#include <stdlib.h>
#include <string.h>

static const enum known_table known[EARLY_TABLES] = {
    [EARLY_ARGUMENT] = KNOWN_argument,     [EARLY_CALL_CPU] = KNOWN_call_cpu,
    [EARLY_THREAD_CPU] = KNOWN_thread_cpu, [EARLY_STACK_WORD] = KNOWN_stack_word,
    [EARLY_CODE_FILE] = KNOWN_code_file,   [EARLY_PYTHON_FRAME] = KNOWN_python_frame,
    [EARLY_OPEN_CALL] = KNOWN_open_call};
/* Those that each version of a table has; the others may be missing. */
#define IS_ALWAYS(table, name, type, role, unit, since, meaning) +((since) == 1)
#define COLUMNS_OF_TABLE(table) [KNOWN_##table] = 0 TABLE_##table(IS_ALWAYS),
static const uint16_t columns_of[] = {KNOWN_TABLES(COLUMNS_OF_TABLE)};

/* Where rows are read from. */
struct loading {
    struct early_rows *early;
    struct rbwp_reader *reader;
    const struct early_rows_user *user;
};

/* ---- which blocks ------------------------------------------------------------------------ */

static bool has_all_columns(const uint16_t *columns, unsigned count)
{
    unsigned found = 0;
    while (found < count && columns[found] != TABLE_NO_COLUMN)
        found++;
    return found == count;
}

/* Of a table: its number; else 0. */
static uint32_t table_of(const struct rbwp_block *block)
{
    struct rbwp_text tag = {(const char *)block->data, 4};
    if (block->header.records || block->header.data_bytes < 8 ||
        (memcmp(tag.text, RBWP_ROWS_TAG, 4) != 0 && memcmp(tag.text, RBWP_SCHEMA_TAG, 4) != 0))
        return 0;
    const uint8_t *number = block->data + tag.bytes;
    return number[0] | (uint32_t)number[1] << 8 | (uint32_t)number[2] << 16 |
           (uint32_t)number[3] << 24;
}

static bool is_wanted(const struct early_rows *early, uint32_t table)
{
    for (unsigned i = 0; i < EARLY_TABLES; i++)
        if (early->tables[i] == table)
            return true;
    return false;
}

static bool found_all(const struct early_rows *early)
{
    return !is_wanted(early, 0);
}

static void note_schema(struct early_rows *early, const struct rbwp_schema *schema)
{
    uint16_t columns[RBWP_COLUMNS_MAX];
    for (unsigned i = 0; i < EARLY_TABLES; i++)
        if (!early->tables[i] && table_bind(schema, known[i], columns) &&
            has_all_columns(columns, columns_of[known[i]]))
            early->tables[i] = schema->table;
}

/* What breaks a rule is reported when the file is read for its spans. */
static void early_rows_on_block(struct loading *loading, const struct rbwp_block *block)
{
    struct early_rows *early = loading->early;
    struct rbwp_rows rows;
    struct rbwp_error error;
    uint32_t table = table_of(block);
    if (block->header.records || (found_all(early) && table && !is_wanted(early, table)))
        return;
    enum rbwp_status status = rbwp_catalog_take(early->catalog, block, &rows, &error);
    early->failed |= status == RBWP_E_MEMORY;
    uint32_t schemas = rbwp_catalog_schema_count(early->catalog);
    for (uint32_t i = 0; table && !found_all(early) && i < schemas; i++)
        note_schema(early, rbwp_catalog_schema(early->catalog, i));
    if (status == RBWP_OK) {
        const uint64_t *cells[RBWP_COLUMNS_MAX];
        for (unsigned i = 0; i < EARLY_TABLES; i++)
            if (loading->early->tables[i] == rows.schema->table &&
                table_bind_rows(&rows, known[i], cells))
                loading->early->failed |=
                    !loading->user->rows(loading->user->context, i, cells, rows.rows);
    }
}

static void take_blocks(struct loading *loading, uint64_t end)
{
    struct rbwp_block block;
    while (!loading->early->failed && rbwp_reader_next_block(loading->reader, &block) == RBWP_OK &&
           block.offset < end)
        early_rows_on_block(loading, &block);
}

/* The first range of a table begins with its schema. False if the index is wrong. */
static bool see_schema(struct loading *loading, const struct rbwp_table_range *range)
{
    struct rbwp_block block;
    if (rbwp_reader_seek(loading->reader, range->offset) != RBWP_OK ||
        rbwp_reader_next_block(loading->reader, &block) != RBWP_OK || block.offset != range->offset)
        return false;
    early_rows_on_block(loading, &block);
    return true;
}

/* The blocks of names and of the tables in the order of the file: ranges may lie in each other. */
static void take_ranges(struct loading *loading, const struct rbwp_table_range *ranges,
                        uint32_t count)
{
    uint64_t end = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct rbwp_table_range *range = &ranges[i];
        if (range->table && !is_wanted(loading->early, range->table))
            continue;
        uint64_t from = range->offset < end ? end : range->offset;
        uint64_t to =
            range->bytes < UINT64_MAX - range->offset ? range->offset + range->bytes : UINT64_MAX;
        if (to <= from || rbwp_reader_seek(loading->reader, from) != RBWP_OK)
            continue;
        take_blocks(loading, to);
        end = to;
    }
}

/* False if the index is wrong. */
static bool find_tables(struct loading *loading, const struct rbwp_table_range *ranges,
                        uint32_t count)
{
    uint8_t *seen = calloc(RBWP_TABLES_MAX + 1, 1);
    bool good = seen;
    loading->early->failed |= !seen;
    for (uint32_t i = 0; good && i < count && !found_all(loading->early); i++) {
        uint32_t table = ranges[i].table;
        if (table == 0 || (table <= RBWP_TABLES_MAX && seen[table]))
            continue;
        good = table <= RBWP_TABLES_MAX && see_schema(loading, &ranges[i]);
        if (good)
            seen[table] = 1;
    }
    free(seen);
    return good;
}

/* False if the index is wrong: then nothing was taken. */
static bool load_by_index(struct loading *loading, const struct rbwp_trailer *trailer)
{
    uint32_t count = trailer->table_range_count;
    struct rbwp_table_range *ranges = table_ranges_in_order(trailer);
    if (!ranges) {
        loading->early->failed = true;
        return true;
    }
    bool good = find_tables(loading, ranges, count);
    for (unsigned i = 0; good && i < EARLY_TABLES; i++)
        if (loading->early->tables[i]) {
            take_ranges(loading, ranges, count);
            break;
        }
    free(ranges);
    return good;
}

/* ---- all of them --------------------------------------------------------------------------- */

static bool start_catalog(struct early_rows *early)
{
    rbwp_catalog_free(early->catalog);
    memset(early->tables, 0, sizeof early->tables);
    early->catalog = rbwp_catalog_new();
    early->failed |= !early->catalog;
    return early->catalog;
}

/* Records have no rows in them: their blocks are passed over by their headers. */
static bool pass_over_records(void *context, struct rbwp_block *block)
{
    (void)context;
    return block->header.records > 0;
}

static void load_all(struct loading *loading, const struct rbwp_trailer *trailer)
{
    struct early_rows *early = loading->early;
    /* A file may have tables without TIDX: then nothing says that it has none. */
    bool by_index = trailer && trailer->table_range_count && start_catalog(early) &&
                    load_by_index(loading, trailer);
    if (by_index || early->failed)
        return;
    early->failed |= rbwp_reader_rewind(loading->reader) != RBWP_OK;
    if (!early->failed && start_catalog(early))
        take_blocks(loading, UINT64_MAX);
}

static bool rewind_after(struct loading *loading)
{
    uint64_t problems = rbwp_reader_problem_count(loading->reader);
    loading->early->failed |= rbwp_reader_rewind(loading->reader) != RBWP_OK;
    return problems > 0;
}

/* Of the names of two files those of the one that has more: the same names have the same numbers,
 * and so have tables. */
static void keep_names(struct early_rows *early, const struct early_rows *before)
{
    struct rbwp_catalog *other = before->catalog;
    if (other && (!early->catalog ||
                  catalog_last_name(early->catalog) < catalog_last_name(before->catalog))) {
        other = early->catalog;
        early->catalog = before->catalog;
    }
    rbwp_catalog_free(other);
    for (unsigned i = 0; i < EARLY_TABLES; i++)
        early->tables[i] = early->tables[i] ? early->tables[i] : before->tables[i];
}

void early_rows_load(struct early_rows *early, struct input *input,
                     const struct early_rows_user *user)
{
    const struct rbwp_trailer *trailer = rbwp_reader_trailer(input->reader);
    const struct early_rows before = *early;
    struct loading loading = {early, input->reader, user};
    if (rbwp_reader_is_stream(input->reader) || input->follow)
        return;
    early->catalog = NULL;
    rbwp_reader_set_decoded(input->reader, pass_over_records, NULL);
    load_all(&loading, trailer);
    rbwp_reader_set_decoded(input->reader, NULL, NULL);
    /* A header that is damaged leads past the blocks behind it. */
    if (rewind_after(&loading) && !early->failed) {
        user->forget(user->context);
        load_all(&loading, trailer);
        (void)rewind_after(&loading);
    }
    keep_names(early, &before);
}

bool early_rows_indexed(struct input *input, enum early_table table)
{
    struct early_rows early = {0};
    struct loading loading = {&early, input->reader, NULL};
    const struct rbwp_trailer *trailer = rbwp_reader_trailer(input->reader);
    if (!trailer || !trailer->table_range_count || rbwp_reader_is_stream(input->reader) ||
        input->follow)
        return false;
    rbwp_reader_set_decoded(input->reader, pass_over_records, NULL);
    if (start_catalog(&early))
        (void)find_tables(&loading, trailer->table_ranges, trailer->table_range_count);
    rbwp_reader_set_decoded(input->reader, NULL, NULL);
    (void)rewind_after(&loading);
    early_rows_free(&early);
    return early.tables[table] != 0;
}

void early_rows_free(struct early_rows *early)
{
    rbwp_catalog_free(early->catalog);
}
