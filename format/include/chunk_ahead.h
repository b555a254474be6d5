/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chunk_ahead.h - chunks of an archive (SPEC.md, section 16.2) that others decode than its reader.
 *
 * Who has threads reads heads and payloads on his own, decodes them in holders, and has them ready
 * when the reader comes there. The reader takes a chunk only where the head is the one that it
 * found itself, and decodes for itself what was not ready or is damaged, to say what is wrong: what
 * is read is the same as without.
 */
#ifndef CHUNK_AHEAD_H
#define CHUNK_AHEAD_H

#include "rbwp_reader.h"

#define CHUNK_AHEAD_HEAD_BYTES 32u

struct chunk_holder; /* a chunk and what it takes to decode it; one thread at a time */

/* NULL without memory. free takes NULL. */
struct chunk_holder *chunk_holder_new(void);
void chunk_holder_free(struct chunk_holder *holder);

/* The head of the next chunk to be held. Bytes of the payload behind it; 0: it is no head, or that
 * of a chunk which gives no bytes of the file. */
uint32_t chunk_holder_begin(struct chunk_holder *holder, const uint8_t *head);

/* Decodes the payload of that head. False where that cannot be done. */
bool chunk_holder_decode(struct chunk_holder *holder, const uint8_t *payload);

/* The holder that decoded the chunk at this offset of the archive, unchanged until the next call.
 * NULL: there is none. */
typedef const struct chunk_holder *chunk_taken_fn(void *context, uint64_t offset);

/* Of an archive; taken NULL: nobody is asked any more. */
void reader_set_chunks(struct rbwp_reader *reader, chunk_taken_fn *taken, void *context);

#endif /* CHUNK_AHEAD_H */
