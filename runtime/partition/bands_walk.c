/* SPDX-License-Identifier: Apache-2.0 */
/* bands_walk.c - the points of a set in order, in pieces of a run. */
#include "bands_walk.h"

/* The first point of what lies below the span of a level. */
static void enter(struct bands_walk *walk, unsigned d)
{
    for (; d > 0; d--) {
        walk->index[d - 1] = walk->bands->level[d].first[walk->index[d]];
        walk->at[d - 1] = walk->bands->level[d - 1].spans[walk->index[d - 1]].low;
    }
}

/* The run that the walk was in has ended. */
static void leave_run(struct bands_walk *walk)
{
    const struct bands *bands = walk->bands;
    for (unsigned d = 0; d < BANDS_LEVELS; d++) {
        const struct bands_level *level = &bands->level[d];
        const bool is_top = d + 1 == BANDS_LEVELS;
        const size_t end =
            is_top ? level->count : bands_children_end(bands, d + 1, walk->index[d + 1]);
        if (d > 0 && ++walk->at[d] < level->spans[walk->index[d]].high) {
            enter(walk, d);
            return;
        }
        if (++walk->index[d] < end) {
            walk->at[d] = level->spans[walk->index[d]].low;
            enter(walk, d);
            return;
        }
    }
    walk->ended = true;
}

void bands_walk_begin(struct bands_walk *walk, const struct bands *bands)
{
    const struct bands_level *top = &bands->level[BANDS_LEVELS - 1];
    *walk = (struct bands_walk){.bands = bands, .ended = top->count == 0};
    if (walk->ended)
        return;
    walk->at[BANDS_LEVELS - 1] = top->spans[0].low;
    enter(walk, BANDS_LEVELS - 1);
}

bool bands_walk_next(struct bands_walk *walk, size_t limit, struct bands_piece *piece_out)
{
    if (walk->ended)
        return false;
    const struct span run = walk->bands->level[0].spans[walk->index[0]];
    const uint64_t left = (uint64_t)run.high - (uint64_t)walk->at[0];
    piece_out->count = left < limit ? (size_t)left : limit;
    for (unsigned d = 0; d < BANDS_LEVELS; d++)
        piece_out->point[d] = walk->at[d];
    walk->at[0] += (int64_t)piece_out->count;
    if (walk->at[0] == run.high)
        leave_run(walk);
    return true;
}
