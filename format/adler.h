/* SPDX-License-Identifier: Apache-2.0 */
/* adler.h - the check sum of a zlib stream (RFC 1950), of all data at once. */
#ifndef ADLER_H
#define ADLER_H

#include <stddef.h>
#include <stdint.h>

uint32_t adler_of(const uint8_t *data, size_t size);
/* The same without SIMD: zlib's. */
uint32_t adler_portable(const uint8_t *data, size_t size);

#endif /* ADLER_H */
