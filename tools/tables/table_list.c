/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_list.c - see table_list.h. The first rows of a table are shown, so they are kept until the
 * last row of the file has been counted.
 */
#include "table_list.h"

#include "file_tables.h"
#include "message.h"
#include "result_print.h"
#include "table_export.h"
#include "terminal_text.h"
#include "trace_axis.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- the tables of an input by its index ----------------------------------------------------- */
/*
 * Schemas, and the first rows of each, while the rest of the file is not read.
 *
 * Three rounds over the ranges: schemas, so that rows are
 * known whatever order they come in; names; and the first rows of each table. What lies between is
 * passed over, block by block inside a range and at once between ranges.
 */

/* The first rows of a table. False: they cannot be kept, and all ends. */
typedef bool table_glance_fn(void *context, const struct rbwp_rows *rows);

struct glance {
    struct input *input;
    struct rbwp_catalog *catalog;
    struct rbwp_table_range *ranges; /* in the order of the file */
    uint32_t count;
    bool seen[RBWP_TABLES_MAX + 1]; /* in this round */
    table_glance_fn *take;
    void *context;
};

/* True when the input has an index of its tables, and can be read here and there. */
static bool table_glance_can(const struct input *input)
{
    const struct rbwp_trailer *trailer = rbwp_reader_trailer(input->reader);
    return !rbwp_reader_is_stream(input->reader) && trailer && trailer->table_range_count;
}

/* Has the block this tag, and, of a table, its number behind it? */
static bool is_of(const struct rbwp_block *block, const char tag[4], uint32_t table)
{
    const uint8_t *data = block->data;
    if (block->header.records || block->header.data_bytes < 8 || memcmp(data, tag, 4) != 0)
        return false;
    return table == 0 || (data[4] | (uint32_t)data[5] << 8 | (uint32_t)data[6] << 16 |
                          (uint32_t)data[7] << 24) == table;
}

/* Shows the catalog the blocks with this tag in a range: the first that gives something if first,
 * else all. False if one is broken, or, with first, if none gives anything. */
static bool table_list_show(struct glance *glance, const struct rbwp_table_range *range,
                            const char tag[4], bool first)
{
    struct rbwp_reader *reader = glance->input->reader;
    struct rbwp_block block;
    struct rbwp_rows rows;
    uint32_t tables = rbwp_catalog_schema_count(glance->catalog);
    if (rbwp_reader_seek(reader, range->offset) != RBWP_OK)
        return false;
    while (rbwp_reader_next_block(reader, &block) == RBWP_OK &&
           block.offset - range->offset < range->bytes) {
        if (!is_of(&block, tag, range->table))
            continue;
        enum rbwp_status status = rbwp_catalog_take(glance->catalog, &block, &rows, NULL);
        if (status == RBWP_OK)
            return glance->take(glance->context, &rows);
        if (first && rbwp_catalog_schema_count(glance->catalog) > tables)
            return true;
        if (status < 0)
            return false;
    }
    return !first && rbwp_reader_problem_count(reader) == 0;
}

/* The first block with this tag of each table. */
static bool show_first(struct glance *glance, const char tag[4], bool of_rows)
{
    memset(glance->seen, 0, sizeof glance->seen);
    for (uint32_t i = 0; i < glance->count; i++) {
        const struct rbwp_table_range *range = &glance->ranges[i];
        if (range->table > RBWP_TABLES_MAX)
            return false;
        if (range->table == 0 || (of_rows && range->rows == 0) || glance->seen[range->table])
            continue;
        if (!table_list_show(glance, range, tag, true))
            return false;
        glance->seen[range->table] = true;
    }
    return true;
}

static bool show_names(struct glance *glance)
{
    for (uint32_t i = 0; i < glance->count; i++) {
        const struct rbwp_table_range *range = &glance->ranges[i];
        if (range->table == 0 && !table_list_show(glance, range, RBWP_NAMES_TAG, false))
            return false;
        if (range->table)
            rbwp_catalog_pass(glance->catalog, range->table, range->last_row);
    }
    return true;
}

/*
 * Shows the catalog, which is new, the schemas and, with take, the names; and gives take (NULL:
 * nobody asks) the first block of rows of each table. False when something in the file is not as
 * the index says, or take says so: then the whole file is read (rbwp_reader_rewind).
 */
static bool table_glance(struct input *input, struct rbwp_catalog *catalog, table_glance_fn *take,
                         void *context)
{
    const struct rbwp_trailer *trailer = rbwp_reader_trailer(input->reader);
    struct glance *glance = calloc(1, sizeof *glance);
    struct rbwp_table_range *ranges = table_ranges_in_order(trailer);
    bool good = glance && ranges;
    if (good) {
        *glance = (struct glance){.input = input,
                                  .catalog = catalog,
                                  .ranges = ranges,
                                  .count = trailer->table_range_count,
                                  .take = take,
                                  .context = context};
        good = show_first(glance, RBWP_SCHEMA_TAG, false) &&
               (!take || (show_names(glance) && show_first(glance, RBWP_ROWS_TAG, true)));
    }
    free(ranges);
    free(glance);
    return good;
}

/* ---- table list ------------------------------------------------------------------------------ */

#define SAMPLE_ROWS 3u

struct listed {
    const struct rbwp_schema *schema; /* when all have been read */
    uint64_t rows;
    int64_t first_ns, last_ns; /* 0,0 without times */
    struct rbwp_rows sample;   /* SAMPLE_ROWS at most, in memory of its own */
};

struct list {
    struct listed *tables; /* in the order of the catalog */
    uint32_t room, count;  /* of these it has room, and shows */
    const struct rbwp_catalog *catalog;
};

