/* SPDX-License-Identifier: Apache-2.0 */
/*
 * busy_cells.h - how busy something was over time, in a few hundred cells, whatever its length.
 *
 * Cells begin short and lie on a grid of powers of two; when time goes beyond them, two become one.
 * So the sums of several can be put together, wherever they lie on the axis.
 */
#ifndef BUSY_CELLS_H
#define BUSY_CELLS_H

#include "thread_map.h"

#include <stdlib.h>

/* Which spans of a track are outermost when ranges do not count.
 *
 * A range that a program gave a name is no work, nor is what waits to be taken up, nor a sub-item
 * that waits: what it encloses is work as if it were not there, and it never makes a track busy. */

/* Of a track; zero is the beginning. */
struct work_depth {
    uint16_t *ranges; /* by row: so many of what encloses the place reached, from the outermost on,
                         are ranges */
    uint32_t room;
    bool failed; /* out of memory: ranges enclosed nothing */
};

/* The union of intervals, as its length and its gaps.
 *
 * For intervals that ascend by start, exactly. One that starts before what
 * was covered adds only what lies behind it: time that a track lived twice
 * counts once. */

struct busy {
    bool any;
    int64_t first_ns, from_ns, until_ns; /* of all; of the piece that was covered last */
    uint64_t busy_ns, gaps, longest_gap_ns;
    int64_t longest_gap_at_ns; /* where it begins */
};

/* Of waits of a track in order of their starts, what none before it had: leaves that of *from_ns to
 * to_ns. False if nothing is left. */
static inline bool waits_again(bool any, int64_t waited_to_ns, int64_t *from_ns, int64_t to_ns)
{
    if (any && *from_ns < waited_to_ns)
        *from_ns = waited_to_ns;
    return *from_ns < to_ns;
}

/* True when a piece ended before start_ns: it is *from_out to *until_out. */
static inline bool busy_add(struct busy *busy, int64_t start_ns, int64_t stop_ns, int64_t *from_out,
                            int64_t *until_out)
{
    bool ended = busy->any && start_ns > busy->until_ns;
    if (!busy->any)
        busy->first_ns = busy->from_ns = busy->until_ns = start_ns;
    busy->any = true;
    if (ended) {
        uint64_t gap_ns = (uint64_t)start_ns - (uint64_t)busy->until_ns;
        *from_out = busy->from_ns;
        *until_out = busy->until_ns;
        busy->gaps++;
        if (gap_ns > busy->longest_gap_ns) {
            busy->longest_gap_ns = gap_ns;
            busy->longest_gap_at_ns = busy->until_ns;
        }
        busy->from_ns = busy->until_ns = start_ns;
    }
    if (stop_ns > busy->until_ns) {
        busy->busy_ns += (uint64_t)stop_ns - (uint64_t)busy->until_ns;
        busy->until_ns = stop_ns;
    }
    return ended;
}

enum { BUSY_CELLS = 256 };

/* Zero is none. */
struct busy_cells {
    uint64_t *busy_ns;   /* of a cell: by its number modulo BUSY_CELLS; NULL: none */
    int64_t first, last; /* numbers of those in use */
    unsigned power;      /* a cell is 2^power ns long; its number is its time >> power */
};

/* Spreads busy_ns (of any number of workers) evenly over the time. False without memory. */
bool busy_cells_add(struct busy_cells *cells, int64_t start_ns, int64_t stop_ns, uint64_t busy_ns);
/* So much of what was added, or will be, goes, evenly over the time. False without memory. */
bool busy_cells_take_off(struct busy_cells *cells, int64_t start_ns, int64_t stop_ns,
                         uint64_t idle_ns);
/* Adds those of another one, whose times are later by shift_ns. */
bool busy_cells_merge(struct busy_cells *cells, const struct busy_cells *from, int64_t shift_ns);
/* Of a cell that reaches out of the time its part. */
uint64_t busy_cells_between(const struct busy_cells *cells, int64_t from_ns, int64_t to_ns);
void busy_cells_free(struct busy_cells *cells);

#endif /* BUSY_CELLS_H */
