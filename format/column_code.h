/* SPDX-License-Identifier: Apache-2.0 */
/*
 * column_code.h - the cells of one column as bytes, and back (SPEC.md, section 9.2).
 */
#ifndef COLUMN_CODE_H
#define COLUMN_CODE_H

#include "bytes.h"

/* Stored in files. */
enum column_code {
    COLUMN_PLAIN = 0,
    COLUMN_VARINT = 1,
    COLUMN_DELTA = 2,
    COLUMN_CONSTANT = 3,
    COLUMN_DICTIONARY = 4,
    COLUMN_BYTES = 5
};

/* The most bytes that column_encode makes of so many cells. */
static inline size_t column_bytes_max(uint32_t rows)
{
    return (size_t)rows * VARINT_BYTES_MAX + VARINT_BYTES_MAX;
}

/* Writes cells in whichever code suits them, from what a part of them shows. The bytes used. */
size_t column_encode(const uint64_t *cells, uint32_t rows, uint8_t *out,
                     enum column_code *code_out);

/* Lengths of cells of a column of bytes (the low half of each), then the bytes themselves. */
size_t column_encode_bytes(const uint64_t *cells, uint32_t rows, const uint8_t *bytes,
                           uint8_t *out);

/* Reads rows cells; false unless they fill bytes exactly. Any code but COLUMN_BYTES. */
bool column_decode(unsigned code, const uint8_t *bytes, size_t count, uint32_t rows,
                   uint64_t *cells_out);

/* Cells of a column of bytes: where each begins behind base (high half) and its length. */
bool column_decode_bytes(const uint8_t *bytes, size_t count, uint32_t rows, uint32_t base,
                         uint64_t *cells_out);

#endif /* COLUMN_CODE_H */
