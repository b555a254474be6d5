/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tile.h - a tile of the grid as background work: it waits for its neighbours'
 * cells, computes, and gives its own away.
 *
 * An iteration of a tile begins when what it needs of others has arrived and
 * what it gave away has been read out of its memory. Then the arrived pieces
 * are moved into the frame around its cells by the node's store, and the
 * tile's work item is made active: it computes rows as long as its slice
 * allows. (On a GPU the store computes, too: tile_gpu.c.) After its last row
 * the pieces for the next iteration go out. A
 * neighbour may be an iteration ahead, never two, since it needs pieces, too:
 * so there are two places for each piece that arrives.
 */
#ifndef TILE_H
#define TILE_H

#include "plan.h"
#include "store.h"

#include <stdatomic.h>

struct node;

/* Where a piece of a neighbour arrives: one place for even iterations, one for odd. */
struct tile_inlet {
    struct block cells[2];
    /* Of another node: that may put it into near instead, at its first cell. */
    size_t near_first[2];
    bool is_near[2];
};

/* A piece that goes to a neighbour. */
struct tile_outlet {
    struct tile *tile; /* whose */
    const struct plan_piece *piece;
    struct block cells; /* packed, for another node */
    struct tile *local; /* or where it goes on this node */
    size_t inlet;       /* of that */
    struct block far;   /* or the other node's near, if that can be reached; not to be freed */
    size_t far_first[2];
    enum store_way way;
};

struct tile {
    struct node *node;
    struct store *store;
    const struct plan_tile *plan;
    struct block in;  /* its cells and a frame of RADIUS around them */
    struct block out; /* its cells */
    /* A GPU's: cells on their way to it and from it; sums and numbers on the way to out. */
    struct block host, high, low, numbers;
    struct block near; /* on a GPU: what nodes that reach it give; see tile_inlet */
    int64_t pitch;     /* cells in a row of in */
    struct tile_inlet *inlets;
    struct tile_outlet *outlets;
    struct rbwp_work_handle work;
    bool has_work;

    atomic_size_t ready[2]; /* pieces that have arrived or been read, of an even or odd iteration */
    unsigned iteration;     /* the work item's and, between its runs, who begins an iteration */
    int64_t row;            /* next; the second half of the rows adds 1 to the cells */
};

/* node, store and plan of this tile and of the node's others are set. */
bool tile_init(struct tile *tile, struct rbwp_error *error);
/* Nothing computes any more. */
void tile_stop(struct tile *tile);
/* frees_near: nobody else may write there any more. */
void tile_free(struct tile *tile, bool frees_near);

/* The pieces for the next iteration go out. */
void tile_begin(struct tile *tile);
/* The inlet of a piece, NULL if there is none. */
struct tile_inlet *tile_inlet_of(struct tile *tile, unsigned from, unsigned number,
                                 uint64_t *bytes_out);
/* The piece that goes to a tile of another node; NULL if there is none. */
struct tile_outlet *tile_outlet_to(struct tile *tile, unsigned to, unsigned number);
/* A piece of an iteration has arrived in its inlet, or has left this tile's memory. */
void tile_piece_ready(struct tile *tile, unsigned iteration);
/* Of its active cells, when it has ended. */
double tile_sum(const struct tile *tile);

/* ---- for tile_gpu.c ---------------------------------------------------------------- */

/* Where cell x, y of the grid lies in in. */
struct place tile_cell(const struct tile *tile, int64_t x, int64_t y);
void tile_end_iteration(struct tile *tile);

/* The rest of a tile whose cells are on a GPU. */
bool tile_gpu_init(struct tile *tile);
void tile_gpu_free(struct tile *tile);
/* Computes an iteration; tile_end_iteration follows. */
void tile_gpu_compute(struct tile *tile);

#endif /* TILE_H */
