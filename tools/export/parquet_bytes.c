/* SPDX-License-Identifier: Apache-2.0 */
/* Growing by doubling. */
#include "parquet_bytes.h"

#include <stdlib.h>

enum { FIRST_ROOM = 4096, VARINT_MAX = 10 };

uint8_t *bytes_room(struct parquet_bytes *to, size_t count)
{
    if (to->room - to->count < count && !to->failed) {
        size_t room = to->room ? to->room : FIRST_ROOM;
        while (room - to->count < count && room <= SIZE_MAX / 2)
            room *= 2;
        uint8_t *moved = room - to->count < count ? NULL : realloc(to->bytes, room);
        to->failed = !moved;
        if (moved) {
            to->bytes = moved;
            to->room = room;
        }
    }
    return to->failed || !to->bytes ? NULL : to->bytes + to->count; /* none, for none */
}

void bytes_free(struct parquet_bytes *bytes)
{
    free(bytes->bytes);
    *bytes = (struct parquet_bytes){0};
}

void bytes_varint(struct parquet_bytes *to, uint64_t value)
{
    uint8_t *at = bytes_room(to, VARINT_MAX);
    if (!at)
        return;
    for (; value >= 0x80; value >>= 7)
        *at++ = (uint8_t)(value | 0x80);
    *at++ = (uint8_t)value;
    bytes_grown(to, at);
}
