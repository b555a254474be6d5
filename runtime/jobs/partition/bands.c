/* SPDX-License-Identifier: Apache-2.0 */
/* bands.c - looking into a set of points, and its points in order. */
#include "bands.h"

#include <stdlib.h>
#include <string.h>

void bands_free(struct bands *bands)
{
    for (unsigned d = 0; d < BANDS_LEVELS && !bands->borrowed; d++) {
        free(bands->level[d].spans);
        free(bands->level[d].first);
    }
    *bands = (struct bands){.borrowed = false};
}

struct bands bands_borrow(const struct bands *bands)
{
    struct bands borrowed = *bands;
    borrowed.borrowed = true;
    return borrowed;
}

/* The first of spans begin to end that ends beyond x. */
static size_t first_beyond(const struct span *spans, size_t begin, size_t end, int64_t x)
{
    while (begin < end) {
        const size_t middle = begin + (end - begin) / 2;
        if (spans[middle].high > x)
            end = middle;
        else
            begin = middle + 1;
    }
    return begin;
}

bool bands_contain(const struct bands *bands, const int64_t point[BANDS_LEVELS])
{
    size_t begin = 0, end = bands->level[BANDS_LEVELS - 1].count;
    for (unsigned d = BANDS_LEVELS; d-- > 0;) {
        const struct bands_level *level = &bands->level[d];
        const size_t i = first_beyond(level->spans, begin, end, point[d]);
        if (i == end || level->spans[i].low > point[d])
            return false;
        if (d > 0) {
            begin = level->first[i];
            end = bands_children_end(bands, d, i);
        }
    }
    return true;
}

static bool level_meets(const struct bands *bands, unsigned d, size_t begin, size_t end,
                        const struct span box[BANDS_LEVELS])
{
    const struct bands_level *level = &bands->level[d];
    size_t i = first_beyond(level->spans, begin, end, box[d].low);
    for (; i < end && level->spans[i].low < box[d].high; i++)
        if (d == 0 ||
            level_meets(bands, d - 1, level->first[i], bands_children_end(bands, d, i), box))
            return true;
    return false;
}

bool bands_meet(const struct bands *bands, const struct span box[BANDS_LEVELS])
{
    for (unsigned d = 0; d < BANDS_LEVELS; d++)
        if (box[d].low >= box[d].high)
            return false;
    return level_meets(bands, BANDS_LEVELS - 1, 0, bands->level[BANDS_LEVELS - 1].count, box);
}

static bool same(const void *a, const void *b, size_t bytes)
{
    return bytes == 0 || memcmp(a, b, bytes) == 0;
}

bool bands_equal(const struct bands *a, const struct bands *b)
{
    for (unsigned d = 0; d < BANDS_LEVELS; d++) {
        const struct bands_level *x = &a->level[d], *y = &b->level[d];
        if (x->count != y->count || !same(x->spans, y->spans, x->count * sizeof *x->spans))
            return false;
        if (d > 0 && !same(x->first, y->first, x->count * sizeof *x->first))
            return false;
    }
    return true;
}

static uint64_t points_of(const struct bands *bands, unsigned d, size_t begin, size_t end)
{
    const struct bands_level *level = &bands->level[d];
    uint64_t points = 0;
    for (size_t i = begin; i < end; i++) {
        uint64_t more = (uint64_t)level->spans[i].high - (uint64_t)level->spans[i].low;
        if (d > 0 &&
            __builtin_mul_overflow(
                more, points_of(bands, d - 1, level->first[i], bands_children_end(bands, d, i)),
                &more))
            return UINT64_MAX;
        if (__builtin_add_overflow(points, more, &points))
            return UINT64_MAX;
    }
    return points;
}

uint64_t bands_points(const struct bands *bands)
{
    return points_of(bands, BANDS_LEVELS - 1, 0, bands->level[BANDS_LEVELS - 1].count);
}

/* The span of a level whose children have number child among them. */
static size_t parent_of(const struct bands_level *level, size_t child)
{
    size_t begin = 0, end = level->count;
    while (end - begin > 1) {
        const size_t middle = begin + (end - begin) / 2;
        if (level->first[middle] <= child)
            begin = middle;
        else
            end = middle;
    }
    return begin;
}

void bands_box(const struct bands *bands, size_t index, struct span box_out[BANDS_LEVELS])
{
    for (unsigned d = 0; d < BANDS_LEVELS; d++) {
        if (d > 0)
            index = parent_of(&bands->level[d], index);
        box_out[d] = bands->level[d].spans[index];
    }
}

/* ---- the points of a set in order ---- */

/* The first point of what lies below the span of a level. */
static void walk_enter(struct bands_walk *walk, unsigned d)
{
    for (; d > 0; d--) {
        walk->index[d - 1] = walk->bands->level[d].first[walk->index[d]];
        walk->at[d - 1] = walk->bands->level[d - 1].spans[walk->index[d - 1]].low;
    }
}

/* The run that the walk was in has ended. */
static void walk_leave_run(struct bands_walk *walk)
{
    const struct bands *bands = walk->bands;
    for (unsigned d = 0; d < BANDS_LEVELS; d++) {
        const struct bands_level *level = &bands->level[d];
        const bool is_top = d + 1 == BANDS_LEVELS;
        const size_t end =
            is_top ? level->count : bands_children_end(bands, d + 1, walk->index[d + 1]);
        if (d > 0 && ++walk->at[d] < level->spans[walk->index[d]].high) {
            walk_enter(walk, d);
            return;
        }
        if (++walk->index[d] < end) {
            walk->at[d] = level->spans[walk->index[d]].low;
            walk_enter(walk, d);
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
    walk_enter(walk, BANDS_LEVELS - 1);
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
        walk_leave_run(walk);
    return true;
}
