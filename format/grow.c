/* SPDX-License-Identifier: Apache-2.0 */
#include "buffer.h"
#include "grow.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_BYTES 256u /* about, of an array's first room */

/* A power of two: who needs one at most gets no more. */
static size_t next_room(size_t room, size_t count, size_t element_bytes)
{
    if (room == 0)
        for (room = 4; room * 2 * element_bytes <= FIRST_BYTES;)
            room *= 2;
    while (room < count)
        room = room > SIZE_MAX / 2 ? SIZE_MAX : room * 2;
    return room;
}

bool grow_array(void *array, size_t *room, size_t count, size_t element_bytes)
{
    void *old, *moved;
    size_t more;
    if (count <= *room)
        return true;
    more = next_room(*room, count, element_bytes);
    if (more > SIZE_MAX / 2 / element_bytes)
        return false;
    memcpy(&old, array, sizeof old);
    moved = realloc(old, more * element_bytes);
    if (!moved)
        return false;
    memcpy(array, &moved, sizeof moved);
    *room = more;
    return true;
}

bool grow_zeroed(void *array, size_t *room, size_t count, size_t element_bytes)
{
    const size_t before = *room;
    char *begin;
    if (!grow_array(array, room, count, element_bytes))
        return false;
    memcpy(&begin, array, sizeof begin);
    if (*room > before)
        memset(begin + before * element_bytes, 0, (*room - before) * element_bytes);
    return true;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

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
