/* SPDX-License-Identifier: Apache-2.0 */
/* chunk_holder.h - a chunk of an archive and the bytes of the plain file that it gives. */
#ifndef CHUNK_HOLDER_H
#define CHUNK_HOLDER_H

#include "archive_file.h"
#include "chunk_ahead.h"
#include "chunk_code.h"
#include "source.h"

/* Zeros are a valid start. */
struct chunk_holder {
    struct archive_chunk chunk;
    uint8_t *data; /* chunk.bytes of them, once decoded */
    size_t data_room;
    struct chunk_decoder decoder;
};
void chunk_holder_end(struct chunk_holder *holder);

/* Whether it is no larger than a chunk may be. */
bool chunk_fits(const struct archive_chunk *chunk);

/* The payload has the right sum. NULL: it is decoded, else what is wrong; chunk_no_memory. */
const char *chunk_holder_fill(struct chunk_holder *holder, const uint8_t *payload);

#endif /* CHUNK_HOLDER_H */
