/* SPDX-License-Identifier: Apache-2.0 */
#include "rows_support.h"

#include "unit.h"

#include <stdlib.h>
#include <string.h>

static void grow(struct read_table *table, size_t rows)
{
    while (table->room < table->rows + rows) {
        table->room = table->room ? 2 * table->room : 1024;
        table->cells = realloc(table->cells, table->room * table->columns * sizeof(uint64_t));
        table->threads = realloc(table->threads, table->room * sizeof(uint64_t));
        assert_non_null(table->cells);
        assert_non_null(table->threads);
    }
}

static void keep(struct read_table *table, const struct rbwp_rows *rows)
{
    assert_int_equal(rows->first_row, table->rows + 1);
    grow(table, rows->rows);
    for (uint32_t i = 0; i < rows->rows; i++) {
        table->threads[table->rows] = rows->thread_id;
        for (uint32_t c = 0; c < table->columns; c++)
            table->cells[table->rows * table->columns + c] = rows->cells[c][i];
        table->rows++;
    }
}

struct read_table read_table(const char *path, const char *name)
{
    struct read_table table = {.catalog = rbwp_catalog_new()};
    struct rbwp_reader *reader;
    struct rbwp_block block;
    assert_int_equal(rbwp_reader_open(path, NULL, &reader, NULL), RBWP_OK);
    while (rbwp_reader_next_block(reader, &block) == RBWP_OK) {
        struct rbwp_rows rows;
        struct rbwp_error error;
        enum rbwp_status status = rbwp_catalog_take(table.catalog, &block, &rows, &error);
        if (status < 0)
            fail_msg("%s", error.text);
        if (status != RBWP_OK || rows.schema->name_bytes != strlen(name) ||
            memcmp(rows.schema->name, name, rows.schema->name_bytes) != 0)
            continue;
        table.columns = rows.schema->column_count;
        keep(&table, &rows);
    }
    rbwp_reader_close(reader);
    return table;
}

void read_table_free(struct read_table *table)
{
    rbwp_catalog_free(table->catalog);
    free(table->cells);
    free(table->threads);
}
