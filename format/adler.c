/* SPDX-License-Identifier: Apache-2.0 */
/*
 * adler.c - 32 bytes at a time by SSE2, which each x86-64 has: zlib's, a byte at a time, was a
 * tenth of what deflating takes in a hurry.
 *
 * Of n bytes b: low += sum of b, high += n * low before them + sum of (n - i) * b[i].
 */
#include "adler.h"

#include <zlib.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define BASE 65521u
/* So many sums stay below 2^32 in each of the four lanes. */
#define STEPS_MAX 128u
#define STEP_BYTES 32u

uint32_t adler_portable(const uint8_t *data, size_t size)
{
    return (uint32_t)adler32_z(1, data, size);
}

#ifdef __SSE2__
/* Four lanes' sum. */
static uint32_t sum_of(__m128i lanes)
{
    lanes = _mm_add_epi32(lanes, _mm_shuffle_epi32(lanes, 0x4e));
    lanes = _mm_add_epi32(lanes, _mm_shuffle_epi32(lanes, 0xb1));
    return (uint32_t)_mm_cvtsi128_si32(lanes);
}

/* Sixteen bytes times weights, the first one's the largest, in eight words each. */
static __m128i weighed(__m128i bytes, __m128i first, __m128i last)
{
    const __m128i zero = _mm_setzero_si128();
    return _mm_add_epi32(_mm_madd_epi16(_mm_unpacklo_epi8(bytes, zero), first),
                         _mm_madd_epi16(_mm_unpackhi_epi8(bytes, zero), last));
}

static void add_steps(const uint8_t *data, size_t steps, uint32_t *low, uint32_t *high)
{
    const __m128i zero = _mm_setzero_si128();
    const __m128i w32 = _mm_set_epi16(25, 26, 27, 28, 29, 30, 31, 32),
                  w24 = _mm_set_epi16(17, 18, 19, 20, 21, 22, 23, 24),
                  w16 = _mm_set_epi16(9, 10, 11, 12, 13, 14, 15, 16),
                  w8 = _mm_set_epi16(1, 2, 3, 4, 5, 6, 7, 8);
    __m128i lows = zero, before = zero, highs = zero;
    for (size_t i = 0; i < steps; i++, data += STEP_BYTES) {
        const __m128i a = _mm_loadu_si128((const __m128i *)(const void *)data),
                      b = _mm_loadu_si128((const __m128i *)(const void *)(data + 16));
        before = _mm_add_epi32(before, lows);
        lows = _mm_add_epi32(lows, _mm_add_epi32(_mm_sad_epu8(a, zero), _mm_sad_epu8(b, zero)));
        highs = _mm_add_epi32(highs, _mm_add_epi32(weighed(a, w32, w24), weighed(b, w16, w8)));
    }
    const uint64_t sum = *high + (uint64_t)*low * steps * STEP_BYTES +
                         (uint64_t)sum_of(before) * STEP_BYTES + sum_of(highs);
    *high = (uint32_t)(sum % BASE);
    *low = (*low + sum_of(lows)) % BASE;
}
#endif

uint32_t adler_of(const uint8_t *data, size_t size)
{
#ifdef __SSE2__
    uint32_t low = 1, high = 0;
    for (size_t steps; (steps = size / STEP_BYTES) > 0; size -= steps * STEP_BYTES) {
        steps = steps < STEPS_MAX ? steps : STEPS_MAX;
        add_steps(data, steps, &low, &high);
        data += steps * STEP_BYTES;
    }
    return (uint32_t)adler32_z(high << 16 | low, data, size);
#else
    return adler_portable(data, size);
#endif
}
