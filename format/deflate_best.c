/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deflate_best.c - the cheapest parse of a piece.
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
#include "deflate_match.h"
#include "deflate_piece.h"

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
static void deflate_best_hash_units(struct deflater *state, const uint8_t *data, size_t units)
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
    deflate_best_hash_units(state, data, units);
    yield_hook_run(state->yield_hook);
    find_candidates(state, units);
    find_ways(state, data, size, units);
    yield_hook_run(state->yield_hook);
    put_way(state, data, size, units);
}
