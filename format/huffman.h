/* SPDX-License-Identifier: Apache-2.0 */
/*
 * huffman.h - length-limited canonical Huffman codes as DEFLATE uses them.
 *
 * From the counts of an alphabet's symbols to code lengths (RFC 1951, 3.2.2)
 * and to code words already bit-reversed, ready for a little-endian bit
 * buffer. Knows nothing of what the symbols mean.
 */
#ifndef HUFFMAN_H
#define HUFFMAN_H

#include <stdint.h>

#define HUFFMAN_SYMBOLS_MAX 288
#define HUFFMAN_BITS_MAX 15

/*
 * Code lengths for count symbols, none longer than bits_max; 0 for a symbol that does not occur.
 * A single symbol gets length 1. Counts must stay below 2^23. Returns how many symbols occur.
 */
unsigned huffman_lengths(const uint32_t *frequency, unsigned count, unsigned bits_max,
                         uint8_t *length_out);

/* The canonical code words of these lengths, first bit lowest. */
void huffman_codes(const uint8_t *length, unsigned count, uint16_t *code_out);

#endif /* HUFFMAN_H */
