/* SPDX-License-Identifier: Apache-2.0 */
/*
 * byte_buffer.h - bytes that are put together in memory, little-endian.
 *
 * When memory runs out the buffer fails and stays as it is; who fills it looks
 * once, at the end.
 */
#ifndef BYTE_BUFFER_H
#define BYTE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct byte_buffer {
    uint8_t *bytes;
    size_t used, room;
    bool failed;
};

enum { VARINT_MAX = 10 };

/* Room for count more; NULL when there is none. */
static inline uint8_t *buffer_room(struct byte_buffer *buffer, size_t count)
{
    if (buffer->room - buffer->used < count) {
        size_t room = buffer->room + buffer->room / 2 + count + 64;
        uint8_t *bytes = buffer->failed ? NULL : realloc(buffer->bytes, room);
        if (!bytes) {
            buffer->failed = true;
            return NULL;
        }
        buffer->bytes = bytes;
        buffer->room = room;
    }
    return buffer->bytes + buffer->used;
}

static inline void buffer_le(struct byte_buffer *buffer, uint64_t value, unsigned bytes)
{
    uint8_t *at = buffer_room(buffer, bytes);
    for (unsigned i = 0; at && i < bytes; i++)
        at[i] = (uint8_t)(value >> 8 * i);
    buffer->used += at ? bytes : 0;
}

/* A double holds every integer to 2^53; larger ones are rounded. */
static inline void buffer_double(struct byte_buffer *buffer, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    buffer_le(buffer, bits, sizeof bits);
}

/* Seven bits a byte, lowest first, the last byte below 128. */
static inline void buffer_varint(struct byte_buffer *buffer, uint64_t value)
{
    uint8_t *at = buffer_room(buffer, VARINT_MAX);
    if (!at)
        return;
    for (; value >= 128; value >>= 7)
        *at++ = (uint8_t)(value | 128);
    *at++ = (uint8_t)value;
    buffer->used = (size_t)(at - buffer->bytes);
}

/* Small for numbers near 0 of either sign. */
static inline void buffer_zigzag(struct byte_buffer *buffer, int64_t value)
{
    buffer_varint(buffer, (uint64_t)value << 1 ^ (uint64_t)(value >> 63));
}

static inline void buffer_free(struct byte_buffer *buffer)
{
    free(buffer->bytes);
    *buffer = (struct byte_buffer){0};
}

#endif /* BYTE_BUFFER_H */
