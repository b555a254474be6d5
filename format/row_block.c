/* SPDX-License-Identifier: Apache-2.0 */
#include "row_block.h"

#include "block.h"
#include "column_code.h"
#include "deflater.h"
#include "table_rows.h"
#include "table_schema.h"

#include <stdlib.h>

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
