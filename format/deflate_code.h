/* SPDX-License-Identifier: Apache-2.0 */
/* deflate_code.h - the Huffman code of a piece, and its tokens as bits (RFC 1951, 3.2.7). */
#ifndef DEFLATE_CODE_H
#define DEFLATE_CODE_H

#include "deflater.h"
#include "yield_hook.h"

#include <stdint.h>
#include <string.h>

/* ---- a piece of data ------------------------------------------------------------------------- */

/* On its way from bytes to tokens: what a parser leaves and the code takes. */

#define PIECE_BYTES                                                                                \
    65536u /* positions fit 16 bits; a unit never begins at 0, which marks "none"                  \
            */
#define WINDOW_BYTES 32768u
#define MATCH_BYTES_MIN 3u
#define MATCH_BYTES_MAX 258u
#define HASH_BITS 13
#define HASHES_AHEAD 8 /* zeros behind the last unit's */

#define GREEDY_CONTEXTS 3
#define GREEDY_HASH_BITS 12

#define LITERALS 286 /* literal and length symbols that may be used */
#define END_SYMBOL 256
#define LENGTH_SYMBOL 257 /* of the first length code */
#define DISTANCES 30
#define LENGTH_CODES 29

#define UNITS_MAX (PIECE_BYTES / RBWP_RECORD_BYTES_MIN + 2)

enum { UNITS_1, UNITS_2, UNITS_4, CONTEXTS };

/*
 * The best way to a unit, in one word so that the better of two is a maximum: the bits it saves (23
 * and a sign), then how it ends: the unit its last match begins at (16), that match's length (9; 0
 * = literals from the unit before) and distance less 1 (15).
 */
typedef int64_t way;
struct deflater {
    bool greedy;
    bool hurries;
    struct yield_hook *yield_hook;
    /* What a symbol costs in bits, extra bits included, from the piece before. */
    uint8_t literal_cost[256];
    uint8_t length_cost[MATCH_BYTES_MAX + 1];
    uint8_t distance_cost[DISTANCES];
    uint8_t length_code[MATCH_BYTES_MAX + 1]; /* by match length, never changes */

    uint16_t last[CONTEXTS][1u << HASH_BITS]; /* position in the piece, 0 = none */
    uint16_t
        cost_before[PIECE_BYTES + 1]; /* bits of all literals before it; only differences count */
    uint32_t unit[UNITS_MAX];         /* offsets in the piece, then its size */
    uint32_t hash[UNITS_MAX + HASHES_AHEAD];        /* of each unit */
    uint16_t candidate[UNITS_MAX][CONTEXTS];        /* where it was seen last; 0 = nowhere */
    way best[UNITS_MAX];                            /* to each unit, then to the end of the piece */
    uint16_t unit_at[PIECE_BYTES + DEFLATER_SLACK]; /* which unit a byte belongs to */
    uint16_t path[UNITS_MAX];

    uint32_t seen[GREEDY_CONTEXTS][1u << GREEDY_HASH_BITS]; /* see swap_seen */

    uint32_t token[PIECE_BYTES + 1]; /* literal, or MATCH_FLAG | length << 16 | distance - 1 */
    size_t tokens;
    uint32_t literal_count[LITERALS];
    uint32_t distance_count[DISTANCES];
};
#define MATCH_FLAG 0x80000000u

static inline unsigned distance_code(uint32_t distance)
{
    uint32_t d = distance - 1;
    if (d < 2)
        return d;
    unsigned top = 31u - (unsigned)__builtin_clz(d);
    return 2 * top + (d >> (top - 1) & 1);
}

static inline unsigned distance_extra(unsigned code)
{
    return code < 2 ? 0 : code / 2 - 1;
}

static inline uint32_t distance_base(unsigned code)
{
    return code < 2 ? code + 1 : ((2u + (code & 1)) << distance_extra(code)) + 1;
}

static inline void put_literals(struct deflater *state, const uint8_t *data, uint32_t from,
                                uint32_t to)
{
    for (; from < to; from++) {
        state->token[state->tokens++] = data[from];
        state->literal_count[data[from]]++;
    }
}

static inline void put_match(struct deflater *state, uint32_t length, uint32_t distance)
{
    state->token[state->tokens++] = MATCH_FLAG | length << 16 | (distance - 1);
    state->literal_count[LENGTH_SYMBOL + state->length_code[length]]++;
    state->distance_count[distance_code(distance)]++;
}

/* Behind each unit of a loop. */
#define UNITS_PER_YIELD 1024u
static inline void yield_at(const struct deflater *state, size_t unit)
{
    if (unit % UNITS_PER_YIELD == UNITS_PER_YIELD - 1)
        yield_hook_run(state->yield_hook);
}

/* Each turns a piece into tokens; state->unit holds its units, and behind them its size. */
void parse_best(struct deflater *state, const uint8_t *data, uint32_t size, size_t units);
void parse_greedy(struct deflater *state, const uint8_t *data, uint32_t size, size_t units);

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
