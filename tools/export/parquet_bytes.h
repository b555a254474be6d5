/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parquet_bytes.h - bytes that are put together in memory before they are written.
 *
 * Without memory the buffer fails once and takes nothing more, so that only
 * its owner has to look.
 */
#ifndef PARQUET_BYTES_H
#define PARQUET_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct parquet_bytes {
    uint8_t *bytes;
    size_t count, room;
    bool failed;
};

/* Room for so many more bytes, NULL without memory. bytes_grown tells of those that were written.
 */
uint8_t *bytes_room(struct parquet_bytes *to, size_t count);
void bytes_free(struct parquet_bytes *bytes);

static inline void bytes_grown(struct parquet_bytes *to, const uint8_t *end)
{
    to->count = (size_t)(end - to->bytes);
}

static inline void bytes_put(struct parquet_bytes *to, const void *bytes, size_t count)
{
    uint8_t *room = bytes_room(to, count);
    if (!room || count == 0)
        return;
    memcpy(room, bytes, count);
    to->count += count;
}
static inline void bytes_byte(struct parquet_bytes *to, uint8_t byte)
{
    bytes_put(to, &byte, 1);
}
/* Little endian, as all of Parquet. Over what stands at a place, and behind all. */
static inline void bytes_patch_u32(struct parquet_bytes *to, size_t at, uint32_t value)
{
    for (size_t i = 0; i < sizeof value; i++)
        to->bytes[at + i] = (uint8_t)(value >> 8 * i);
}
static inline void bytes_u32(struct parquet_bytes *to, uint32_t value)
{
    if (!bytes_room(to, sizeof value))
        return;
    to->count += sizeof value;
    bytes_patch_u32(to, to->count - sizeof value, value);
}
/* ULEB128. */
void bytes_varint(struct parquet_bytes *to, uint64_t value);
static inline uint64_t zigzag(int64_t value)
{
    return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}

#endif /* PARQUET_BYTES_H */
