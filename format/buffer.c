/* SPDX-License-Identifier: Apache-2.0 */
/* buffer.c - see buffer.h. */
#include "buffer.h"
#include "grow.h"

#include <stdlib.h>
#include <string.h>

uint8_t *buffer_grow(struct buffer *buffer, size_t count)
{
    buffer->failed |=
        count > SIZE_MAX / 4 - buffer->count ||
        !grow_array(&buffer->bytes, &buffer->capacity, buffer->count + (count ? count : 1), 1);
    return buffer->failed ? NULL : buffer->bytes + buffer->count;
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
