/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deflate_greedy.c - for each unit the last one that is the same. Who is in a hurry takes this
 * instead of the cheapest parse, and remembers the units inside of matches, too: its data recur at
 * any distance, not as a whole.
 */
#include "deflate_match.h"
#include "deflate_piece.h"

#define GREEDY_BYTES_MIN 4u /* no match begins at a shorter unit */

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

/* Where unit i was seen last with as many of the units behind it as possible: 6, 2 or 0. */
static inline uint32_t find_seen(struct deflater *state, size_t i)
{
    const uint32_t *hash = &state->hash[i], position = state->unit[i];
    const struct contexts context = contexts_of(hash);
    const uint32_t found[GREEDY_CONTEXTS] = {
        swap_seen(state->seen[0], hash[0], position),
        swap_seen(state->seen[1], context.two, position),
        swap_seen(state->seen[2], context.six, position),
    };
    uint32_t best = 0;
    for (int k = 0; k < GREEDY_CONTEXTS; k++)
        best = found[k] && position - found[k] <= WINDOW_BYTES ? found[k] : best;
    return best;
}

/* Inside of a match: what recurs there recurs with what is behind it. */
static inline void enter_seen(struct deflater *state, size_t i)
{
    const struct contexts context = contexts_of(&state->hash[i]);
    (void)swap_seen(state->seen[1], context.two, state->unit[i]);
    (void)swap_seen(state->seen[2], context.six, state->unit[i]);
}

void parse_greedy(struct deflater *state, const uint8_t *data, uint32_t size, size_t units)
{
    const uint32_t *unit = state->unit;
    uint32_t done = 0;
    memset(state->seen, 0, sizeof state->seen);
    for (size_t i = 0; i < units; i++) {
        state->hash[i] = hash_unit(data + unit[i], unit[i + 1] - unit[i]);
        breathe_at(state, i);
    }
    memset(state->hash + units, 0, HASHES_AHEAD * sizeof state->hash[0]);
    for (size_t i = 0; i < units; i++) {
        uint32_t position = unit[i];
        breathe_at(state, i);
        if (unit[i + 1] - position < GREEDY_BYTES_MIN)
            continue;
        if (position < done) {
            if (state->hurries)
                enter_seen(state, i);
            continue;
        }
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
