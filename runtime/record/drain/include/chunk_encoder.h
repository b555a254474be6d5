/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chunk_encoder.h - from a chunk of events to finished RBWP blocks.
 *
 * Turns ticks into time and events into records, and keeps the blocks of one
 * chunk together until they are written. One encoder is used by one thread at
 * a time; several work in parallel on different chunks.
 */
#ifndef CHUNK_ENCODER_H
#define CHUNK_ENCODER_H

#include "clock.h"
#include "rbwp_writer.h"
#include "row_block.h"

#include <pthread.h>

struct chunk;
struct chunk_encoder;
struct yield_hook;

/* A time line that several threads use. */
struct shared_timeline {
    pthread_mutex_t lock; /* guards line; nothing is taken inside it */
    struct timeline line;
};

/* For chunks of so many words. RBWP_E_MEMORY, RBWP_E_INVALID as rbwp_block_encoder_new. */
enum rbwp_status chunk_encoder_new(uint32_t chunk_words, uint32_t block_bytes, int level,
                                   struct chunk_encoder **encoder_out);
void chunk_encoder_free(struct chunk_encoder *encoder);

/* The piece of the line, and the time, of ticks that some thread has read already, in that epoch.
 */
struct timeline_piece shared_timeline_piece(struct shared_timeline *timeline, uint32_t epoch,
                                            uint64_t ticks);
int64_t shared_timeline_ns(struct shared_timeline *timeline, uint32_t epoch, uint64_t ticks);

/*
 * Encodes a published chunk. Its times come out ascending, none before floor_ns or after
 * ceiling_ns. The chunk may be put back then. Its words may change meanwhile, to anything, since
 * they lie in memory that others may reach: returns how many words were dropped because no event
 * stands where one should begin, 0 if nobody did that.
 */
uint32_t chunk_encoder_run(struct chunk_encoder *encoder, const struct chunk *chunk,
                           struct shared_timeline *timeline, int64_t floor_ns, int64_t ceiling_ns);

/* For the next run: whether to compress less, in half the time; what to do now and then, or NULL.
 */
void chunk_encoder_pace(struct chunk_encoder *encoder, bool hurries, struct yield_hook *yield_hook);

/* The blocks of the last run, numbered from *sequence on, which moves. */
const struct rbwp_sealed_block *chunk_encoder_blocks(struct chunk_encoder *encoder,
                                                     uint32_t *sequence, uint32_t *count_out);

/* What the thread has open behind the last run's chunk (rbwp_writer.h). False: that is not known.
 */
bool chunk_encoder_state(const struct chunk_encoder *encoder, struct rbwp_thread_state *state_out);

/* ---- rows ------------------------------------------------------------------------------------ */

/*
 * From a chunk of rows to a finished block of a table.
 *
 * One encoder is used by one thread at a time; several work in parallel on different chunks.
 */

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

#endif /* CHUNK_ENCODER_H */
