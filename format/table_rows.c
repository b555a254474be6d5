/* SPDX-License-Identifier: Apache-2.0 */
#include "table_rows.h"

#include "column_code.h"

#include <stdlib.h>

void rows_times(const struct rbwp_schema *schema, uint32_t column_count,
                const uint64_t *const *cells, uint32_t rows, int64_t *first_ns_out,
                int64_t *last_ns_out)
{
    int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;
    for (uint32_t c = 0; c < column_count; c++)
        for (uint32_t i = 0; schema->columns[c].type == RBWP_COLUMN_TIME && i < rows; i++) {
            int64_t time_ns = (int64_t)cells[c][i];
            first_ns = time_ns < first_ns ? time_ns : first_ns;
            last_ns = time_ns > last_ns ? time_ns : last_ns;
        }
    bool none = first_ns > last_ns;
    *first_ns_out = none ? 0 : first_ns;
    *last_ns_out = none ? 0 : last_ns;
}

bool rows_head_decode(const uint8_t *data, size_t count, struct rows_head *head_out)
{
    if (count < ROWS_HEAD_BYTES)
        return false;
    *head_out = (struct rows_head){
        .table = load_le32(data),
        .rows = load_le32(data + 4),
        .first_row = load_le64(data + 8),
        .first_ns = load_le_i64(data + 16),
        .last_ns = load_le_i64(data + 24),
        .column_count = load_le32(data + 32),
    };
    return true;
}

void row_store_free(struct row_store *store)
{
    free(store->cells);
    *store = (struct row_store){0};
}

void row_store_move(struct row_store *store, uint32_t column, uint32_t from, uint32_t to)
{
    uint64_t *cells = store->cells + (store->column[column] - store->cells);
    cells[to] = cells[from];
}

static bool table_rows_reserve(struct row_store *store, size_t cells)
{
    if (cells <= store->room)
        return true;
    free(store->cells);
    store->cells = malloc(cells * sizeof *store->cells);
    store->room = store->cells ? cells : 0;
    return store->cells;
}

/* Fewer bytes than this cannot hold so many cells in this code: nothing is allocated for a lie. */
static uint64_t bytes_min(unsigned code, uint32_t rows)
{
    return code == COLUMN_CONSTANT ? 1 : code == COLUMN_PLAIN ? (uint64_t)rows * 8 : rows;
}

/* R48 as far as it can be seen before anything is decoded. */
static bool columns_fit(const struct rbwp_schema *schema, const struct rows_head *head,
                        const uint8_t *heads, size_t left)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < head->column_count; i++, heads += ROWS_COLUMN_BYTES) {
        uint32_t bytes = load_le32(heads + 4);
        bool is_bytes = schema->columns[i].type == RBWP_COLUMN_BYTES;
        if (is_bytes != (heads[0] == COLUMN_BYTES) || bytes < bytes_min(heads[0], head->rows))
            return false;
        sum += bytes;
    }
    return sum == left;
}

/* Columns that the writer did not know yet. */
static void fill_missing(struct row_store *store, const struct rbwp_schema *schema,
                         const struct rows_head *head)
{
    uint64_t *zeros = store->cells + (size_t)head->column_count * head->rows;
    if (head->column_count == schema->column_count)
        return;
    memset(zeros, 0, head->rows * sizeof *zeros);
    for (uint32_t i = head->column_count; i < schema->column_count; i++)
        store->column[i] = zeros;
}

enum rbwp_status rows_decode(struct row_store *store, const struct rbwp_schema *schema,
                             const struct rows_head *head, const uint8_t *data, size_t count)
{
    struct cursor cursor = {data, count};
    (void)cursor_take(&cursor, ROWS_HEAD_BYTES);
    const uint8_t *heads = NULL;
    if (head->rows >= 1 && head->rows <= RBWP_ROWS_MAX && head->first_row >= 1 &&
        head->first_row <= UINT64_MAX - head->rows && head->column_count <= schema->column_count &&
        head->rows <= RBWP_CELLS_MAX / schema->column_count)
        heads = cursor_take(&cursor, (uint64_t)head->column_count * ROWS_COLUMN_BYTES);
    if (!heads || !columns_fit(schema, head, heads, cursor.left))
        return RBWP_E_CORRUPT;
    if (!table_rows_reserve(store, (size_t)head->rows * (head->column_count + 1u)))
        return RBWP_E_MEMORY;
    for (uint32_t i = 0; i < head->column_count; i++, heads += ROWS_COLUMN_BYTES) {
        uint32_t bytes = load_le32(heads + 4), at = (uint32_t)(cursor.next - data);
        uint64_t *cells = store->cells + (size_t)i * head->rows;
        const uint8_t *column = cursor_take(&cursor, bytes);
        bool whole = heads[0] == COLUMN_BYTES
                         ? column_decode_bytes(column, bytes, head->rows, at, cells)
                         : column_decode(heads[0], column, bytes, head->rows, cells);
        if (!whole)
            return RBWP_E_CORRUPT;
        store->column[i] = cells;
    }
    fill_missing(store, schema, head);
    return RBWP_OK;
}
