/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How it works. A block is cut into pieces of at most 64 KiB, each one DEFLATE
 * block with its own dynamic code and no match across pieces.
 *
 * A unit is [kind, payload, time of the next record]: predictable bytes first,
 * the noisy low byte of a time last. Three tables remember, by hash, where the
 * last unit, pair of units and four units of the same content began. Matches
 * are looked for at the starts of units only, at most one for each table, and
 * then the cheapest way through the piece is found: for each unit the most
 * bits that matches before it can have saved, against writing all
 * bytes as literals. Costs are those of the code of the piece before, since
 * neighbouring pieces look alike.
 *
 * docs/design/recorder.md has the figures, also of what was tried and left
 * out: greedy and lazy matching, hash chains over all bytes, more tables, more
 * candidates in each.
 */
#include "deflater.h"

#include "huffman.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "rbwp_format.h"

#define PIECE_BYTES                                                                                \
    65536u /* positions fit 16 bits; a unit never begins at 0, which marks "none"                  \
            */
#define WINDOW_BYTES 32768u
#define MATCH_BYTES_MIN 3u
#define MATCH_BYTES_MAX 258u
#define HASH_BITS 13
#define HASHES_AHEAD 8 /* zeros behind the last unit's */

#define GREEDY_BYTES_MIN 4u /* no match begins at a shorter unit */
#define GREEDY_CONTEXTS 4
#define GREEDY_HASH_BITS 12

#define LITERALS 286 /* literal and length symbols that may be used */
#define END_SYMBOL 256
#define LENGTH_SYMBOL 257 /* of the first length code */
#define DISTANCES 30
#define LENGTH_CODES 29

/* RFC 1951, 3.2.5. */
static const uint16_t length_base[LENGTH_CODES] = {3,  4,  5,  6,   7,   8,   9,   10,  11, 13,
                                                   15, 17, 19, 23,  27,  31,  35,  43,  51, 59,
                                                   67, 83, 99, 115, 131, 163, 195, 227, 258};
static const uint8_t length_extra[LENGTH_CODES] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                                   2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};

/* A match so long that nothing better will be found inside it, but for its last bytes. */
#define LONG_MATCH_BYTES 96u
#define LONG_MATCH_REST_BYTES 32u

#define UNITS_MAX (PIECE_BYTES / RBWP_RECORD_BYTES_MIN + 2)

enum { UNITS_1, UNITS_2, UNITS_4, CONTEXTS };

/*
 * The best way to a unit, in one word so that the better of two is a maximum: the bits it saves (23
 * and a sign), then how it ends: the unit its last match begins at (16), that match's length (9; 0
 * = literals from the unit before) and distance less 1 (15).
 */
typedef int64_t way;
#define WAY_GAIN_SHIFT 40
#define WAY_FROM_SHIFT 24
#define WAY_LENGTH_SHIFT 15

static way make_way(int32_t gain, size_t from, uint32_t length, uint32_t distance)
{
    return (way)((uint64_t)(int64_t)gain << WAY_GAIN_SHIFT | (uint64_t)from << WAY_FROM_SHIFT |
                 (uint64_t)length << WAY_LENGTH_SHIFT | (distance - 1));
}
static int32_t way_gain(way w)
{
    return (int32_t)(w >> WAY_GAIN_SHIFT);
}
static uint32_t way_from(way w)
{
    return (uint32_t)(w >> WAY_FROM_SHIFT) & 0xffff;
}
static uint32_t way_length(way w)
{
    return (uint32_t)(w >> WAY_LENGTH_SHIFT) & 0x1ff;
}
static uint32_t way_distance(way w)
{
    return ((uint32_t)w & 0x7fff) + 1;
}

/* A code word with its extra bits, ready to write. */
struct bits {
    uint32_t value;
    uint32_t count;
};

struct deflater {
    bool greedy;
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

static uint32_t load32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

#ifndef __SSE2__
static uint64_t load64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}
#endif

static uint32_t mix(uint32_t v)
{
    return v * 0x9e3779b1u;
}

static unsigned distance_code(uint32_t distance)
{
    uint32_t d = distance - 1;
    if (d < 2)
        return d;
    unsigned top = 31u - (unsigned)__builtin_clz(d);
    return 2 * top + (d >> (top - 1) & 1);
}

