/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row_chunk.h - from a chunk of rows to a finished block of a table.
 *
 * One encoder is used by one thread at a time; several work in parallel on different chunks.
 */
#ifndef ROW_CHUNK_H
#define ROW_CHUNK_H

#include "chunk_encoder.h"
#include "row_block.h"

struct chunk;
struct row_chunk_encoder;

/* For chunks of so many words. NULL without memory. */
struct row_chunk_encoder *row_chunk_encoder_new(uint32_t chunk_words, bool compress);
void row_chunk_encoder_free(struct row_chunk_encoder *encoder);

/* Encodes a published chunk, whose first row has that number; ticks become times of the line. Its
 * words may change meanwhile, to
 * anything, since they lie in memory that others may reach. */
void row_chunk_encode(struct row_chunk_encoder *encoder, const struct chunk *chunk,
                      struct shared_timeline *timeline, uint64_t first_row);

/* The block of the last chunk. */
const struct rbwp_sealed_block *row_chunk_block(const struct row_chunk_encoder *encoder);

#endif /* ROW_CHUNK_H */
