/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inflater.h - zlib streams that are whole, of known size, to bytes.
 *
 * It only says yes: what it does not take (a stream that is damaged, ends early, or gives other
 * than so many bytes) is for zlib to judge, and to say what is wrong with it. So the two never
 * differ about what is valid. It is for blocks: literals nearly alone, of which it decodes several
 * a look at the input.
 */
#ifndef INFLATER_H
#define INFLATER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INFLATER_CODES_BITS 11 /* codes up to this length are found at once */
#define INFLATER_DISTANCE_BITS 8

/* Tables, made anew for each block of a stream; any contents are a valid start. A table has its
 * direct entries, then for each longer prefix one of all that may follow. */
struct inflater {
    uint32_t codes[(1 << INFLATER_CODES_BITS) + 288 * 16];
    uint32_t distances[(1 << INFLATER_DISTANCE_BITS) + 32 * 128];
};

/* True: in was a valid stream of just these bytes. False: out has anything. */
bool inflater_run(struct inflater *inflater, const uint8_t *in, size_t in_bytes, uint8_t *out,
                  size_t out_bytes);

/* The check sum of a zlib stream (RFC 1950), of all data at once. */

uint32_t adler_of(const uint8_t *data, size_t size);
/* The same without SIMD: zlib's. */
uint32_t adler_portable(const uint8_t *data, size_t size);

#endif /* INFLATER_H */
