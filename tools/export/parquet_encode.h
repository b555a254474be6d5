/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parquet_encode.h - the values of a page in the encodings of Parquet.
 *
 * All of them use whole bytes where the format leaves the width open: a page
 * is deflated afterwards, which finds nothing in values of 13 or 17 bits.
 */
#ifndef PARQUET_ENCODE_H
#define PARQUET_ENCODE_H

#include "buffer.h"

/* DELTA_BINARY_PACKED. bits is 32 or 64, the width of the column's type; of 32 the upper half of
 * each value is not looked at. */
void encode_delta(struct buffer *to, const int64_t *values, size_t count, int bits);

/* The same of one value, count times. */
void encode_delta_run(struct buffer *to, int64_t value, size_t count, int bits);

/* RLE, the hybrid of runs and packed groups, of values below 2^(8 * width_bytes). */
void encode_hybrid(struct buffer *to, const uint32_t *values, size_t count, unsigned width_bytes);

/* One bit each, for definition levels (RLE of width 1) and BOOLEAN (PLAIN). */
void encode_level_bits(struct buffer *to, const int64_t *values, size_t count);
void encode_bits(struct buffer *to, const int64_t *values, size_t count);

/* The same of one bit, count times. */
void encode_level_run(struct buffer *to, bool bit, size_t count);
void encode_bit_run(struct buffer *to, bool bit, size_t count);

/* Eight bytes each, for DOUBLE (PLAIN). */
void encode_words(struct buffer *to, const int64_t *values, size_t count);

#endif /* PARQUET_ENCODE_H */
