/* SPDX-License-Identifier: Apache-2.0 */
/* bands.c - making a set of points, looking into it, and its points in order. */
#include "bands.h"

#include "grow.h"

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

static bool bands_same(const void *a, const void *b, size_t bytes)
{
    return bytes == 0 || memcmp(a, b, bytes) == 0;
}

bool bands_equal(const struct bands *a, const struct bands *b)
{
    for (unsigned d = 0; d < BANDS_LEVELS; d++) {
        const struct bands_level *x = &a->level[d], *y = &b->level[d];
        if (x->count != y->count || !bands_same(x->spans, y->spans, x->count * sizeof *x->spans))
            return false;
        if (d > 0 && !bands_same(x->first, y->first, x->count * sizeof *x->first))
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
static size_t bands_parent_of(const struct bands_level *level, size_t child)
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
            index = bands_parent_of(&bands->level[d], index);
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

/* ---- sets of points are built in order ------------------------------------------------------- */
/*
 * A row that is complete becomes one with the row before it if they touch and
 * have the same runs, and so does a slab with the same rows. That is the only
 * time when more is looked at than the last span.
 */

static bool bands_push(struct bands *bands, unsigned d, struct span span)
{
    struct bands_level *level = &bands->level[d];
    const size_t count = level->count + 1;
    if (!grow_array(&level->spans, &level->spans_room, count, sizeof *level->spans))
        return false;
    if (d > 0) {
        if (!grow_array(&level->first, &level->first_room, count, sizeof *level->first))
            return false;
        level->first[level->count] = bands->level[d - 1].count;
    }
    level->spans[level->count++] = span;
    return true;
}

static bool same_spans(const struct bands_level *level, size_t a, size_t b, size_t count)
{
    return memcmp(&level->spans[a], &level->spans[b], count * sizeof *level->spans) == 0;
}

/* Spans a and b = a + 1 of a level, of which b is the last, have the same points below them. */
static bool same_below(const struct bands *bands, unsigned d, size_t a, size_t b)
{
    const struct bands_level *level = &bands->level[d];
    for (; d > 0; d--) {
        const struct bands_level *below = &bands->level[d - 1];
        const size_t first_a = level->first[a], first_b = level->first[b];
        const size_t count = below->count - first_b;
        if (first_b - first_a != count || !same_spans(below, first_a, first_b, count))
            return false;
        for (size_t i = 0; d > 1 && i < count; i++)
            if (below->first[first_a + i] - below->first[first_a] !=
                below->first[first_b + i] - below->first[first_b])
                return false;
        level = below;
        a = first_a;
        b = first_b;
    }
    return true;
}

/* The last span of a level is complete. */
static void bands_settle(struct bands *bands, unsigned d)
{
    struct bands_level *level = &bands->level[d];
    const size_t last = level->count - 1;
    size_t sibling = 0; /* the first one with the same parent */
    if (d + 1 < BANDS_LEVELS)
        sibling = bands->level[d + 1].first[bands->level[d + 1].count - 1];
    if (last == sibling || level->spans[last - 1].high != level->spans[last].low ||
        !same_below(bands, d, last - 1, last))
        return;
    level->spans[last - 1].high = level->spans[last].high;
    level->count = last;
    for (size_t child = last; d > 0; d--) {
        child = bands->level[d].first[child];
        bands->level[d - 1].count = child;
    }
}

static bool is_span(struct span a, struct span b)
{
    return a.low == b.low && a.high == b.high;
}

static void bands_widen(struct bands *bands, const struct span box[BANDS_LEVELS])
{
    for (unsigned d = 0; d < BANDS_LEVELS; d++) {
        if (bands->level[0].count == 0 || box[d].low < bands->bounds[d].low)
            bands->bounds[d].low = box[d].low;
        if (bands->level[0].count == 0 || box[d].high > bands->bounds[d].high)
            bands->bounds[d].high = box[d].high;
    }
}

void bands_put(struct bands_builder *builder, const struct span box[BANDS_LEVELS])
{
    struct bands *bands = &builder->bands;
    unsigned changed = BANDS_LEVELS; /* levels 1 to below it open a span */
    while (builder->open && changed > 1 && is_span(builder->at[changed - 1], box[changed - 1]))
        changed--;
    if (builder->failed)
        return;
    for (unsigned d = 1; d < changed && builder->open; d++)
        bands_settle(bands, d);
    bands_widen(bands, box);
    for (unsigned d = changed; --d > 0;) {
        builder->at[d] = box[d];
        builder->failed |= !bands_push(bands, d, box[d]);
    }
    struct bands_level *runs = &bands->level[0];
    if (changed == 1 && runs->spans[runs->count - 1].high >= box[0].low) {
        if (runs->spans[runs->count - 1].high < box[0].high)
            runs->spans[runs->count - 1].high = box[0].high;
    } else {
        builder->failed |= !bands_push(bands, 0, box[0]);
    }
    builder->open = true;
}

bool bands_finish(struct bands_builder *builder, struct bands *bands_out)
{
    const bool failed = builder->failed;
    for (unsigned d = 1; d < BANDS_LEVELS && builder->open && !failed; d++)
        bands_settle(&builder->bands, d);
    if (failed)
        bands_free(&builder->bands);
    *bands_out = builder->bands;
    *builder = (struct bands_builder){.open = false};
    return !failed;
}

void bands_builder_free(struct bands_builder *builder)
{
    bands_free(&builder->bands);
    *builder = (struct bands_builder){.open = false};
}

/* ---- from boxes ------------------------------------------------------------------------ */

static int by_low(const void *a, const void *b)
{
    const struct span *x = a, *y = b;
    for (unsigned d = BANDS_LEVELS; d-- > 0;)
        if (x[d].low != y[d].low)
            return x[d].low < y[d].low ? -1 : 1;
    return 0;
}

/* A builder takes box next after box last. */
static bool goes_after(const struct span last[BANDS_LEVELS], const struct span next[BANDS_LEVELS])
{
    for (unsigned d = BANDS_LEVELS; --d > 0;)
        if (!is_span(last[d], next[d]))
            return next[d].low >= last[d].high;
    return true;
}

static bool union_of_halves(struct span (*boxes)[BANDS_LEVELS], size_t count,
                            struct bands *bands_out);

/* Of sorted boxes. */
static bool sorted_boxes(struct span (*boxes)[BANDS_LEVELS], size_t count, struct bands *bands_out)
{
    struct bands_builder builder = {.open = false};
    for (size_t i = 1; i < count; i++)
        if (!goes_after(boxes[i - 1], boxes[i]))
            return union_of_halves(boxes, count, bands_out);
    for (size_t i = 0; i < count; i++)
        bands_put(&builder, boxes[i]);
    return bands_finish(&builder, bands_out);
}

static bool union_of_halves(struct span (*boxes)[BANDS_LEVELS], size_t count,
                            struct bands *bands_out)
{
    struct bands half[2] = {{.borrowed = false}, {.borrowed = false}};
    struct bands_merge merge;
    bool good = sorted_boxes(boxes, count / 2, &half[0]) &&
                sorted_boxes(boxes + count / 2, count - count / 2, &half[1]);
    *bands_out = (struct bands){.borrowed = false};
    if (good) {
        bands_merge_begin(&merge, BANDS_UNION, &half[0], &half[1]);
        while (bands_merge_step(&merge, UINT32_MAX)) {
        }
        good = bands_finish(&merge.result, bands_out);
    }
    bands_free(&half[0]);
    bands_free(&half[1]);
    return good;
}

bool bands_of_boxes(struct span (*boxes)[BANDS_LEVELS], size_t count, struct bands *bands_out)
{
    size_t kept = 0; /* those that are not empty, in front */
    for (size_t i = 0; i < count; i++) {
        bool is_empty = false;
        for (unsigned d = 0; d < BANDS_LEVELS; d++)
            is_empty |= boxes[i][d].low >= boxes[i][d].high;
        if (!is_empty)
            memmove(boxes[kept++], boxes[i], sizeof *boxes);
    }
    if (kept > 0)
        qsort(boxes, kept, sizeof *boxes, by_low);
    return sorted_boxes(boxes, kept, bands_out);
}

/* Union, intersection and difference of sets, a piece at a time. */

/* An interval, and in which span of each side it lies. */
struct stretch {
    struct span span;
    size_t index[2]; /* NOWHERE: not in this side */
};
#define NOWHERE SIZE_MAX

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static bool sweep_next(struct sweep *sweep, struct stretch *out)
{
    int64_t low = INT64_MAX, high = INT64_MAX;
    const struct span *head[2] = {NULL, NULL};
    for (unsigned s = 0; s < 2; s++) {
        while (sweep->next[s] < sweep->end[s] &&
               sweep->spans[s][sweep->next[s]].high <= sweep->from)
            sweep->next[s]++;
        if (sweep->next[s] == sweep->end[s])
            continue;
        head[s] = &sweep->spans[s][sweep->next[s]];
        low = smaller(low, head[s]->low);
    }
    if (!head[0] && !head[1])
        return false;
    if (low < sweep->from)
        low = sweep->from;
    for (unsigned s = 0; s < 2; s++) {
        const bool within = head[s] && head[s]->low <= low;
        out->index[s] = within ? sweep->next[s] : NOWHERE;
        if (head[s])
            high = smaller(high, within ? head[s]->high : head[s]->low);
    }
    out->span = (struct span){low, high};
    sweep->from = high;
    return true;
}

/* Starts the sweep of a level, through the children of a part of the level above. */
static void descend(struct bands_merge *merge, unsigned level, const struct stretch *above)
{
    struct sweep *sweep = &merge->sweep[level];
    *sweep = (struct sweep){.from = INT64_MIN};
    for (unsigned s = 0; s < 2; s++) {
        const struct bands *side = merge->side[s];
        sweep->spans[s] = side->level[level].spans;
        if (!above) {
            sweep->end[s] = side->level[level].count;
        } else if (above->index[s] != NOWHERE) {
            sweep->next[s] = side->level[level + 1].first[above->index[s]];
            sweep->end[s] = bands_children_end(side, level + 1, above->index[s]);
        }
    }
    merge->level = level;
}

/* Points of the result may lie in the interval; in a run all do. */
static bool is_wanted(const struct bands_merge *merge, const struct stretch *stretch)
{
    const bool in_a = stretch->index[0] != NOWHERE, in_b = stretch->index[1] != NOWHERE;
    switch (merge->operation) {
    case BANDS_UNION:
        return true;
    case BANDS_INTERSECTION:
        return in_a && in_b;
    case BANDS_DIFFERENCE:
        return in_a && !(in_b && merge->level == 0);
    }
    return false;
}

void bands_merge_begin(struct bands_merge *merge, enum bands_operation operation,
                       const struct bands *a, const struct bands *b)
{
    *merge = (struct bands_merge){.operation = operation, .side = {a, b}};
    descend(merge, BANDS_LEVELS - 1, NULL);
}

bool bands_merge_step(struct bands_merge *merge, unsigned stretches)
{
    struct stretch stretch;
    for (; stretches > 0 && !merge->result.failed; stretches--) {
        if (!sweep_next(&merge->sweep[merge->level], &stretch)) {
            if (merge->level == BANDS_LEVELS - 1)
                return false;
            merge->level++;
        } else if (is_wanted(merge, &stretch)) {
            merge->at[merge->level] = stretch.span;
            if (merge->level == 0)
                bands_put(&merge->result, merge->at);
            else
                descend(merge, merge->level - 1, &stretch);
        }
    }
    return !merge->result.failed;
}

/* ---- the union of many --------------------------------------------------------------- */

void bands_gather_put(struct bands_gather *gather, struct bands *bands)
{
    gather->carry = *bands;
    *bands = (struct bands){.borrowed = false};
    gather->level = 0;
    gather->carrying = true;
}

void bands_gather_close(struct bands_gather *gather)
{
    gather->closing = true;
    gather->carrying = true;
    gather->level = 0;
}

static void end_merge(struct bands_gather *gather)
{
    bands_free(&gather->held[gather->level]);
    bands_free(&gather->carry);
    if (!bands_finish(&gather->merge.result, &gather->carry))
        gather->failed = true;
    gather->is_held &= ~(UINT64_C(1) << gather->level);
    gather->merging = false;
    if (gather->level + 1 < GATHER_LEVELS)
        gather->level++;
}

bool bands_gather_step(struct bands_gather *gather, unsigned stretches)
{
    if (gather->merging) {
        if (!bands_merge_step(&gather->merge, stretches))
            end_merge(gather);
        return true;
    }
    if (!gather->carrying || gather->failed)
        return false;
    if (gather->closing && gather->is_held)
        gather->level = (unsigned)__builtin_ctzll(gather->is_held);
    if (gather->is_held >> gather->level & 1) {
        bands_merge_begin(&gather->merge, BANDS_UNION, &gather->held[gather->level],
                          &gather->carry);
        gather->merging = true;
        return true;
    }
    if (!gather->closing) {
        gather->held[gather->level] = gather->carry;
        gather->carry = (struct bands){.borrowed = false};
        gather->is_held |= UINT64_C(1) << gather->level;
        gather->carrying = false;
    }
    return false;
}

bool bands_gather_finish(struct bands_gather *gather, struct bands *bands_out)
{
    const bool failed = gather->failed;
    *bands_out = failed ? (struct bands){.borrowed = false} : gather->carry;
    if (!failed)
        gather->carry = (struct bands){.borrowed = false};
    bands_gather_free(gather);
    return !failed;
}

void bands_gather_free(struct bands_gather *gather)
{
    for (unsigned i = 0; i < GATHER_LEVELS; i++)
        bands_free(&gather->held[i]);
    bands_free(&gather->carry);
    bands_builder_free(&gather->merge.result);
    *gather = (struct bands_gather){.closing = false};
}
