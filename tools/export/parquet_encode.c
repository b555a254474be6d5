/* SPDX-License-Identifier: Apache-2.0 */
/* Parquet's encodings of integers. */
#include "parquet_encode.h"

enum { BLOCK = 128, MINIBLOCKS = 4, MINIBLOCK = BLOCK / MINIBLOCKS, GROUP = 8 };

static unsigned parquet_encode_bytes_of(uint64_t value)
{
    return value ? (unsigned)(71 - __builtin_clzll(value)) / 8 : 0;
}

/* There is room for all eight. */
static inline uint8_t *put_low_bytes(uint8_t *at, uint64_t value, unsigned bytes)
{
    store_le64(at, value);
    return at + bytes;
}

/* ---- DELTA_BINARY_PACKED ------------------------------------------------------------ */

/* The base that the deltas of a block are stored above. The format asks for the least of them; one
 * below it costs no more in whole bytes. So that the upper bytes say the same in all blocks, which
 * is what deflate lives on, it is zero or half a power of 256. */
static int64_t block_base(int64_t least, int64_t most)
{
    uint64_t range = (uint64_t)most - (uint64_t)least;
    unsigned bytes = least < 0 ? parquet_encode_bytes_of(2 * (0 - (uint64_t)least) - 1) : 0;
    if (bytes > 4)
        return least;
    int64_t base = least < 0 ? -(INT64_C(1) << (8 * bytes - 1)) : 0;
    return parquet_encode_bytes_of((uint64_t)most - (uint64_t)base) <=
                   parquet_encode_bytes_of(range) + 1
               ? base
               : least;
}

/* All deltas are the same. */
static void put_even_block(struct buffer *to, int64_t delta)
{
    static const uint8_t widths[MINIBLOCKS];
    buffer_varint(to, zigzag(delta));
    buffer_append(to, widths, sizeof widths);
}

static void parquet_encode_put_block(struct buffer *to, const int64_t *deltas, size_t count,
                                     uint64_t mask)
{
    int64_t least = deltas[0], most = deltas[0];
    for (size_t i = 1; i < count; i++) {
        least = deltas[i] < least ? deltas[i] : least;
        most = deltas[i] > most ? deltas[i] : most;
    }
    if (least == most) {
        put_even_block(to, least);
        return;
    }
    int64_t base = block_base(least, most);
    buffer_varint(to, zigzag(base));
    uint8_t *widths = buffer_reserve(to, MINIBLOCKS + BLOCK * sizeof(uint64_t)), *at = widths;
    if (!widths)
        return;
    at += MINIBLOCKS;
    for (size_t mini = 0; mini < MINIBLOCKS; mini++) {
        uint64_t above[MINIBLOCK] = {0}, all = 0;
        for (size_t i = 0; i < MINIBLOCK && mini * MINIBLOCK + i < count; i++) {
            above[i] = ((uint64_t)deltas[mini * MINIBLOCK + i] - (uint64_t)base) & mask;
            all |= above[i];
        }
        unsigned bytes = parquet_encode_bytes_of(all);
        widths[mini] = (uint8_t)(8 * bytes);
        for (size_t i = 0; bytes && i < MINIBLOCK; i++)
            at = put_low_bytes(at, above[i], bytes);
    }
    buffer_end(to, at);
}

static void put_delta_head(struct buffer *to, size_t count, int64_t first, int bits)
{
    int unused = 64 - bits; /* wraps around as the type does */
    buffer_varint(to, BLOCK);
    buffer_varint(to, MINIBLOCKS);
    buffer_varint(to, count);
    buffer_varint(to, zigzag((int64_t)((uint64_t)first << unused) >> unused));
}