static unsigned distance_extra(unsigned code)
{
    return code < 2 ? 0 : code / 2 - 1;
}

static uint32_t distance_base(unsigned code)
{
    return code < 2 ? code + 1 : ((2u + (code & 1)) << distance_extra(code)) + 1;
}

struct deflater *deflater_new(bool greedy)
{
    struct deflater *state = calloc(1, sizeof *state);
    if (!state)
        return NULL;
    state->greedy = greedy;
    unsigned code = 0;
    for (unsigned length = MATCH_BYTES_MIN; length <= MATCH_BYTES_MAX; length++) {
        while (code < LENGTH_CODES - 1 && length_base[code + 1] <= length)
            code++;
        state->length_code[length] = (uint8_t)code;
        state->length_cost[length] = (uint8_t)((length < 12 ? 4 : 6) + length_extra[code]);
    }
    /* A first guess: kinds, slots and high bytes of times are small numbers. */
    for (unsigned value = 0; value < 256; value++)
        state->literal_cost[value] = value < 16 ? 4 : 9;
    for (unsigned d = 0; d < DISTANCES; d++)
        state->distance_cost[d] = (uint8_t)(4 + distance_extra(d));
    return state;
}

void deflater_free(struct deflater *state)
{
    free(state);
}

/* ---- matches ---------------------------------------------------------------- */

/* Equal bytes at the start of a and b, at most `most`. May look at DEFLATER_SLACK more. */
static uint32_t common_bytes(const uint8_t *a, const uint8_t *b, uint32_t most)
{
    uint32_t n = 0;
    do {
#ifdef __SSE2__
        /* 32 bytes at once: most matches end within, without a branch to mispredict. */
        __m128i low = _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)(const void *)(a + n)),
                                     _mm_loadu_si128((const __m128i *)(const void *)(b + n)));
        __m128i high = _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)(const void *)(a + n + 16)),
                                      _mm_loadu_si128((const __m128i *)(const void *)(b + n + 16)));
        uint32_t differ =
            ~((uint32_t)_mm_movemask_epi8(low) | (uint32_t)_mm_movemask_epi8(high) << 16);
        if (differ) {
            n += (uint32_t)__builtin_ctz(differ);
            break;
        }
        n += 32;
#else
        uint64_t differ = load64(a + n) ^ load64(b + n);
        if (differ) {
            n += (uint32_t)(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? __builtin_ctzll(differ)
                                                                      : __builtin_clzll(differ)) /
                 8;
            break;
        }
        n += 8;
#endif
    } while (n < most);
    return n < most ? n : most;
}

static uint32_t hash_unit(const uint8_t *data, uint32_t length)
{
    uint32_t v = load32(data);
    if (length > 4)
        v ^= load32(data + length - 4) * 0x85ebca6bu;
    else if (length < 4) /* the bytes beyond are the next unit's */
        v &= 0xffffffffu >> 8 * (4 - length);
    return mix(v + length);
}

static void hash_units(struct deflater *state, const uint8_t *data, size_t units)
{
    const uint32_t *unit = state->unit;
    for (size_t i = 0; i < units; i++) {
        uint32_t length = unit[i + 1] - unit[i];
        state->hash[i] = hash_unit(data + unit[i], length);
        uint16_t *at = state->unit_at + unit[i];
        for (uint32_t k = 0; k < length;
             k += 8) /* beyond a unit's end the next one's writes follow */
            for (uint32_t j = 0; j < 8; j++)
                at[k + j] = (uint16_t)i;
    }
    memset(state->hash + units, 0, HASHES_AHEAD * sizeof state->hash[0]);
}

/*
 * For each unit, where each context was seen last, in a pass of its own: the table look-ups overlap
 * here, and would each wait behind mispredicted branches in the search.
 */
static void find_candidates(struct deflater *state, size_t units)
{
    const uint32_t *hash = state->hash;
    uint32_t next_two = mix(hash[0] ^ hash[1] >> 15 ^ hash[1] * 5),
             after_two = mix(hash[1] ^ hash[2] >> 15 ^ hash[2] * 5);
    for (size_t i = 0; i < units; i++) {
        uint32_t two = next_two, h[CONTEXTS];
        next_two = after_two;
        after_two = mix(hash[i + 2] ^ hash[i + 3] >> 15 ^ hash[i + 3] * 5);
        h[UNITS_1] = hash[i] >> (32 - HASH_BITS);
        h[UNITS_2] = two >> (32 - HASH_BITS);
        h[UNITS_4] = ((two + (after_two >> 13) + after_two * 3) * 0x85ebca6bu) >> (32 - HASH_BITS);
        for (int context = 0; context < CONTEXTS; context++) {
            state->candidate[i][context] = state->last[context][h[context]];
            state->last[context][h[context]] = (uint16_t)state->unit[i];
        }
    }
}

