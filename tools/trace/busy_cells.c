/* SPDX-License-Identifier: Apache-2.0 */
#include "busy_cells.h"
#include "trace_axis.h"
#include "wide.h"

#include <string.h>

enum { POWER_FIRST = 10, POWER_LAST = 62 };

static uint64_t *busy_cells_cell_of(const struct busy_cells *cells, int64_t number)
{
    return &cells->busy_ns[(uint64_t)number % BUSY_CELLS];
}

/* Two become one. */
static void fold(struct busy_cells *cells)
{
    uint64_t folded[BUSY_CELLS] = {0};
    for (int64_t number = cells->first; number <= cells->last; number++)
        folded[(uint64_t)(number >> 1) % BUSY_CELLS] += *busy_cells_cell_of(cells, number);
    memcpy(cells->busy_ns, folded, sizeof folded);
    cells->first >>= 1;
    cells->last >>= 1;
    cells->power++;
}

static bool busy_cells_start(struct busy_cells *cells, int64_t start_ns, int64_t stop_ns)
{
    cells->busy_ns = calloc(BUSY_CELLS, sizeof *cells->busy_ns);
    if (!cells->busy_ns)
        return false;
    cells->power = POWER_FIRST;
    while ((stop_ns >> cells->power) - (start_ns >> cells->power) >= BUSY_CELLS)
        cells->power++;
    cells->first = cells->last = start_ns >> cells->power;
    return true;
}

/* Cells for all of the time. */
static void cover(struct busy_cells *cells, int64_t start_ns, int64_t stop_ns)
{
    for (;;) {
        int64_t first = start_ns >> cells->power, last = (stop_ns - 1) >> cells->power;
        first = first < cells->first ? first : cells->first;
        last = last > cells->last ? last : cells->last;
        if (last - first < BUSY_CELLS || cells->power == POWER_LAST) {
            cells->first = first;
            cells->last = last;
            return;
        }
        fold(cells);
    }
}

static uint64_t part_of(uint64_t amount, uint64_t part, uint64_t whole)
{
    return part == whole ? amount : wide_quotient(wide_product(amount, part), whole);
}

/* Sums may be below 0, and wrap around, while what is taken off came before what it is a part of.
 */
static bool busy_cells_spread(struct busy_cells *cells, int64_t start_ns, int64_t stop_ns,
                              uint64_t busy_ns, bool off)
{
    start_ns = trace_bounded(start_ns);
    stop_ns = trace_bounded(stop_ns);
    if (start_ns >= stop_ns)
        return true;
    if (!cells->busy_ns && !busy_cells_start(cells, start_ns, stop_ns))
        return false;
    cover(cells, start_ns, stop_ns);
    uint64_t length_ns = (uint64_t)(stop_ns - start_ns), given_ns = 0;
    for (int64_t at_ns = start_ns; at_ns < stop_ns;) {
        int64_t number = at_ns >> cells->power;
        int64_t end_ns = number == stop_ns >> cells->power
                             ? stop_ns
                             : (int64_t)((uint64_t)(number + 1) << cells->power);
        uint64_t until_ns = part_of(busy_ns, (uint64_t)(end_ns - start_ns), length_ns);
        *busy_cells_cell_of(cells, number) += off ? given_ns - until_ns : until_ns - given_ns;
        given_ns = until_ns;
        at_ns = end_ns;
    }
    return true;
}

bool busy_cells_add(struct busy_cells *cells, int64_t start_ns, int64_t stop_ns, uint64_t busy_ns)
{
    return busy_cells_spread(cells, start_ns, stop_ns, busy_ns, false);
}

bool busy_cells_take_off(struct busy_cells *cells, int64_t start_ns, int64_t stop_ns,
                         uint64_t idle_ns)
{
    return start_ns >= stop_ns || busy_cells_spread(cells, start_ns, stop_ns, idle_ns, true);
}

bool busy_cells_merge(struct busy_cells *cells, const struct busy_cells *from, int64_t shift_ns)
{
    bool good = true;
    for (int64_t number = from->first; from->busy_ns && good && number <= from->last; number++) {
        int64_t start_ns = (int64_t)((uint64_t)number << from->power), moved_ns;
        uint64_t busy_ns = *busy_cells_cell_of(from, number);
        if (busy_ns == 0 || __builtin_add_overflow(start_ns, shift_ns, &moved_ns))
            continue;
        good = busy_cells_add(cells, moved_ns,
                              trace_bounded(moved_ns) + (INT64_C(1) << from->power), busy_ns);
    }
    return good;
}

uint64_t busy_cells_between(const struct busy_cells *cells, int64_t from_ns, int64_t to_ns)
{
    uint64_t sum_ns = 0;
    from_ns = trace_bounded(from_ns);
    to_ns = trace_bounded(to_ns);
    if (!cells->busy_ns || from_ns >= to_ns)
        return 0;
    int64_t first = from_ns >> cells->power, last = (to_ns - 1) >> cells->power;
    first = first > cells->first ? first : cells->first;
    last = last < cells->last ? last : cells->last;
    for (int64_t number = first; number <= last; number++) {
        int64_t start_ns = (int64_t)((uint64_t)number << cells->power);
        int64_t stop_ns = start_ns + (INT64_C(1) << cells->power);
        int64_t low_ns = from_ns > start_ns ? from_ns : start_ns;
        int64_t high_ns = to_ns < stop_ns ? to_ns : stop_ns;
        sum_ns += part_of(*busy_cells_cell_of(cells, number), (uint64_t)(high_ns - low_ns),
                          (uint64_t)1 << cells->power);
    }
    return sum_ns;
}

void busy_cells_free(struct busy_cells *cells)
{
    free(cells->busy_ns);
    *cells = (struct busy_cells){0};
}
