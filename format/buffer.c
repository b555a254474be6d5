/* SPDX-License-Identifier: Apache-2.0 */
/* buffer.c - see buffer.h. Capacity doubles, so that appending costs O(1) a byte. */
#include "buffer.h"

#include <stdlib.h>
#include <string.h>

uint8_t *buffer_reserve(struct buffer *buffer, size_t count)
{
    if (buffer->failed || count > SIZE_MAX / 4 - buffer->count) {
        buffer->failed = true;
        return NULL;
    }
    size_t needed = buffer->count + count;
    if (needed > buffer->capacity || !buffer->bytes) {
        size_t capacity = buffer->capacity * 2 > needed ? buffer->capacity * 2 : needed;
        if (capacity < 256)
            capacity = 256;
        uint8_t *bytes = realloc(buffer->bytes, capacity);
        if (!bytes) {
            buffer->failed = true;
            return NULL;
        }
        buffer->bytes = bytes;
        buffer->capacity = capacity;
    }
    return buffer->bytes + buffer->count;
}

void buffer_append(struct buffer *buffer, const void *bytes, size_t count)
{
    if (count == 0)
        return;
    uint8_t *to = buffer_reserve(buffer, count);
    if (!to)
        return;
    memcpy(to, bytes, count);
    buffer->count += count;
}

void buffer_free(struct buffer *buffer)
{
    free(buffer->bytes);
    *buffer = (struct buffer){0};
}