/* ---- reading --------------------------------------------------------------------- */

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
    if (!GROW_ZEROED(list->tables, list->room, rbwp_catalog_schema_count(list->catalog)))
        return NULL;
    while (rbwp_catalog_schema(list->catalog, i)->table != table)
        i++;
    return &list->tables[i];
}

static void count_rows(struct listed *table, uint64_t rows, int64_t first_ns, int64_t last_ns)
{
    trace_widen(table->rows, &table->first_ns, &table->last_ns, first_ns, last_ns);
    table->rows += rows;
}

static bool table_list_on_rows(struct list *list, const struct rbwp_rows *rows)
{
    struct listed *table = line_of(list, rows->schema->table);
    if (!table || (table->rows == 0 && !keep_sample(&table->sample, rows)))
        return false;
    count_rows(table, rows->rows, rows->first_ns, rows->last_ns);
    return true;
}

static bool table_list_take_sample(void *context, const struct rbwp_rows *rows)
{
    struct listed *table = line_of(context, rows->schema->table);
    return table && keep_sample(&table->sample, rows);
}

/* By the index. False if that cannot be, for whatever reason. */
static bool list_by_index(struct list *list, struct file_tables *walk, bool json)
{
    const struct rbwp_trailer *trailer = rbwp_reader_trailer(walk->input->reader);
    if (!table_glance(walk->input, walk->catalog, json ? NULL : table_list_take_sample, list))
        return false;
    for (uint32_t i = 0; i < trailer->table_range_count; i++) {
        const struct rbwp_table_range *range = &trailer->table_ranges[i];
        struct listed *table = range->rows && range->table ? line_of(list, range->table) : NULL;
        if (table)
            count_rows(table, range->rows, range->first_ns, range->last_ns);
    }
    return GROW_ZEROED(list->tables, list->room, rbwp_catalog_schema_count(walk->catalog));
}

static bool list_by_blocks(struct list *list, struct file_tables *walk)
{
    struct rbwp_rows rows;
    while (file_tables_next(walk, &rows))
        if (!table_list_on_rows(list, &rows))
            return false;
    return GROW_ZEROED(list->tables, list->room, rbwp_catalog_schema_count(walk->catalog));
}

static void free_list(struct list *list)
{
    for (uint32_t i = 0; i < list->room; i++)
        free((void *)(uintptr_t)list->tables[i].sample.cells);
    free(list->tables);
}

/* ---- text ------------------------------------------------------------------------- */

static void table_list_put_name(struct out *out, const char *name, size_t bytes)
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
    table_list_put_name(out, column->name, column->name_bytes);
    out_format(out, ": %s", rbwp_column_type_name(column->type));
    if (column->table)
        out_format(out, " of table %u", column->table);
    if (column->unit_bytes) {
        out_text(out, " in ");
        table_list_put_name(out, column->unit, column->unit_bytes);
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
            table_list_put_name(out, sample->schema->columns[c].name,
                                sample->schema->columns[c].name_bytes);
            out_text(out, "=");
            cell_value(out, &source, c, i, CELL_PEOPLE);
        }
        out_text(out, "\n");
    }
}

static void text_table(struct out *out, const struct rbwp_catalog *catalog,
                       const struct listed *table)
{
    const struct rbwp_schema *schema = table->schema;
    table_list_put_name(out, schema->name, schema->name_bytes);
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

static void text_tables(struct out *out, const struct list *list)
{
    for (uint32_t i = 0; i < list->count; i++) {
        out_text(out, i ? "\n" : "");
        text_table(out, list->catalog, &list->tables[i]);
    }
    out_text(out, list->count ? "" : "no tables\n");
}

/* ---- JSON -------------------------------------------------------------------------- */

#define LISTED(field) RESULT_FIELD(struct listed, field)
static const struct result_column listed_columns[] = {
    {NULL, NULL, 0, RESULT_PART_AT, LISTED(schema), .part = table_head_columns},
    {"row_count", NULL, 0, RESULT_COUNT, LISTED(rows)},
    {"first", NULL, 0, RESULT_TIME, LISTED(first_ns)},
    {"last", NULL, 0, RESULT_TIME, LISTED(last_ns)},
    {NULL, NULL, 0, RESULT_PART_AT, LISTED(schema), .part = table_columns_columns},
    RESULT_LAST};
static const struct result_table listed_table = {"tables", NULL, listed_columns, "", NULL, 0};
const struct result_column table_list_columns[] = {{"tables", NULL, 0, RESULT_LIST,
                                                    .list = &listed_table,
                                                    RESULT_LIST_OF(struct list, tables, count)},
                                                   RESULT_LAST};

bool table_list(struct out *out, struct input *input, struct table_list_form form,
                uint64_t *broken_out)
{
    struct file_tables walk;
    struct list list = {0};
    if (!file_tables_begin(&walk, input))
        return false;
    list.catalog = walk.catalog;
    bool good = table_glance_can(input) && list_by_index(&list, &walk, form.json || form.csv);
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
    list.count = good ? rbwp_catalog_schema_count(walk.catalog) : 0;
    for (uint32_t i = 0; i < list.count; i++)
        list.tables[i].schema = rbwp_catalog_schema(walk.catalog, i);
    if (form.csv)
        result_lines(out, table_list_columns, form.csv, form.keys, &list);
    else if (form.json)
        result_json_object(out, table_list_columns, &(struct result_at){.row = &list});
    else
        text_tables(out, &list);
    *broken_out = walk.broken;
    free_list(&list);
    file_tables_end(&walk);
    return good;
}
