/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bytes.h - integers in byte strings, and a cursor that cannot run over.
 *
 * The only place that knows the order of bytes of the host. Values are moved
 * by memcpy, never by a cast, so no alignment is asked for.
 */
#ifndef BYTES_H
#define BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define SWAP_LE(bits, value) __builtin_bswap##bits(value)
#define SWAP_BE(bits, value) (value)
#else
#define SWAP_LE(bits, value) (value)
#define SWAP_BE(bits, value) __builtin_bswap##bits(value)
#endif

#define BYTES_LOAD_STORE(bits)                                                                     \
    static inline uint##bits##_t load_le##bits(const void *from)                                   \
    {                                                                                              \
        uint##bits##_t value;                                                                      \
        memcpy(&value, from, sizeof(value));                                                       \
        return SWAP_LE(bits, value);                                                               \
    }                                                                                              \
    static inline uint##bits##_t load_be##bits(const void *from)                                   \
    {                                                                                              \
        uint##bits##_t value;                                                                      \
        memcpy(&value, from, sizeof(value));                                                       \
        return SWAP_BE(bits, value);                                                               \
    }                                                                                              \
    static inline void store_le##bits(void *to, uint##bits##_t value)                              \
    {                                                                                              \
        value = SWAP_LE(bits, value);                                                              \
        memcpy(to, &value, sizeof(value));                                                         \
    }                                                                                              \
    static inline void store_be##bits(void *to, uint##bits##_t value)                              \
    {                                                                                              \
        value = SWAP_BE(bits, value);                                                              \
        memcpy(to, &value, sizeof(value));                                                         \
    }
BYTES_LOAD_STORE(16)
BYTES_LOAD_STORE(32)
BYTES_LOAD_STORE(64)
#undef BYTES_LOAD_STORE

static inline int64_t load_le_i64(const void *from)
{
    return (int64_t)load_le64(from);
}

static inline void store_le_i64(void *to, int64_t value)
{
    store_le64(to, (uint64_t)value);
}

/* A number of 1, 2, 4 or 8 bytes, from the host's order to little-endian or back. */
static inline void copy_le(void *to, const void *from, size_t bytes)
{
    if (bytes == 8)
        memcpy(to, &(uint64_t){load_le64(from)}, 8);
    else if (bytes == 4)
        memcpy(to, &(uint32_t){load_le32(from)}, 4);
    else if (bytes == 2)
        memcpy(to, &(uint16_t){load_le16(from)}, 2);
    else
        memcpy(to, from, 1);
}

#define VARINT_BYTES_MAX 10u

/* Seven bits a byte, lowest first, the last byte below 128. Where it ends. */
static inline uint8_t *store_varint(uint8_t *to, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *to++ = (uint8_t)(value | 0x80);
    *to++ = (uint8_t)value;
    return to;
}

/* Small for numbers near 0 of either sign. */
static inline uint64_t zigzag(int64_t value)
{
    return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}

/* The rest of a byte string that is being taken apart. */
struct cursor {
    const uint8_t *next;
    size_t left;
};

/* The next count bytes, or NULL (and no move) if fewer are left. */
static inline const uint8_t *cursor_take(struct cursor *cursor, uint64_t count)
{
    if (count > cursor->left)
        return NULL;
    const uint8_t *taken = cursor->next;
    cursor->next += count;
    cursor->left -= (size_t)count;
    return taken;
}

#endif /* BYTES_H */
