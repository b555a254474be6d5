/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row_encoder.c - rows in bulk to finished blocks (SPEC.md, section 9.2).
 *
 * Rows are kept as columns of words until the block is sealed; then each
 * column is coded on its own and the whole is compressed like any block
 * (row_block.h). So adding a row is storing its cells, and nothing is
 * allocated while rows come.
 */
#include "row_block.h"
#include "table_schema.h"

#include <stdlib.h>
#include <string.h>

#define ROWS_USUAL 16384u
#define BYTES_USUAL (4u << 20) /* of the cells that are bytes */

struct rbwp_row_encoder {
    struct rbwp_schema *schema;
    uint32_t rows, rows_max;
    uint64_t *cells;                  /* rows_max of each column, column after column */
    uint64_t *next[RBWP_COLUMNS_MAX]; /* where the next row's cells go */
    uint8_t *bytes;                   /* of cells that are bytes; NULL if the table has none */
    uint32_t bytes_used;
    struct row_block block;
};

static bool has_bytes(const struct rbwp_schema *schema)
{
    for (uint32_t i = 0; i < schema->column_count; i++)
        if (schema->columns[i].type == RBWP_COLUMN_BYTES)
            return true;
    return false;
}

/* The most that a block's data can come to. */
static uint64_t data_bytes_max(const struct rbwp_schema *schema, uint32_t rows)
{
    return row_block_data_max(schema->column_count, rows) + (has_bytes(schema) ? BYTES_USUAL : 0);
}

void rbwp_row_encoder_free(struct rbwp_row_encoder *encoder)
{
    if (!encoder)
        return;
    row_block_free(&encoder->block);
    free(encoder->bytes);
    free(encoder->cells);
    free(encoder->schema);
    free(encoder);
}

static bool row_encoder_allocate(struct rbwp_row_encoder *encoder, const struct rbwp_schema *schema,
                                 bool compress)
{
    uint64_t data_bytes = data_bytes_max(schema, encoder->rows_max);
    encoder->schema = schema_copy(schema);
    encoder->cells = malloc((size_t)encoder->rows_max * schema->column_count * 8);
    if (has_bytes(schema) && !(encoder->bytes = malloc(BYTES_USUAL)))
        return false;
    return row_block_init(&encoder->block, data_bytes, compress) == RBWP_OK && encoder->schema &&
           encoder->cells;
}

enum rbwp_status rbwp_row_encoder_new(const struct rbwp_schema *schema, uint32_t rows_max,
                                      bool compress, struct rbwp_row_encoder **encoder_out)
{
    *encoder_out = NULL;
    if (rows_max > RBWP_ROWS_MAX || !schema_is_valid(schema))
        return RBWP_E_INVALID;
    uint32_t rows = rows_max ? rows_max : ROWS_USUAL;
    while (!rows_max && data_bytes_max(schema, rows) > RBWP_BLOCK_BYTES_MAX)
        rows /= 2;
    if (rows == 0 || data_bytes_max(schema, rows) > RBWP_BLOCK_BYTES_MAX)
        return RBWP_E_INVALID;
    struct rbwp_row_encoder *encoder = calloc(1, sizeof *encoder);
    if (!encoder)
        return RBWP_E_MEMORY;
    encoder->rows_max = rows;
    if (!row_encoder_allocate(encoder, schema, compress)) {
        rbwp_row_encoder_free(encoder);
        return RBWP_E_MEMORY;
    }
    *encoder_out = encoder;
    return RBWP_OK;
}

/* ---- rows come --------------------------------------------------------------------- */

static uint64_t *column_of(const struct rbwp_row_encoder *encoder, uint32_t column)
{
    return encoder->cells + (size_t)column * encoder->rows_max;
}

void rbwp_row_encoder_reserve(struct rbwp_row_encoder *encoder, uint32_t rows_wanted,
                              struct rbwp_row_room *room_out)
{
    uint32_t left = encoder->rows_max - encoder->rows;
    for (uint32_t i = 0; i < encoder->schema->column_count; i++)
        encoder->next[i] = column_of(encoder, i) + encoder->rows;
    *room_out = (struct rbwp_row_room){encoder->next, rows_wanted < left ? rows_wanted : left};
}

void rbwp_row_encoder_commit(struct rbwp_row_encoder *encoder, uint32_t rows)
{
    encoder->rows += rows;
}

enum rbwp_status rbwp_row_encoder_bytes(struct rbwp_row_encoder *encoder, const void *bytes,
                                        uint32_t count, uint64_t *cell_out)
{
    if (!encoder->bytes || count > BYTES_USUAL - encoder->bytes_used)
        return RBWP_AGAIN;
    if (count)
        memcpy(encoder->bytes + encoder->bytes_used, bytes, count);
    *cell_out = (uint64_t)encoder->bytes_used << 32 | count;
    encoder->bytes_used += count;
    return RBWP_OK;
}

/* ---- a block ------------------------------------------------------------------------- */

enum rbwp_status rbwp_row_encoder_seal(struct rbwp_row_encoder *encoder, uint64_t thread_id,
                                       uint64_t first_row, struct rbwp_sealed_block *block_out)
{
    const uint64_t *cells[RBWP_COLUMNS_MAX];
    if (encoder->rows == 0)
        return RBWP_END;
    for (uint32_t i = 0; i < encoder->schema->column_count; i++)
        cells[i] = column_of(encoder, i);
    const struct row_batch batch = {
        .schema = encoder->schema,
        .cells = cells,
        .bytes = encoder->bytes,
        .rows = encoder->rows,
        .thread_id = thread_id,
        .first_row = first_row,
    };
    row_block_seal(&encoder->block, &batch, block_out);
    encoder->rows = 0;
    encoder->bytes_used = 0;
    return RBWP_OK;
}
