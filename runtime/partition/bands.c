/* SPDX-License-Identifier: Apache-2.0 */
/* bands.c - looking into a set of points. */
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
