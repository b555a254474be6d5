/* SPDX-License-Identifier: Apache-2.0 */
#include "row_chunk.h"

#include "chunk_pool.h"
#include "tables.h"
#include "thread_registry.h"

#include <stdlib.h>

struct row_chunk_encoder {
    struct row_block block;
    struct rbwp_sealed_block sealed;
    uint64_t *cells; /* of the chunk, column after column */
};

void row_chunk_encoder_free(struct row_chunk_encoder *encoder)
{
    if (!encoder)
        return;
    row_block_free(&encoder->block);
    free(encoder->cells);
    free(encoder);
}

struct row_chunk_encoder *row_chunk_encoder_new(uint32_t chunk_words, bool compress)
{
    struct row_chunk_encoder *encoder = calloc(1, sizeof *encoder);
    if (!encoder)
        return NULL;
    /* However many columns share the words. */
    uint64_t data = row_block_data_max(RBWP_COLUMNS_MAX, chunk_words / RBWP_COLUMNS_MAX + 1);
    encoder->cells = malloc((size_t)chunk_words * sizeof *encoder->cells);
    if (row_block_init(&encoder->block, data, compress) == RBWP_OK && encoder->cells)
        return encoder;
    row_chunk_encoder_free(encoder);
    return NULL;
}

/* One column out of the rows; each cell is read once. most: larger ones become 0. */
static void take_column(const uint64_t *words, uint32_t columns, uint32_t rows, uint64_t most,
                        uint64_t *cells_out)
{
    for (uint32_t i = 0; i < rows; i++, words += columns) {
        uint64_t cell = __atomic_load_n(words, __ATOMIC_RELAXED);
        cells_out[i] = cell <= most ? cell : 0;
    }
}

/* Most cells lie on the same piece of the line as the one before. */
static void to_times(const struct chunk *chunk, struct shared_timeline *timeline, uint64_t *cells)
{
    struct timeline_piece piece = {0};
    for (uint32_t i = 0; i < chunk->rows; i++) {
        uint64_t ticks = cells[i];
        if (!ticks)
            continue;
        if (ticks < piece.base_ticks || ticks >= piece.end_ticks)
            piece = shared_timeline_piece(timeline, chunk->epoch, ticks);
        cells[i] = (uint64_t)timeline_piece_ns(&piece, ticks);
    }
}

void row_chunk_encode(struct row_chunk_encoder *encoder, const struct chunk *chunk,
                      struct shared_timeline *timeline, uint64_t first_row)
{
    const struct rbwp_schema *schema = chunk->table->schema;
    const uint64_t *columns[RBWP_COLUMNS_MAX];
    uint64_t last_name = tables_last_name();
    for (uint32_t c = 0; c < schema->column_count; c++) {
        uint64_t *cells = encoder->cells + (size_t)c * chunk->rows;
        bool name = schema->columns[c].type == RBWP_COLUMN_NAME;
        take_column(chunk->words + c, schema->column_count, chunk->rows,
                    name ? last_name : UINT64_MAX, cells);
        if (c < 64 && chunk->table->tick_columns >> c & 1)
            to_times(chunk, timeline, cells);
        columns[c] = cells;
    }
    const struct row_batch batch = {
        .schema = schema,
        .cells = columns,
        .rows = chunk->rows,
        .thread_id = chunk->thread->thread_id,
        .first_row = first_row,
    };
    row_block_seal(&encoder->block, &batch, &encoder->sealed);
}

const struct rbwp_sealed_block *row_chunk_block(const struct row_chunk_encoder *encoder)
{
    return &encoder->sealed;
}
