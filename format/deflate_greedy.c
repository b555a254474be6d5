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

void parse_greedy(struct deflater *state, const uint8_t *data, uint32_t size, size_t units)
{
    const uint32_t *unit = state->unit;
    uint32_t done = 0;
    memset(state->seen, 0, sizeof state->seen);
    for (size_t i = 0; i < units; i++)
        state->hash[i] = hash_unit(data + unit[i], unit[i + 1] - unit[i]);
    memset(state->hash + units, 0, HASHES_AHEAD * sizeof state->hash[0]);
    for (size_t i = 0; i < units; i++) {
        uint32_t position = unit[i];
        breathe_at(state, i);
        if (unit[i + 1] - position < GREEDY_BYTES_MIN || (position < done && !state->hurries))
            continue;
        uint32_t from = find_seen(state, i), most = size - position;
        if (from == 0 || position < done)
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