void encode_delta(struct buffer *to, const int64_t *values, size_t count, int bits)
{
    int unused = 64 - bits;
    put_delta_head(to, count, count ? values[0] : 0, bits);
    for (size_t at = 1; at < count; at += BLOCK) {
        int64_t deltas[BLOCK];
        size_t many = count - at < BLOCK ? count - at : BLOCK;
        for (size_t i = 0; i < many; i++) {
            uint64_t delta = (uint64_t)values[at + i] - (uint64_t)values[at + i - 1];
            deltas[i] = (int64_t)(delta << unused) >> unused;
        }
        parquet_encode_put_block(to, deltas, many, UINT64_MAX >> unused);
    }
}

void encode_delta_run(struct buffer *to, int64_t value, size_t count, int bits)
{
    put_delta_head(to, count, value, bits);
    for (size_t at = 1; at < count; at += BLOCK)
        put_even_block(to, 0);
}

/* ---- RLE ---------------------------------------------------------------------------- */

static size_t run_length(const uint32_t *values, size_t count)
{
    size_t length = 1;
    while (length < count && values[length] == values[0])
        length++;
    return length;
}

static void put_run(struct buffer *to, uint32_t value, size_t length, unsigned bytes)
{
    buffer_varint(to, (uint64_t)length << 1);
    uint8_t *at = buffer_reserve(to, sizeof(uint64_t));
    if (at)
        buffer_end(to, put_low_bytes(at, value, bytes));
}

/* Whole groups; the last one of all is filled up with zeros. */
static void put_groups(struct buffer *to, const uint32_t *values, size_t count, unsigned bytes)
{
    size_t groups = (count + GROUP - 1) / GROUP;
    buffer_varint(to, (uint64_t)groups << 1 | 1);
    uint8_t *at = buffer_reserve(to, groups * GROUP * bytes + sizeof(uint64_t));
    if (!at)
        return;
    for (size_t i = 0; i < groups * GROUP; i++)
        at = put_low_bytes(at, i < count ? values[i] : 0, bytes);
    buffer_end(to, at);
}

void encode_hybrid(struct buffer *to, const uint32_t *values, size_t count, unsigned width_bytes)
{
    for (size_t at = 0; at < count;) {
        size_t run = run_length(values + at, count - at), end = at;
        if (run >= GROUP) {
            put_run(to, values[at], run, width_bytes);
            at += run;
            continue;
        }
        do
            end += GROUP;
        while (end < count && run_length(values + end, count - end) < 2 * GROUP);
        end = end < count ? end : count;
        put_groups(to, values + at, end - at, width_bytes);
        at = end;
    }
}

/* ---- single bits -------------------------------------------------------------------- */

void encode_bits(struct buffer *to, const int64_t *values, size_t count)
{
    size_t bytes = (count + 7) / 8;
    uint8_t *at = buffer_reserve(to, bytes);
    if (!at)
        return;
    memset(at, 0, bytes);
    for (size_t i = 0; i < count; i++)
        at[i / 8] |= (uint8_t)((values[i] != 0) << i % 8);
    buffer_end(to, at + bytes);
}

void encode_level_bits(struct buffer *to, const int64_t *values, size_t count)
{
    buffer_varint(to, (uint64_t)((count + 7) / 8) << 1 | 1);
    encode_bits(to, values, count);
}

void encode_bit_run(struct buffer *to, bool bit, size_t count)
{
    uint8_t *at = buffer_reserve(to, (count + 7) / 8);
    if (!at)
        return;
    memset(at, bit ? 0xff : 0, (count + 7) / 8);
    if (count % 8)
        at[count / 8] &= (uint8_t)((1 << count % 8) - 1);
    buffer_end(to, at + (count + 7) / 8);
}

void encode_level_run(struct buffer *to, bool bit, size_t count)
{
    buffer_varint(to, (uint64_t)count << 1);
    buffer_le(to, bit, 1);
}

void encode_words(struct buffer *to, const int64_t *values, size_t count)
{
    uint8_t *at = buffer_reserve(to, count * sizeof *values);
    for (size_t i = 0; at && i < count; i++)
        at = put_low_bytes(at, (uint64_t)values[i], sizeof *values);
    if (at)
        buffer_end(to, at);
}
