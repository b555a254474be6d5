/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parquet_encode.h - the values of a page in the encodings of Parquet.
 *
 * All of them use whole bytes where the format leaves the width open: a page
 * is deflated afterwards, which finds nothing in values of 13 or 17 bits.
 */
#ifndef PARQUET_ENCODE_H
#define PARQUET_ENCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Bytes that are put together in memory before they are written.
 *
 * Without memory the buffer fails once and takes nothing more, so that only
 * its owner has to look. */

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

/* DELTA_BINARY_PACKED. bits is 32 or 64, the width of the column's type; of 32 the upper half of
 * each value is not looked at. */
void encode_delta(struct parquet_bytes *to, const int64_t *values, size_t count, int bits);

/* The same of one value, count times. */
void encode_delta_run(struct parquet_bytes *to, int64_t value, size_t count, int bits);

/* RLE, the hybrid of runs and packed groups, of values below 2^(8 * width_bytes). */
void encode_hybrid(struct parquet_bytes *to, const uint32_t *values, size_t count,
                   unsigned width_bytes);

/* One bit each, for definition levels (RLE of width 1) and BOOLEAN (PLAIN). */
void encode_level_bits(struct parquet_bytes *to, const int64_t *values, size_t count);
void encode_bits(struct parquet_bytes *to, const int64_t *values, size_t count);

/* The same of one bit, count times. */
void encode_level_run(struct parquet_bytes *to, bool bit, size_t count);
void encode_bit_run(struct parquet_bytes *to, bool bit, size_t count);

/* Eight bytes each, for DOUBLE (PLAIN). */
void encode_words(struct parquet_bytes *to, const int64_t *values, size_t count);

#endif /* PARQUET_ENCODE_H */
