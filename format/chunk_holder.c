/* SPDX-License-Identifier: Apache-2.0 */
/* chunk_holder.c - see chunk_holder.h and chunk_ahead.h. */
#include "chunk_holder.h"

#include "crc32c.h"

#include <stdlib.h>

struct chunk_holder *chunk_holder_new(void)
{
    return calloc(1, sizeof(struct chunk_holder));
}

void chunk_holder_end(struct chunk_holder *holder)
{
    chunk_decoder_free(&holder->decoder);
    free(holder->data);
}

void chunk_holder_free(struct chunk_holder *holder)
{
    if (holder)
        chunk_holder_end(holder);
    free(holder);
}

bool chunk_fits(const struct archive_chunk *chunk)
{
    return chunk->bytes <= ARCHIVE_CHUNK_BYTES_MAX &&
           chunk->payload_bytes <= ARCHIVE_CHUNK_BYTES_MAX;
}

static bool reserve_data(struct chunk_holder *holder, size_t bytes)
{
    if (bytes <= holder->data_room)
        return true;
    free(holder->data);
    holder->data = malloc(bytes);
    holder->data_room = holder->data ? bytes : 0;
    return holder->data;
}

static const char *fill_bytes(struct chunk_holder *holder, const uint8_t *payload)
{
    struct chunk_decoder *decoder = &holder->decoder;
    struct cursor cursor = {payload, holder->chunk.payload_bytes};
    struct stream_view stream;
    decoder->head_count = 0;
    if (!decoder->inflater && !(decoder->inflater = malloc(sizeof *decoder->inflater)))
        return chunk_no_memory;
    bool good = stream_next(&cursor, &stream) && cursor.left == 0 &&
                stream.bytes == holder->chunk.bytes &&
                stream_unpack(&stream, decoder->inflater, holder->data);
    return good ? NULL : "its bytes cannot be unpacked";
}

const char *chunk_holder_fill(struct chunk_holder *holder, const uint8_t *payload)
{
    const struct archive_chunk *chunk = &holder->chunk;
    if (!reserve_data(holder, (size_t)chunk->bytes + CHUNK_SLACK))
        return chunk_no_memory;
    return chunk->tag == ARCHIVE_BYTES
               ? fill_bytes(holder, payload)
               : chunk_decode(&holder->decoder, payload, chunk->payload_bytes, holder->data,
                              chunk->bytes);
}

uint32_t chunk_holder_begin(struct chunk_holder *holder, const uint8_t *head)
{
    bool good = archive_chunk_decode(head, &holder->chunk) && chunk_fits(&holder->chunk) &&
                holder->chunk.tag != ARCHIVE_INDEX;
    return good ? holder->chunk.payload_bytes : 0;
}

bool chunk_holder_decode(struct chunk_holder *holder, const uint8_t *payload)
{
    return crc32c(0, payload, holder->chunk.payload_bytes) == holder->chunk.crc32c &&
           !chunk_holder_fill(holder, payload);
}
