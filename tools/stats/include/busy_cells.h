/* SPDX-License-Identifier: Apache-2.0 */
/*
 * busy_cells.h - how busy something was over time, in a few hundred cells, whatever its length.
 *
 * Cells begin short and lie on a grid of powers of two; when time goes beyond them, two become one.
 * So the sums of several can be put together, wherever they lie on the axis.
 */
#ifndef BUSY_CELLS_H
#define BUSY_CELLS_H

#include <stdbool.h>
#include <stdint.h>

enum { BUSY_CELLS = 256 };

/* Zero is none. */
struct busy_cells {
    uint64_t *busy_ns;   /* of a cell: by its number modulo BUSY_CELLS; NULL: none */
    int64_t first, last; /* numbers of those in use */
    unsigned power;      /* a cell is 2^power ns long; its number is its time >> power */
};

/* Spreads busy_ns (of any number of workers) evenly over the time. False without memory. */
bool busy_cells_add(struct busy_cells *cells, int64_t start_ns, int64_t stop_ns, uint64_t busy_ns);
/* One worker was not busy then: a part of what was added, or will be, goes. False without memory.
 */
bool busy_cells_take_off(struct busy_cells *cells, int64_t start_ns, int64_t stop_ns);
/* Adds those of another one, whose times are later by shift_ns. */
bool busy_cells_merge(struct busy_cells *cells, const struct busy_cells *from, int64_t shift_ns);
/* Of a cell that reaches out of the time its part. */
uint64_t busy_cells_between(const struct busy_cells *cells, int64_t from_ns, int64_t to_ns);
void busy_cells_free(struct busy_cells *cells);

#endif /* BUSY_CELLS_H */
