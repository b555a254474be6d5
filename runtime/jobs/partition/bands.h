/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bands.h - how a set of points is kept, and how it is built in order.
 *
 * Spans of three levels, one for each dimension. Level 2 has the slabs: spans
 * of z in which the set looks the same. The rows of a slab are spans of y in
 * level 1, and the runs of a row spans of x in level 0. Neighbours that touch
 * differ, so a set has one form only. A set of fewer dimensions has the one
 * span 0 to 1 in those it lacks. Nothing below counts dimensions.
 *
 *     level 2  [0,4)            [4,9)
 *     level 1  [0,2)  [5,6)     [0,9)          first[]: a span's first child
 *     level 0  [1,7)  [1,2) [4,6)   [0,3)
 */
#ifndef BANDS_H
#define BANDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BANDS_LEVELS = 3 };

struct span {
    int64_t low, high; /* low <= x < high, never empty */
};

struct bands_level {
    struct span *spans;
    size_t *first; /* of each span, its first child in the level below; not of level 0 */
    size_t count, spans_room, first_room;
};

struct bands {
    struct bands_level level[BANDS_LEVELS];
    struct span bounds[BANDS_LEVELS]; /* any, while there is no span */
    bool borrowed;                    /* the arrays are another's */
};

/* All 0 is the empty set. */
void bands_free(struct bands *bands);
/* The same set for as long as the other lives. */
struct bands bands_borrow(const struct bands *bands);

/* Where the children of span number i of a level end. */
static inline size_t bands_children_end(const struct bands *bands, unsigned level, size_t i)
{
    const struct bands_level *l = &bands->level[level];
    return i + 1 < l->count ? l->first[i + 1] : bands->level[level - 1].count;
}

bool bands_contain(const struct bands *bands, const int64_t point[BANDS_LEVELS]);
/* True if a point of the box is in the set. */
bool bands_meet(const struct bands *bands, const struct span box[BANDS_LEVELS]);
bool bands_equal(const struct bands *a, const struct bands *b);
uint64_t bands_points(const struct bands *bands);
/* The box of run number index, which must be one. */
void bands_box(const struct bands *bands, size_t index, struct span box_out[BANDS_LEVELS]);

/* ---- building -------------------------------------------------------------------- */

struct bands_builder {
    struct bands bands;
    struct span at[BANDS_LEVELS]; /* the slab and the row that are open */
    bool open;                    /* there are such */
    bool failed;                  /* no memory */
};

/*
 * Adds a box. Its slab is the last one's or lies beyond it, its row in the same slab likewise; in
 * the same row its run begins at or after the start of the last one. All 0 is a new builder.
 */
void bands_put(struct bands_builder *builder, const struct span box[BANDS_LEVELS]);
/* Gives the set away and starts anew. After a failure the set is empty and false is returned. */
bool bands_finish(struct bands_builder *builder, struct bands *bands_out);
void bands_builder_free(struct bands_builder *builder);

/* Boxes in any order, which get sorted here. The same promise about memory. */
bool bands_of_boxes(struct span (*boxes)[BANDS_LEVELS], size_t count, struct bands *bands_out);

/* ---- the points of a set in order, in pieces of a run ---- */

struct bands_walk {
    const struct bands *bands;
    size_t index[BANDS_LEVELS]; /* the span of each level that the next point is in */
    int64_t at[BANDS_LEVELS];   /* the next point */
    bool ended;
};

/* Points with the same coordinates but the first, which counts up. */
struct bands_piece {
    int64_t point[BANDS_LEVELS]; /* the first one */
    size_t count;                /* at least 1 */
};

void bands_walk_begin(struct bands_walk *walk, const struct bands *bands);
/* A piece of at most limit points, limit > 0. False at the end. */
bool bands_walk_next(struct bands_walk *walk, size_t limit, struct bands_piece *piece_out);

/* Union, intersection and difference of sets, a piece at a time.
 *
 * Both sides are cut at the borders of either, slab by slab, row by row, run by
 * run; what is in the wanted ones goes to a builder, in order. */

enum bands_operation { BANDS_UNION, BANDS_INTERSECTION, BANDS_DIFFERENCE };

/* Goes through two lists of spans at once; each interval that it stops at is in one or in both. */
struct sweep {
    const struct span *spans[2];
    size_t next[2], end[2];
    int64_t from; /* what lies before has been gone through */
};

struct bands_merge {
    enum bands_operation operation;
    const struct bands *side[2];
    struct sweep sweep[BANDS_LEVELS];
    unsigned level; /* of the sweep that goes on */
    struct span at[BANDS_LEVELS];
    struct bands_builder result;
};

/* Both sides must stay until the end. */
void bands_merge_begin(struct bands_merge *merge, enum bands_operation operation,
                       const struct bands *a, const struct bands *b);
/* Does as many as intervals of it. True while there is more; false at the end, and after a failure,
 * which bands_finish of the result reports. */
bool bands_merge_step(struct bands_merge *merge, unsigned stretches);

/* ---- the union of many, by merging sets of like size ------------------------------------- */

enum { GATHER_LEVELS = 48 };

struct bands_gather {
    struct bands held[GATHER_LEVELS]; /* number i has about 2^i sets in it */
    uint64_t is_held;                 /* one bit each */
    struct bands carry;               /* on its way to be held */
    unsigned level;                   /* where */
    bool carrying, merging, closing, failed;
    struct bands_merge merge;
};

/* All 0 is a new one. Takes the set over. Only when the last step said that nothing is left. */
void bands_gather_put(struct bands_gather *gather, struct bands *bands);
/* From here on steps make one set of all. */
void bands_gather_close(struct bands_gather *gather);
/* True while there is more to do. */
bool bands_gather_step(struct bands_gather *gather, unsigned stretches);
/* After the close and its steps: gives the union away, and is new. False without memory. */
bool bands_gather_finish(struct bands_gather *gather, struct bands *bands_out);
void bands_gather_free(struct bands_gather *gather);

#endif /* BANDS_H */
