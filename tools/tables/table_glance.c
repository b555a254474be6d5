/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_glance.c - see table_glance.h. Three rounds over the ranges: schemas, so that rows are
 * known whatever order they come in; names; and the first rows of each table. What lies between is
 * passed over, block by block inside a range and at once between ranges.
 */
#include "table_glance.h"

#include <stdlib.h>
#include <string.h>

struct glance {
    struct input *input;
    struct rbwp_catalog *catalog;
    struct rbwp_table_range *ranges; /* in the order of the file */
    uint32_t count;
    bool seen[RBWP_TABLES_MAX + 1]; /* in this round */
    table_glance_fn *take;
    void *context;
};

bool table_glance_can(const struct input *input)
{
    const struct rbwp_trailer *trailer = rbwp_reader_trailer(input->reader);
    return !rbwp_reader_is_stream(input->reader) && trailer && trailer->table_range_count;
}

static int by_offset(const void *left, const void *right)
{
    const struct rbwp_table_range *a = left, *b = right;
    return a->offset < b->offset ? -1 : a->offset > b->offset;
}

static uint32_t known_tables(const struct glance *glance)
{
    return rbwp_catalog_schema_count(glance->catalog);
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
static bool show(struct glance *glance, const struct rbwp_table_range *range, const char tag[4],
                 bool first)
{
    struct rbwp_reader *reader = glance->input->reader;
    struct rbwp_block block;
    struct rbwp_rows rows;
    uint32_t tables = known_tables(glance);
    if (rbwp_reader_seek(reader, range->offset) != RBWP_OK)
        return false;
    while (rbwp_reader_next_block(reader, &block) == RBWP_OK &&
           block.offset - range->offset < range->bytes) {
        if (!is_of(&block, tag, range->table))
            continue;
        enum rbwp_status status = rbwp_catalog_take(glance->catalog, &block, &rows, NULL);
        if (status == RBWP_OK)
            return glance->take(glance->context, &rows);
        if (first && known_tables(glance) > tables)
            return true;
        if (status < 0)
            return false;
    }
    return !first && rbwp_reader_problem_count(reader) == 0;
}

static bool show_schemas(struct glance *glance)
{
    for (uint32_t i = 0; i < glance->count; i++) {
        const struct rbwp_table_range *range = &glance->ranges[i];
        if (range->table > RBWP_TABLES_MAX)
            return false;
        if (range->table == 0 || glance->seen[range->table])
            continue;
        if (!show(glance, range, RBWP_SCHEMA_TAG, true))
            return false;
        glance->seen[range->table] = true;
    }
    return true;
}

static bool show_names(struct glance *glance)
{
    for (uint32_t i = 0; i < glance->count; i++) {
        const struct rbwp_table_range *range = &glance->ranges[i];
        if (range->table == 0 && !show(glance, range, RBWP_NAMES_TAG, false))
            return false;
        if (range->table)
            rbwp_catalog_pass(glance->catalog, range->table, range->last_row);
    }
    return true;
}

static bool show_rows(struct glance *glance)
{
    memset(glance->seen, 0, sizeof glance->seen);
    for (uint32_t i = 0; i < glance->count; i++) {
        const struct rbwp_table_range *range = &glance->ranges[i];
        if (range->table == 0 || range->rows == 0 || glance->seen[range->table])
            continue;
        if (!show(glance, range, RBWP_ROWS_TAG, true))
            return false;
        glance->seen[range->table] = true;
    }
    return true;
}

bool table_glance(struct input *input, struct rbwp_catalog *catalog, table_glance_fn *take,
                  void *context)
{
    const struct rbwp_trailer *trailer = rbwp_reader_trailer(input->reader);
    struct glance *glance = calloc(1, sizeof *glance);
    uint32_t count = trailer->table_range_count;
    struct rbwp_table_range *ranges = calloc(count + 1u, sizeof *ranges);
    bool good = glance && ranges;
    if (good) {
        memcpy(ranges, trailer->table_ranges, count * sizeof *ranges);
        qsort(ranges, count, sizeof *ranges, by_offset);
        *glance = (struct glance){.input = input,
                                  .catalog = catalog,
                                  .ranges = ranges,
                                  .count = count,
                                  .take = take,
                                  .context = context};
        good = show_schemas(glance) && (!take || (show_names(glance) && show_rows(glance)));
    }
    free(ranges);
    free(glance);
    return good;
}
