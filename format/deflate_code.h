/* SPDX-License-Identifier: Apache-2.0 */
/* deflate_code.h - the Huffman code of a piece, and its tokens as bits (RFC 1951, 3.2.7). */
#ifndef DEFLATE_CODE_H
#define DEFLATE_CODE_H

#include "deflate_piece.h"

#include <stdint.h>
#include <string.h>

struct bit_writer {
    uint8_t *next;
    uint64_t held;
    unsigned count; /* of bits in held, below 8 after each put */
};

static inline void put_bits(struct bit_writer *out, uint64_t value, unsigned count)
{
    out->held |= value << out->count;
    out->count += count;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    memcpy(out->next, &out->held, sizeof out->held);
#else
    uint64_t swapped = __builtin_bswap64(out->held);
    memcpy(out->next, &swapped, sizeof swapped);
#endif
    out->next += out->count >> 3;
    out->held >>= out->count & ~7u;
    out->count &= 7;
}

/* The code of one piece: lengths, words, and their transmission (RFC 1951, 3.2.7). */
struct piece_code {
    uint8_t length[LITERALS + DISTANCES]; /* literals, then distances, trimmed when sent */
    uint16_t literal_word[LITERALS];
    uint16_t distance_word[DISTANCES];
    unsigned literals, distances; /* lengths sent of each */
    uint8_t sent_symbol[LITERALS + DISTANCES], sent_extra[LITERALS + DISTANCES];
    unsigned sent;
    uint8_t meta_length[19];
    uint16_t meta_word[19];
    unsigned meta_lengths;
    uint64_t header_bits;
};
/* Before the first piece: what the best parse takes symbols to cost. */
void code_first_costs(struct deflater *state);

/* The code for the piece's tokens, and the bits that code and tokens take. */
void code_build(const struct deflater *state, struct piece_code *code);
uint64_t code_piece_bits(const struct deflater *state, const struct piece_code *code);
/* The costs for the next piece are this piece's code. */
void code_take_costs(struct deflater *state, const struct piece_code *code);

void code_put(struct bit_writer *out, const struct piece_code *code, int final);
/* Both of a piece that is literals alone, without tokens. */
void code_count_literals(struct deflater *state, const uint8_t *data, uint32_t size);
void code_put_literals(const struct piece_code *code, const uint8_t *data, uint32_t size,
                       struct bit_writer *writer);
void code_put_tokens(const struct deflater *state, const struct piece_code *code,
                     struct bit_writer *writer);

/* Length-limited canonical Huffman codes as DEFLATE uses them.
 *
 * From the counts of an alphabet's symbols to code lengths (RFC 1951, 3.2.2)
 * and to code words already bit-reversed, ready for a little-endian bit
 * buffer. Knows nothing of what the symbols mean. */

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

#endif /* DEFLATE_CODE_H */
