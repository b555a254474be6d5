/* SPDX-License-Identifier: Apache-2.0 */
/* bands_walk.h - the points of a set in order, in pieces of a run. */
#ifndef BANDS_WALK_H
#define BANDS_WALK_H

#include "bands.h"

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

#endif /* BANDS_WALK_H */
