/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan.h - which cells are whose, and which cells of others each tile needs.
 *
 * The grid is cut into tiles by a field that gives each cell its tile. What a
 * tile needs is the image of its active cells through the star, without its own
 * cells, cut by the tiles that have them; what it gives is the preimage.
 * Both nodes of an exchange compute it for themselves: the sets are the same,
 * so their rectangles are, too, and rectangle number i of one is number i of the other.
 *
 * Tiles are wider than the star's radius, so that whoever gives a tile something
 * needs something of it, too: no tile can run away from its neighbours.
 */
#ifndef PLAN_H
#define PLAN_H

#include "rbwp_partition.h"

enum { RADIUS = 2 };

/* A rectangle of cells that one tile reads and another has. */
struct plan_piece {
    unsigned tile;   /* the other one */
    unsigned number; /* among the pieces between the two, in this direction */
    struct rbwp_rectangle cells;
};

struct plan_tile {
    unsigned id;                  /* in the whole job */
    struct rbwp_rectangle cells;  /* its own */
    struct rbwp_rectangle active; /* of them, those at least RADIUS away from the grid's border */
    struct plan_piece *needs, *gives;
    size_t needs_count, gives_count;
};

struct plan {
    int64_t side; /* the grid has side x side cells */
    unsigned columns, rows;
    unsigned tiles_count; /* of this node */
    struct plan_tile *tiles;
};

/*
 * Makes the plan of tiles first to first + count - 1 of tiles, which should be factored into
 * columns and rows, as background work of the manager. False with the reason in error; an active
 * manager's worker, or this thread, does it.
 */
bool plan_make(struct plan *plan, struct rbwp_work_manager *manager, int64_t side, unsigned tiles,
               unsigned first, unsigned count, struct rbwp_error *error);
void plan_free(struct plan *plan);

static inline int64_t width_of(const struct rbwp_rectangle *cells)
{
    return cells->high[0] - cells->low[0];
}
static inline int64_t height_of(const struct rbwp_rectangle *cells)
{
    return cells->high[1] - cells->low[1];
}

#endif /* PLAN_H */
