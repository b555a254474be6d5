/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deflate_piece.h - a piece of data on its way from bytes to tokens: what a parser leaves and the
 * code takes.
 */
#ifndef DEFLATE_PIECE_H
#define DEFLATE_PIECE_H

#include "deflater.h"
#include "yield_hook.h"

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

#endif /* DEFLATE_PIECE_H */
