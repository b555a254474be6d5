/* SPDX-License-Identifier: Apache-2.0 */
/* deflate_match.h - units that are the same, and how far they are. */
#ifndef DEFLATE_MATCH_H
#define DEFLATE_MATCH_H

#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

static inline uint32_t load32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

#ifndef __SSE2__
static inline uint64_t load64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}
#endif

static inline uint32_t mix(uint32_t v)
{
    return v * 0x9e3779b1u;
}

/* Equal bytes at the start of a and b, at most `most`. May look at DEFLATER_SLACK more. */
static inline uint32_t common_bytes(const uint8_t *a, const uint8_t *b, uint32_t most)
{
    uint32_t n = 0;
    do {
#ifdef __SSE2__
        /* 32 bytes at once: most matches end within, without a branch to mispredict. */
        __m128i low = _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)(const void *)(a + n)),
                                     _mm_loadu_si128((const __m128i *)(const void *)(b + n)));
        __m128i high = _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)(const void *)(a + n + 16)),
                                      _mm_loadu_si128((const __m128i *)(const void *)(b + n + 16)));
        uint32_t differ =
            ~((uint32_t)_mm_movemask_epi8(low) | (uint32_t)_mm_movemask_epi8(high) << 16);
        if (differ) {
            n += (uint32_t)__builtin_ctz(differ);
            break;
        }
        n += 32;
#else
        uint64_t differ = load64(a + n) ^ load64(b + n);
        if (differ) {
            n += (uint32_t)(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? __builtin_ctzll(differ)
                                                                      : __builtin_clzll(differ)) /
                 8;
            break;
        }
        n += 8;
#endif
    } while (n < most);
    return n < most ? n : most;
}

static inline uint32_t hash_unit(const uint8_t *data, uint32_t length)
{
    uint32_t v = load32(data);
    if (length > 4)
        v ^= load32(data + length - 4) * 0x85ebca6bu;
    else if (length < 4) /* the bytes beyond are the next unit's */
        v &= 0xffffffffu >> 8 * (4 - length);
    return mix(v + length);
}

#endif /* DEFLATE_MATCH_H */
