/* SPDX-License-Identifier: Apache-2.0 */
/* crc32c.h - the sum of SPEC.md, section 10.9: Castagnoli, reflected. */
#ifndef CRC32C_H
#define CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Initial and final value inverted; pass 0 to begin, the last result to go on. */
uint32_t crc32c(uint32_t crc, const void *bytes, size_t count);

/* The sum of two strings one after the other, from the sums of both and the second one's length. */
uint32_t crc32c_combine(uint32_t crc_before, uint32_t crc_after, uint64_t count_after);

/* The loop for machines without the instruction, over the inverted state; for tests. */
uint32_t crc32c_portable(uint32_t state, const uint8_t *bytes, size_t count);

#endif /* CRC32C_H */