static void take_way(struct deflater *state, size_t to, way candidate)
{
    way best = state->best[to];
    state->best[to] = candidate > best ? candidate : best;
}

/* Literal bits that a match over [from, to) saves. */
static int32_t literal_bits(const struct deflater *state, uint32_t from, uint32_t to)
{
    return (uint16_t)(state->cost_before[to] - state->cost_before[from]);
}

/*
 * A match at unit i leads to the first unit at or after its end, with literals in between, or, cut
 * short, to the unit before.
 */
static void offer_match(struct deflater *state, size_t i, uint32_t length, uint32_t distance)
{
    uint32_t position = state->unit[i], end = position + length;
    int32_t base = way_gain(state->best[i]) - state->distance_cost[distance_code(distance)];
    size_t last = state->unit_at[end - 1];
    int32_t gain = base + literal_bits(state, position, end) - state->length_cost[length];
    take_way(state, last + 1, make_way(gain, i, length, distance));
    end = state->unit[last];
    length = end - position;
    if (length < MATCH_BYTES_MIN)
        return;
    gain = base + literal_bits(state, position, end) - state->length_cost[length];
    take_way(state, last, make_way(gain, i, length, distance));
}

/* The length of the match with a candidate, 0 if there is none. */
static uint32_t try_candidate(struct deflater *state, const uint8_t *data, size_t i,
                              uint32_t candidate, uint32_t most)
{
    uint32_t position = state->unit[i], distance = position - candidate;
    if (candidate == 0 || distance > WINDOW_BYTES)
        return 0;
    uint32_t length = common_bytes(data + candidate, data + position, most);
    if (length < MATCH_BYTES_MIN)
        return 0;
    offer_match(state, i, length, distance);
    return length;
}

/*
 * Offers the matches at unit i, long contexts first: one that is good makes shorter ones unlikely
 * to be better. Returns the length of the last.
 */
static uint32_t find_matches(struct deflater *state, const uint8_t *data, uint32_t size, size_t i)
{
    const uint16_t *candidate = state->candidate[i];
    uint32_t most = size - state->unit[i];
    if (most > MATCH_BYTES_MAX)
        most = MATCH_BYTES_MAX;
    uint32_t length = try_candidate(state, data, i, candidate[UNITS_4], most);
    if (length < 14 && candidate[UNITS_2] != candidate[UNITS_4])
        length = try_candidate(state, data, i, candidate[UNITS_2], most);
    if (length < 7 && candidate[UNITS_1] != candidate[UNITS_2])
        length = try_candidate(state, data, i, candidate[UNITS_1], most);
    return length;
}

/* Fills best for all units and, behind the last, the end of the piece. */
static void find_ways(struct deflater *state, const uint8_t *data, uint32_t size, size_t units)
{
    uint32_t quiet_until = 0; /* no search before this position */
    memset(state->best, 0, (units + 1) * sizeof state->best[0]);
    for (size_t i = 0; i < units; i++) {
        if (state->unit[i] >= quiet_until) {
            uint32_t length = find_matches(state, data, size, i);
            if (length >= LONG_MATCH_BYTES)
                quiet_until = state->unit[i] + length - LONG_MATCH_REST_BYTES;
        }
        take_way(state, i + 1, make_way(way_gain(state->best[i]), 0, 0, 1));
    }
}

static void put_literals(struct deflater *state, const uint8_t *data, uint32_t from, uint32_t to)
{
    for (; from < to; from++) {
        state->token[state->tokens++] = data[from];
        state->literal_count[data[from]]++;
    }
}

static void put_match(struct deflater *state, uint32_t length, uint32_t distance)
{
    state->token[state->tokens++] = MATCH_FLAG | length << 16 | (distance - 1);
    state->literal_count[LENGTH_SYMBOL + state->length_code[length]]++;
    state->distance_count[distance_code(distance)]++;
}

