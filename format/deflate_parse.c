/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deflate_parse.c - a piece to tokens, in the cheapest way or in one pass.
 *
 * The cheapest way. A unit is [kind, payload, time of the next record]: predictable bytes first,
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
#include "deflate_code.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* ---- units that are the same, and how far they are --------------------------------------------
 */

static inline uint32_t load32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

#ifndef __SSE2__
static inline uint64_t load64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}
#endif

static inline uint32_t mix(uint32_t v)
{
    return v * 0x9e3779b1u;
}

/* Equal bytes at the start of a and b, at most `most`. May look at DEFLATER_SLACK more. */
static inline uint32_t common_bytes(const uint8_t *a, const uint8_t *b, uint32_t most)
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

static inline uint32_t hash_unit(const uint8_t *data, uint32_t length)
{
    uint32_t v = load32(data);
    if (length > 4)
        v ^= load32(data + length - 4) * 0x85ebca6bu;
    else if (length < 4) /* the bytes beyond are the next unit's */
        v &= 0xffffffffu >> 8 * (4 - length);
    return mix(v + length);
}

/* ---- the cheapest way ------------------------------------------------------------------------ */

/* A match so long that nothing better will be found inside it, but for its last bytes. */
#define LONG_MATCH_BYTES 96u
#define LONG_MATCH_REST_BYTES 32u

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

