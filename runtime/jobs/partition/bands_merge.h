/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bands_merge.h - union, intersection and difference of sets, a piece at a time.
 *
 * Both sides are cut at the borders of either, slab by slab, row by row, run by
 * run; what is in the wanted ones goes to a builder, in order.
 */
#ifndef BANDS_MERGE_H
#define BANDS_MERGE_H

#include "bands.h"

enum bands_operation { BANDS_UNION, BANDS_INTERSECTION, BANDS_DIFFERENCE };

/* Goes through two lists of spans at once; each stretch that it stops at is in one or in both. */
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
/* Does as many as stretches of it. True while there is more; false at the end, and after a failure,
 * of which bands_finish of the result tells. */
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

#endif /* BANDS_MERGE_H */