/* Walks the best way back from the end, then writes it from the start. */
static void put_way(struct deflater *state, const uint8_t *data, uint32_t size, size_t units)
{
    size_t matches = 0;
    for (size_t i = units; i > 0;) {
        if (way_length(state->best[i]) == 0) {
            i--;
        } else {
            state->path[matches++] = (uint16_t)i;
            i = way_from(state->best[i]);
        }
    }
    uint32_t done = 0;
    while (matches > 0) {
        way match = state->best[state->path[--matches]];
        put_literals(state, data, done, state->unit[way_from(match)]);
        put_match(state, way_length(match), way_distance(match));
        done = state->unit[way_from(match)] + way_length(match);
    }
    put_literals(state, data, done, size);
}

static void sum_literal_costs(struct deflater *state, const uint8_t *data, uint32_t size)
{
    uint32_t cost = 0;
    for (uint32_t i = 0; i < size; i++) {
        state->cost_before[i] = (uint16_t)cost;
        cost += state->literal_cost[data[i]];
    }
    state->cost_before[size] = (uint16_t)cost;
}

static void parse_best(struct deflater *state, const uint8_t *data, uint32_t size, size_t units)
{
    memset(state->last, 0, sizeof state->last);
    sum_literal_costs(state, data, size);
    hash_units(state, data, units);
    find_candidates(state, units);
    find_ways(state, data, size, units);
    put_way(state, data, size, units);
}

/* ---- greedy ------------------------------------------------------------------ */

/* Enters a position; returns where a unit of this hash was seen last, 0 = nowhere. Half of the
 * hash is in the entry, so that data are compared only where they are equal. */
static inline uint32_t swap_seen(uint32_t *table, uint32_t hash, uint32_t position)
{
    uint32_t *entry = &table[hash >> (32 - GREEDY_HASH_BITS)], seen = *entry;
    *entry = position << 16 | (hash & 0xffff);
    return ((seen ^ hash) & 0xffff) == 0 ? seen >> 16 : 0;
}

/* Where unit i was seen last with as many of the units behind it as possible: 6, 4, 2 or 0. */
static inline uint32_t find_seen(struct deflater *state, size_t i)
{
    const uint32_t *hash = &state->hash[i];
    uint32_t position = state->unit[i], found = 0, best = 0;
    uint32_t context = hash[0];
    for (int more = 0; more < GREEDY_CONTEXTS; more++) {
        if (more)
            context = mix(context ^ hash[2 * more - 1] * 5 ^ hash[2 * more] >> 5);
        found = swap_seen(state->seen[more], context, position);
        best = found && position - found <= WINDOW_BYTES ? found : best;
    }
    return best;
}

static void parse_greedy(struct deflater *state, const uint8_t *data, uint32_t size, size_t units)
{
    const uint32_t *unit = state->unit;
    uint32_t done = 0;
    memset(state->seen, 0, sizeof state->seen);
    for (size_t i = 0; i < units; i++)
        state->hash[i] = hash_unit(data + unit[i], unit[i + 1] - unit[i]);
    memset(state->hash + units, 0, HASHES_AHEAD * sizeof state->hash[0]);
    for (size_t i = 0; i < units; i++) {
        uint32_t position = unit[i];
        if (position < done || unit[i + 1] - position < GREEDY_BYTES_MIN)
            continue;
        uint32_t from = find_seen(state, i), most = size - position;
        if (from == 0)
            continue;
        uint32_t length = common_bytes(data + from, data + position,
                                       most < MATCH_BYTES_MAX ? most : MATCH_BYTES_MAX);
        if (length < GREEDY_BYTES_MIN)
            continue;
        put_literals(state, data, done, position);
        put_match(state, length, position - from);
        done = position + length;
    }
    put_literals(state, data, done, size);
}

/* Turns a piece into tokens. state->unit holds its units. */
static void parse(struct deflater *state, const uint8_t *data, uint32_t size, size_t units)
{
    memset(state->literal_count, 0, sizeof state->literal_count);
    memset(state->distance_count, 0, sizeof state->distance_count);
    state->tokens = 0;
    state->unit[units] = size;
    if (state->greedy)
        parse_greedy(state, data, size, units);
    else
        parse_best(state, data, size, units);
    state->literal_count[END_SYMBOL] = 1;
}

/* ---- bits ------------------------------------------------------------------- */

