/* SPDX-License-Identifier: Apache-2.0 */
/*
 * partition_support.h - sets of points the slow way: a flag for each cell of a
 * small cube. What runtime/jobs/partition computes is compared with it cell by cell.
 */
#ifndef PARTITION_SUPPORT_H
#define PARTITION_SUPPORT_H

#include "rbwp_partition.h"

#include <stdint.h>

enum {
    CUBE_LOW = -3, /* the cells' coordinates; with a border of one around what rectangles cover */
    CUBE_SIDE = 11,
    CUBE_CELLS = CUBE_SIDE * CUBE_SIDE * CUBE_SIDE
};

/* Of fewer dimensions: coordinate 0 in those it lacks. */
struct cube {
    unsigned dimensions;
    bool has[CUBE_CELLS];
};

/* The same numbers in every run. Below limit. */
uint32_t random_below(uint32_t limit);

/* The next cell of a space of so many dimensions; start with cell -1. False after the last. */
bool cube_next(unsigned dimensions, int *cell, int64_t point_out[3]);
int cube_cell(unsigned dimensions, const int64_t *point);
void cube_add(struct cube *cube, const struct rbwp_rectangle *rectangle);
bool rectangle_has(const struct rbwp_rectangle *rectangle, unsigned dimensions,
                   const int64_t *point);

/* Some are empty, of one cell, or as large as the cube; the other dimensions have any contents. */
struct rbwp_rectangle random_rectangle(unsigned dimensions);
/* A space of up to so many random rectangles, and the same as a cube. */
struct rbwp_space *random_space(unsigned dimensions, unsigned rectangles, struct cube *cube_out);

/* Fails unless the space is just the cube, through every call that reads what is in it, and has
 * the one form that such a set has. */
void check_space(const struct rbwp_space *space, const struct cube *cube);

#endif /* PARTITION_SUPPORT_H */