/* Four units' numbers at a time: who fills unit_at is half of what comes before the search. */
static void best_hash_units(struct deflater *state, const uint8_t *data, size_t units)
{
    const uint32_t *unit = state->unit;
    uint64_t four = 0;
    for (size_t i = 0; i < units; i++, four += 0x0001000100010001u) {
        uint32_t length = unit[i + 1] - unit[i];
        state->hash[i] = hash_unit(data + unit[i], length);
        uint16_t *at = state->unit_at + unit[i];
        for (uint32_t k = 0; k < length;
             k += 8) { /* beyond a unit's end the next one's writes follow */
            memcpy(at + k, &four, sizeof four);
            memcpy(at + k + 4, &four, sizeof four);
        }
        yield_at(state, i);
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
        yield_at(state, i);
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
        yield_at(state, i);
    }
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

void parse_best(struct deflater *state, const uint8_t *data, uint32_t size, size_t units)
{
    memset(state->last, 0, sizeof state->last);
    sum_literal_costs(state, data, size);
    yield_hook_run(state->yield_hook);
    best_hash_units(state, data, units);
    yield_hook_run(state->yield_hook);
    find_candidates(state, units);
    find_ways(state, data, size, units);
    yield_hook_run(state->yield_hook);
    put_way(state, data, size, units);
}

/* ---- in one pass ----------------------------------------------------------------------------- */

/*
 * One pass over the units: the longest of a few matches at each, and the next
 * one behind its end. Who is in a hurry takes this instead of the cheapest parse, and remembers the
 * units inside of matches, too: its data recur at any distance, not as a whole.
 *
 * A match usually ends inside a unit, and a better one often begins at the start of that unit: then
 * the first is cut short. That is most of what the cheapest parse gains.
 */

#define GREEDY_BYTES_MIN 3u /* no match begins at a shorter unit */
/* A match at least this long is not compared with those of shorter contexts. */
#define GREEDY_LONG_BYTES 16u
/* By how much the match that begins inside another one must go beyond its end. */
#define GREEDY_CUT_BYTES 6u

/* Enters a position; returns where a unit of this hash was seen last, 0 = nowhere. Half of the
 * hash is in the entry, so that data are compared only where they are equal. */
static inline uint32_t swap_seen(uint32_t *table, uint32_t hash, uint32_t position)
{
    uint32_t *entry = &table[hash >> (32 - GREEDY_HASH_BITS)], seen = *entry;
    *entry = position << 16 | (hash & 0xffff);
    return ((seen ^ hash) & 0xffff) == 0 ? seen >> 16 : 0;
}

/* A unit with two, and with six of those behind it. */
struct contexts {
    uint32_t two, six;
};

static inline struct contexts contexts_of(const uint32_t *hash)
{
    const uint32_t two = mix(hash[0] ^ hash[1] * 5 ^ hash[2] >> 5);
    return (struct contexts){two,
                             mix(two ^ hash[3] * 5 ^ hash[4] >> 5 ^ hash[5] * 3 ^ hash[6] >> 9)};
}

/* The longest match at unit i with where it was seen last: with 6, 2, or 0 units behind it. Its
 * length, 0 if there is none. */
static inline uint32_t find_match(struct deflater *state, const uint8_t *data, uint32_t size,
                                  size_t i, uint32_t *from_out)
{
    const uint32_t *hash = &state->hash[i], position = state->unit[i];
    const uint32_t most = size - position < MATCH_BYTES_MAX ? size - position : MATCH_BYTES_MAX;
    const struct contexts context = contexts_of(hash);
    const uint32_t found[GREEDY_CONTEXTS] = {
        swap_seen(state->seen[2], context.six, position),
        swap_seen(state->seen[1], context.two, position),
        swap_seen(state->seen[0], hash[0], position),
    };
    uint32_t best = 0;
    for (int k = 0; k < GREEDY_CONTEXTS; k++) {
        if (!found[k] || position - found[k] > WINDOW_BYTES)
            continue;
        const uint32_t length = common_bytes(data + found[k], data + position, most);
        if (length > best) {
            best = length;
            *from_out = found[k];
        }
        if (length >= GREEDY_LONG_BYTES)
            break;
    }
    return best;
}

/* Inside of a match: what recurs there recurs with what is behind it. */
static inline void enter_seen(struct deflater *state, size_t i)
{
    const struct contexts context = contexts_of(&state->hash[i]);
    (void)swap_seen(state->seen[1], context.two, state->unit[i]);
    (void)swap_seen(state->seen[2], context.six, state->unit[i]);
}

/* The literals up to a match, and the match. Returns where it ends. */
static inline uint32_t put_pending(struct deflater *state, const uint8_t *data, uint32_t done,
                                   uint32_t at, uint32_t from, uint32_t length)
{
    if (length == 0)
        return done;
    put_literals(state, data, done, at);
    put_match(state, length, at - from);
    return at + length;
}

static void greedy_hash_units(struct deflater *state, const uint8_t *data, size_t units)
{
    const uint32_t *unit = state->unit;
    for (size_t i = 0; i < units; i++) {
        state->hash[i] = hash_unit(data + unit[i], unit[i + 1] - unit[i]);
        yield_at(state, i);
    }
    memset(state->hash + units, 0, HASHES_AHEAD * sizeof state->hash[0]);
}

void parse_greedy(struct deflater *state, const uint8_t *data, uint32_t size, size_t units)
{
    const uint32_t *unit = state->unit;
    uint32_t done = 0, at = 0, from = 0, length = 0; /* a match not written yet: it may be cut */
    memset(state->seen, 0, sizeof state->seen);
    greedy_hash_units(state, data, units);
    for (size_t i = 0; i < units; i++) {
        const uint32_t position = unit[i], end = at + length;
        const bool is_inside = position < end;
        uint32_t next_from = 0;
        yield_at(state, i);
        if (unit[i + 1] - position < GREEDY_BYTES_MIN)
            continue;
        if (is_inside && (unit[i + 1] <= end || position < at + GREEDY_BYTES_MIN)) {
            if (state->hurries)
                enter_seen(state, i);
            continue;
        }
        const uint32_t next = find_match(state, data, size, i, &next_from);
        if (next < GREEDY_BYTES_MIN || (is_inside && position + next < end + GREEDY_CUT_BYTES))
            continue;
        done = put_pending(state, data, done, at, from, is_inside ? position - at : length);
        at = position;
        from = next_from;
        length = next;
    }
    done = put_pending(state, data, done, at, from, length);
    put_literals(state, data, done, size);
}