struct bit_writer {
    uint8_t *next;
    uint64_t held;
    unsigned count; /* of bits in held, below 8 after each put */
};

static void put_bits(struct bit_writer *out, uint64_t value, unsigned count)
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
static const uint8_t meta_order[19] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                       11, 4,  12, 3, 13, 2, 14, 1, 15};
static const uint8_t meta_extra[19] = {[16] = 2, [17] = 3, [18] = 7};

static void send_run(struct piece_code *code, uint32_t *meta_count, unsigned value, unsigned run)
{
    while (run > 0) {
        unsigned symbol = value, extra = 0, covers = 1;
        if (value == 0 && run >= 3) {
            symbol = run >= 11 ? 18 : 17;
            covers = run > 138 ? 138 : run;
            extra = covers - (symbol == 18 ? 11 : 3);
        }
        code->sent_symbol[code->sent] = (uint8_t)symbol;
        code->sent_extra[code->sent++] = (uint8_t)extra;
        meta_count[symbol]++;
        run -= covers;
        if (value != 0 && run >= 3) { /* "repeat the one before" */
            covers = run > 6 ? 6 : run;
            code->sent_symbol[code->sent] = 16;
            code->sent_extra[code->sent++] = (uint8_t)(covers - 3);
            meta_count[16]++;
            run -= covers;
        }
    }
}

/* The lengths of the code's own words, as runs, and the code for those. */
static void build_meta_code(struct piece_code *code)
{
    uint8_t all[LITERALS + DISTANCES];
    memcpy(all, code->length, code->literals);
    memcpy(all + code->literals, code->length + LITERALS, code->distances);
    unsigned total = code->literals + code->distances;
    uint32_t meta_count[19] = {0};
    code->sent = 0;
    for (unsigned i = 0, run; i < total; i += run) {
        for (run = 1; i + run < total && all[i + run] == all[i];)
            run++;
        send_run(code, meta_count, all[i], run);
    }
    huffman_lengths(meta_count, 19, 7, code->meta_length);
    huffman_codes(code->meta_length, 19, code->meta_word);
    code->meta_lengths = 19;
    while (code->meta_lengths > 4 && code->meta_length[meta_order[code->meta_lengths - 1]] == 0)
        code->meta_lengths--;
    code->header_bits = 3 + 14 + 3 * code->meta_lengths;
    for (unsigned symbol = 0; symbol < 19; symbol++)
        code->header_bits +=
            (uint64_t)meta_count[symbol] * (code->meta_length[symbol] + meta_extra[symbol]);
}

static void build_code(const struct deflater *state, struct piece_code *code)
{
    uint8_t distance_length[DISTANCES];
    huffman_lengths(state->literal_count, LITERALS, HUFFMAN_BITS_MAX, code->length);
    if (huffman_lengths(state->distance_count, DISTANCES, HUFFMAN_BITS_MAX, distance_length) == 0)
        distance_length[0] = 1; /* a code must have one word; it is not used */
    huffman_codes(code->length, LITERALS, code->literal_word);
    huffman_codes(distance_length, DISTANCES, code->distance_word);

    code->literals = LITERALS;
    while (code->literals > LENGTH_SYMBOL && code->length[code->literals - 1] == 0)
        code->literals--;
    code->distances = DISTANCES;
    while (code->distances > 1 && distance_length[code->distances - 1] == 0)
        code->distances--;
    memmove(code->length + LITERALS, distance_length, DISTANCES);
    build_meta_code(code);
}

/* The costs for the next piece are this piece's code; what did not occur gets a high price. */
static void take_costs(struct deflater *state, const struct piece_code *code)
{
    const uint8_t *distance_length = code->length + LITERALS;
    for (unsigned value = 0; value < 256; value++)
        state->literal_cost[value] = code->length[value] ? code->length[value] : 12;
    for (unsigned length = MATCH_BYTES_MIN; length <= MATCH_BYTES_MAX; length++) {
        unsigned c = state->length_code[length], bits = code->length[LENGTH_SYMBOL + c];
        state->length_cost[length] = (uint8_t)((bits ? bits : 12) + length_extra[c]);
    }
    for (unsigned d = 0; d < DISTANCES; d++)
        state->distance_cost[d] =
            (uint8_t)((distance_length[d] ? distance_length[d] : 9) + distance_extra(d));
}

