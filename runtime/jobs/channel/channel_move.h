/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_move.h - walk the loops of a transfer, a little at a time, and do what it says.
 *
 * A walk remembers which element comes next, so that it can be left and taken
 * up again between any two pieces. Both sides are memory here; a file's side
 * is the buffer that its present piece lies in.
 */
#ifndef CHANNEL_MOVE_H
#define CHANNEL_MOVE_H

#include "channel_shape.h"
#include "rbwp_channel.h"

/* ---- the arithmetic of reductions ------------------------------------------------------------ */

/* target[i] = target[i] op source[i] for count numbers, strides in bytes; target_stride 0 folds. */
typedef void (*channel_reduce_fn)(uint8_t *target, int64_t target_stride, const uint8_t *source,
                                  int64_t source_stride, size_t count);

/* NULL for an operation or type that does not exist. */
channel_reduce_fn channel_reduce_find(enum rbwp_reduce_op op, enum rbwp_reduce_type type);

/* ---- walks ----------------------------------------------------------------------------------- */

/* What is done to each element. */
struct channel_action {
    enum rbwp_transfer_kind kind;
    channel_reduce_fn reduce; /* RBWP_TRANSFER_REDUCE */
    const uint8_t *fill;      /* RBWP_TRANSFER_FILL: one element */
    bool fill_is_byte;        /* all bytes of it are the same */
};

/* One side: the byte at distance d from its first element is base[d - origin]. */
struct channel_side {
    uint8_t *base;
    int64_t origin;
};

struct channel_walk {
    uint64_t index[RBWP_TRANSFER_DIMENSIONS_MAX]; /* of the next element, or tile */
    uint64_t left;                                /* elements */
};

/*
 * Work between two looks at the clock: about so many contiguous bytes, or their worth in time
 * where elements are visited one by one. A few microseconds.
 */
#define CHANNEL_PIECE_COST 16384u

void channel_walk_begin(struct channel_walk *walk, const struct rbwp_transfer_shape *shape);

/*
 * Goes on for about cost, at least one element or tile and at most elements_max elements (more
 * than that only in a tiled shape, which takes no limit). Returns the elements moved; 0 when
 * none is left.
 */
uint64_t channel_walk_step(struct channel_walk *walk, const struct rbwp_transfer_shape *shape,
                           const struct channel_action *action, struct channel_side target,
                           struct channel_side source, uint64_t elements_max, uint64_t cost);

#endif /* CHANNEL_MOVE_H */
