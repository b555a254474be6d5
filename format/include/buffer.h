/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buffer.h - a byte string that grows.
 *
 * An append that finds no memory is remembered: callers put a whole section
 * together and look at `failed` once. A buffer of zeros is an empty one.
 */
#ifndef BUFFER_H
#define BUFFER_H

#include "bytes.h"

struct buffer {
    uint8_t *bytes;
    size_t count, capacity;
    bool failed;
};

uint8_t *buffer_grow(struct buffer *buffer, size_t count);
/* Room for count more bytes at the end; where they begin, or NULL. buffer_end says how many were
 * written there. */
static inline uint8_t *buffer_reserve(struct buffer *buffer, size_t count)
{
    const bool fits = buffer->bytes && buffer->capacity - buffer->count >= count;
    return fits && !buffer->failed ? buffer->bytes + buffer->count : buffer_grow(buffer, count);
}
static inline void buffer_end(struct buffer *buffer, const uint8_t *end)
{
    buffer->count = (size_t)(end - buffer->bytes);
}
/* Appends; bytes may be NULL if count is 0. */
void buffer_append(struct buffer *buffer, const void *bytes, size_t count);
static inline void buffer_varint(struct buffer *buffer, uint64_t value)
{
    uint8_t *at = buffer_reserve(buffer, VARINT_BYTES_MAX);
    if (at)
        buffer_end(buffer, store_varint(at, value));
}
/* Little-endian, of as many bytes, at most 8. */
static inline void buffer_le(struct buffer *buffer, uint64_t value, unsigned bytes)
{
    uint8_t word[sizeof value];
    store_le64(word, value);
    buffer_append(buffer, word, bytes);
}
void buffer_free(struct buffer *buffer);

#endif /* BUFFER_H */