static uint64_t piece_bits(const struct deflater *state, const struct piece_code *code)
{
    uint64_t bits = code->header_bits;
    for (unsigned symbol = 0; symbol < LITERALS; symbol++) {
        unsigned extra = symbol >= LENGTH_SYMBOL ? length_extra[symbol - LENGTH_SYMBOL] : 0;
        bits += (uint64_t)state->literal_count[symbol] * (code->length[symbol] + extra);
    }
    for (unsigned d = 0; d < DISTANCES; d++)
        bits +=
            (uint64_t)state->distance_count[d] * (code->length[LITERALS + d] + distance_extra(d));
    return bits;
}

static void put_code(struct bit_writer *out, const struct piece_code *code, int final)
{
    put_bits(out, (unsigned) final | 2u << 1, 3);
    put_bits(out,
             (code->literals - 257) | (code->distances - 1) << 5 | (code->meta_lengths - 4) << 10,
             14);
    for (unsigned i = 0; i < code->meta_lengths; i++)
        put_bits(out, code->meta_length[meta_order[i]], 3);
    for (unsigned i = 0; i < code->sent; i++) {
        unsigned symbol = code->sent_symbol[i];
        put_bits(out, code->meta_word[symbol], code->meta_length[symbol]);
        put_bits(out, code->sent_extra[i], meta_extra[symbol]);
    }
}

static void put_tokens(const struct deflater *state, const struct piece_code *code,
                       struct bit_writer *writer)
{
    struct bits length_bits[MATCH_BYTES_MAX + 1];
    for (unsigned length = MATCH_BYTES_MIN; length <= MATCH_BYTES_MAX; length++) {
        unsigned c = state->length_code[length], symbol = LENGTH_SYMBOL + c;
        length_bits[length].value = code->literal_word[symbol] | (uint32_t)(length - length_base[c])
                                                                     << code->length[symbol];
        length_bits[length].count = code->length[symbol] + length_extra[c];
    }
    struct bit_writer out = *writer;
    for (size_t i = 0; i < state->tokens; i++) {
        uint32_t token = state->token[i];
        if (token < MATCH_FLAG) {
            put_bits(&out, code->literal_word[token], code->length[token]);
            continue;
        }
        struct bits length = length_bits[token >> 16 & 0x7fff];
        uint32_t distance = (token & 0xffff) + 1;
        unsigned d = distance_code(distance), word_bits = code->length[LITERALS + d];
        uint64_t bits = code->distance_word[d] | (uint64_t)(distance - distance_base(d))
                                                     << word_bits;
        put_bits(&out, length.value | bits << length.count,
                 length.count + word_bits + distance_extra(d));
    }
    put_bits(&out, code->literal_word[END_SYMBOL], code->length[END_SYMBOL]);
    *writer = out;
}

/* ---- the stream -------------------------------------------------------------- */

size_t deflater_run(struct deflater *state, const uint8_t *data, size_t size, const uint32_t *unit,
                    size_t units, uint8_t *out)
{
    const size_t frame_bytes = 2 + 4; /* zlib header and check sum */
    if (size <= frame_bytes)
        return 0;
    struct bit_writer writer = {out, 0, 0};
    put_bits(&writer, 0x5e78, 16); /* RFC 1950: deflate, 32 KiB window, fast */
    for (size_t from = 0, u = 0; from < size;) {
        size_t piece = size - from < PIECE_BYTES ? size - from : PIECE_BYTES, count = 0;
        for (; u < units && unit[u] < from + piece; u++)
            state->unit[count++] = (uint32_t)(unit[u] - from);
        parse(state, data + from, (uint32_t)piece, count);
        struct piece_code code;
        build_code(state, &code);
        uint64_t bits = piece_bits(state, &code) + writer.count;
        if ((size_t)(writer.next - out) + bits / 8 + 1 + frame_bytes > size)
            return 0;
        if (!state->greedy)
            take_costs(state, &code);
        from += piece;
        put_code(&writer, &code, from == size);
        put_tokens(state, &code, &writer);
    }
    if (writer.count)
        put_bits(&writer, 0, 8 - writer.count);
    uint32_t check = (uint32_t)adler32(1, data, (uInt)size);
    for (int shift = 24; shift >= 0; shift -= 8)
        *writer.next++ = (uint8_t)(check >> shift);
    return (size_t)(writer.next - out);
}
