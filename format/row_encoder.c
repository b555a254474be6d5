/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row_encoder.c - rows in bulk to finished blocks (SPEC.md, section 9.2).
 *
 * Rows are kept as columns of words until the block is sealed; then each
 * column is coded on its own and the whole is compressed like any block
 * (row_block.h). So adding a row is storing its cells, and nothing is
 * allocated while rows come.
 */
#include "block.h"
#include "column_code.h"
#include "deflater.h"
#include "row_block.h"
#include "table_rows.h"
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

/* ---- a finished block ------------------------------------------------------------------------ */

uint64_t row_block_data_max(uint32_t columns, uint32_t rows)
{
    uint64_t each = column_bytes_max(rows) + ROWS_COLUMN_BYTES;
    return TABLE_TAG_BYTES + ROWS_HEAD_BYTES + each * columns;
}

enum rbwp_status row_block_init(struct row_block *block, uint64_t data_bytes, bool compress)
{
    size_t bytes = (size_t)data_bytes + RBWP_BLOCK_HEADER_BYTES + DEFLATER_SLACK;
    *block = (struct row_block){.data = malloc(bytes)};
    if (compress) {
        block->sealed = malloc(bytes);
        block->deflate = deflater_new(true);
    }
    return block->data && (!compress || (block->sealed && block->deflate)) ? RBWP_OK
                                                                           : RBWP_E_MEMORY;
}

void row_block_free(struct row_block *block)
{
    deflater_free(block->deflate);
    free(block->sealed);
    free(block->data);
    *block = (struct row_block){0};
}

/* Codes all columns at data; the end. heads: where what is said of each column goes. */
static uint8_t *put_columns(const struct row_batch *batch, uint8_t *heads, uint8_t *data)
{
    const struct rbwp_schema *schema = batch->schema;
    for (uint32_t i = 0; i < schema->column_count; i++, heads += ROWS_COLUMN_BYTES) {
        enum column_code code = COLUMN_BYTES;
        const uint64_t *cells = batch->cells[i];
        size_t used = schema->columns[i].type == RBWP_COLUMN_BYTES
                          ? column_encode_bytes(cells, batch->rows, batch->bytes, data)
                          : column_encode(cells, batch->rows, data, &code);
        store_le32(heads, (uint32_t)code);
        store_le32(heads + 4, (uint32_t)used);
        data += used;
    }
    return data;
}

/* Header and payload at the returned place. */
static uint8_t *compress_block(struct row_block *block, struct rbwp_block_header *header)
{
    size_t compressed = 0;
    if (block->deflate)
        compressed =
            deflater_run(block->deflate, block->data + RBWP_BLOCK_HEADER_BYTES, header->data_bytes,
                         NULL, 0, block->sealed + RBWP_BLOCK_HEADER_BYTES);
    header->stored_bytes = (uint32_t)compressed;
    uint8_t *bytes = compressed ? block->sealed : block->data;
    block_header_encode(header, bytes);
    return bytes;
}

void row_block_seal(struct row_block *block, const struct row_batch *batch,
                    struct rbwp_sealed_block *sealed_out)
{
    const struct rbwp_schema *schema = batch->schema;
    uint32_t column_count = schema->column_count;
    int64_t first_ns, last_ns;
    rows_times(schema, column_count, batch->cells, batch->rows, &first_ns, &last_ns);
    uint8_t *data = block->data + RBWP_BLOCK_HEADER_BYTES;
    uint8_t *head = data + TABLE_TAG_BYTES, *columns = head + ROWS_HEAD_BYTES;
    memcpy(data, RBWP_ROWS_TAG, TABLE_TAG_BYTES);
    memset(head, 0, ROWS_HEAD_BYTES);
    store_le32(head, schema->table);
    store_le32(head + 4, batch->rows);
    store_le64(head + 8, batch->first_row);
    store_le_i64(head + 16, first_ns);
    store_le_i64(head + 24, last_ns);
    store_le32(head + 32, column_count);
    uint8_t *end = put_columns(batch, columns, columns + column_count * ROWS_COLUMN_BYTES);
    struct rbwp_block_header header = {
        .thread_id = batch->thread_id,
        .base_time_ns = first_ns,
        .data_bytes = (uint32_t)(end - data),
    };
    uint8_t *bytes = compress_block(block, &header);
    *sealed_out = (struct rbwp_sealed_block){
        .bytes = bytes,
        .bytes_count = RBWP_BLOCK_HEADER_BYTES + block_payload_bytes(&header),
        .first_ns = first_ns,
        .last_ns = last_ns,
    };
}
