/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crc32c.c - CRC-32C of bytes, and of two strings one after the other.
 *
 * Where the processor has the instruction (SSE4.2, asked at run time) it is
 * used, elsewhere eight table look-ups take eight bytes at a time. A CRC is
 * linear, so a table of 256 follows from its values for the eight single bits;
 * only those are written down here.
 */
#include "crc32c.h"

#include "bytes.h"

#define POLYNOMIAL 0x82f63b78u /* reflected */

#define CRC32C_BITS_OF(i, a, b, c, d, e, f, g, h)                                                  \
    ((((i)&1) ? (a) : 0u) ^ (((i)&2) ? (b) : 0u) ^ (((i)&4) ? (c) : 0u) ^ (((i)&8) ? (d) : 0u) ^   \
     (((i)&16) ? (e) : 0u) ^ (((i)&32) ? (f) : 0u) ^ (((i)&64) ? (g) : 0u) ^                       \
     (((i)&128) ? (h) : 0u))
#define FOUR(i, ...)                                                                               \
    CRC32C_BITS_OF(i, __VA_ARGS__), CRC32C_BITS_OF(i + 1, __VA_ARGS__),                            \
        CRC32C_BITS_OF(i + 2, __VA_ARGS__), CRC32C_BITS_OF(i + 3, __VA_ARGS__)
#define SIXTEEN(i, ...)                                                                            \
    FOUR(i, __VA_ARGS__), FOUR(i + 4, __VA_ARGS__), FOUR(i + 8, __VA_ARGS__),                      \
        FOUR(i + 12, __VA_ARGS__)
#define SIXTY_FOUR(i, ...)                                                                         \
    SIXTEEN(i, __VA_ARGS__), SIXTEEN(i + 16, __VA_ARGS__), SIXTEEN(i + 32, __VA_ARGS__),           \
        SIXTEEN(i + 48, __VA_ARGS__)
#define BYTE_TABLE(...)                                                                            \
    {                                                                                              \
        SIXTY_FOUR(0, __VA_ARGS__), SIXTY_FOUR(64, __VA_ARGS__), SIXTY_FOUR(128, __VA_ARGS__),     \
            SIXTY_FOUR(192, __VA_ARGS__)                                                           \
    }

/* tables[k][v]: what byte value v adds to the sum k bytes later. */
static const uint32_t tables[8][256] = {
    BYTE_TABLE(0xf26b8303, 0xe13b70f7, 0xc79a971f, 0x8ad958cf, 0x105ec76f, 0x20bd8ede, 0x417b1dbc,
               0x82f63b78),
    BYTE_TABLE(0x13a29877, 0x274530ee, 0x4e8a61dc, 0x9d14c3b8, 0x3fc5f181, 0x7f8be302, 0xff17c604,
               0xfbc3faf9),
    BYTE_TABLE(0xa541927e, 0x4f6f520d, 0x9edea41a, 0x38513ec5, 0x70a27d8a, 0xe144fb14, 0xc76580d9,
               0x8b277743),
    BYTE_TABLE(0xdd45aab8, 0xbf672381, 0x7b2231f3, 0xf64463e6, 0xe964b13d, 0xd725148b, 0xaba65fe7,
               0x52a0c93f),
    BYTE_TABLE(0x38116fac, 0x7022df58, 0xe045beb0, 0xc5670b91, 0x8f2261d3, 0x1ba8b557, 0x37516aae,
               0x6ea2d55c),
    BYTE_TABLE(0xef306b19, 0xdb8ca0c3, 0xb2f53777, 0x6006181f, 0xc00c303e, 0x85f4168d, 0x0e045beb,
               0x1c08b7d6),
    BYTE_TABLE(0x68032cc8, 0xd0065990, 0xa5e0c5d1, 0x4e2dfd53, 0x9c5bfaa6, 0x3d5b83bd, 0x7ab7077a,
               0xf56e0ef4),
    BYTE_TABLE(0x493c7d27, 0x9278fa4e, 0x211d826d, 0x423b04da, 0x847609b4, 0x0d006599, 0x1a00cb32,
               0x34019664),
};

uint32_t crc32c_portable(uint32_t state, const uint8_t *bytes, size_t count)
{
    for (; count >= 8; bytes += 8, count -= 8) {
        uint64_t word = load_le64(bytes) ^ state;
        state = tables[7][word & 255] ^ tables[6][word >> 8 & 255] ^ tables[5][word >> 16 & 255] ^
                tables[4][word >> 24 & 255] ^ tables[3][word >> 32 & 255] ^
                tables[2][word >> 40 & 255] ^ tables[1][word >> 48 & 255] ^ tables[0][word >> 56];
    }
    for (; count; bytes++, count--)
        state = tables[0][(state ^ *bytes) & 255] ^ state >> 8;
    return state;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint32_t crc32c_sse42(uint32_t state, const uint8_t *bytes,
                                                               size_t count)
{
    uint64_t wide = state;
    for (; count >= 8; bytes += 8, count -= 8)
        wide = __builtin_ia32_crc32di(wide, load_le64(bytes));
    state = (uint32_t)wide;
    for (; count; bytes++, count--)
        state = __builtin_ia32_crc32qi(state, *bytes);
    return state;
}
#endif

uint32_t crc32c(uint32_t crc, const void *bytes, size_t count)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("sse4.2"))
        return ~crc32c_sse42(~crc, bytes, count);
#endif
    return ~crc32c_portable(~crc, bytes, count);
}

/* a times b modulo the polynomial; bit 31 is x^0, as everywhere in a reflected CRC. */
static uint32_t multiply(uint32_t a, uint32_t b)
{
    uint32_t product = 0;
    for (; a; a <<= 1) {
        if (a & 0x80000000u)
            product ^= b;
        b = b >> 1 ^ (b & 1 ? POLYNOMIAL : 0);
    }
    return product;
}

/* Appending count bytes multiplies what stands before them by x^(8 count). */
uint32_t crc32c_combine(uint32_t crc_before, uint32_t crc_after, uint64_t count_after)
{
    uint32_t factor = 0x80000000u; /* 1 */
    uint32_t power = 0x00800000u;  /* x^8 */
    for (; count_after; count_after >>= 1) {
        if (count_after & 1)
            factor = multiply(factor, power);
        power = multiply(power, power);
    }
    return multiply(factor, crc_before) ^ crc_after;
}
