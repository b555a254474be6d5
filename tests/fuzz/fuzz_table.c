/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables: opaque blocks made of the input, shown to a catalog one after another. Whatever it hands
 * out is written again and read back the same, and what it refuses has a rule.
 */
#include "column_code.h"
#include "fuzz.h"
#include "rbwp_table.h"
#include "table_rows.h"

#include <stdlib.h>
#include <string.h>

/* The cells of a column again, through whichever code the encoder chooses. */
static void column_again(const struct rbwp_rows *rows, uint32_t column)
{
    enum column_code code;
    const uint64_t *cells = rows->cells[column];
    uint8_t *bytes = malloc(column_bytes_max(rows->rows));
    uint64_t *again = malloc(rows->rows * sizeof *again);
    REQUIRE(bytes && again);
    size_t used = column_encode(cells, rows->rows, bytes, &code);
    REQUIRE(used <= column_bytes_max(rows->rows));
    REQUIRE(column_decode(code, bytes, used, rows->rows, again));
    REQUIRE(memcmp(again, cells, rows->rows * sizeof *again) == 0);
    free(again);
    free(bytes);
}

static void use_rows(const struct rbwp_catalog *catalog, const struct rbwp_rows *rows)
{
    uint64_t sum = 0;
    for (uint32_t c = 0; c < rows->schema->column_count; c++) {
        const struct rbwp_column *column = &rows->schema->columns[c];
        for (uint32_t i = 0; i < rows->rows; i++) {
            uint64_t cell = rows->cells[c][i];
            struct rbwp_text text = {"", 0};
            if (column->type == RBWP_COLUMN_BYTES)
                text = rbwp_rows_bytes(rows, cell);
            else if (column->type == RBWP_COLUMN_NAME)
                text = rbwp_catalog_name(catalog, cell);
            sum += cell + (text.bytes ? (uint8_t)text.text[text.bytes - 1] : 0);
        }
        if (column->type != RBWP_COLUMN_BYTES && rows->rows <= 4096)
            column_again(rows, c);
    }
    REQUIRE(sum != 1 || rows->rows);
}

/* Two bytes of length, then the data of a block with its tag. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rbwp_catalog *catalog = rbwp_catalog_new();
    REQUIRE(catalog);
    while (size >= 2) {
        uint32_t count = (uint32_t)data[0] << 8 | data[1];
        data += 2;
        size -= 2;
        count = count < size ? count : (uint32_t)size;
        const uint8_t *copy = guarded_copy(data, count);
        if (!copy)
            break;
        struct rbwp_block block = {.header = {.data_bytes = count}, .data = copy};
        struct rbwp_rows rows;
        struct rbwp_error error = {0};
        enum rbwp_status status = rbwp_catalog_take(catalog, &block, &rows, &error);
        if (status == RBWP_OK)
            use_rows(catalog, &rows);
        REQUIRE(status != RBWP_E_CORRUPT || (error.rule >= 44 && error.rule <= 49));
        data += count;
        size -= count;
    }
    rbwp_catalog_free(catalog);
    return 0;
}
