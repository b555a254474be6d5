/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deflate_greedy.c - one pass over the units: the longest of a few matches at each, and the next
 * one behind its end. Who is in a hurry takes this instead of the cheapest parse, and remembers the
 * units inside of matches, too: its data recur at any distance, not as a whole.
 *
 * A match usually ends inside a unit, and a better one often begins at the start of that unit: then
 * the first is cut short. That is most of what the cheapest parse gains.
 */
#include "deflate_match.h"
#include "deflate_piece.h"

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

static void deflate_greedy_hash_units(struct deflater *state, const uint8_t *data, size_t units)
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
    deflate_greedy_hash_units(state, data, units);
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
