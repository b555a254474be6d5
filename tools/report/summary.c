/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cells of rows.
 *
 * Which kinds weigh most in a cell is kept by the space-saving rule: a kind
 * that finds no place takes that of the lightest, and its weight with it. So
 * one that has a third of the cell is never missed.
 */
#include "page_timeline.h"
#include "grow.h"

#include <stdlib.h>

enum { FIRST_SHIFT = 8 };

static void add_kind(struct summary_cell *cell, uint32_t kind, float weight)
{
    unsigned lightest = 0;
    for (unsigned i = 0; i < SUMMARY_KINDS; i++) {
        if (cell->kinds[i] == kind && cell->weights[i] > 0) {
            cell->weights[i] += weight;
            return;
        }
        if (cell->weights[i] < cell->weights[lightest])
            lightest = i;
    }
    cell->kinds[lightest] = kind;
    cell->weights[lightest] += weight;
}

uint32_t summary_main_kind(const struct summary_cell *cell)
{
    unsigned best = 0;
    for (unsigned i = 1; i < SUMMARY_KINDS; i++)
        if (cell->weights[i] > cell->weights[best])
            best = i;
    return cell->weights[best] > 0 ? cell->kinds[best] : UINT32_MAX;
}

static void summary_join(struct summary_cell *into, const struct summary_cell *from)
{
    into->busy_ns += from->busy_ns;
    into->begun += from->begun;
    for (unsigned i = 0; i < SUMMARY_KINDS; i++)
        if (from->weights[i] > 0)
            add_kind(into, from->kinds[i], from->weights[i]);
}

static void join_pairs(struct summary_row *row)
{
    uint32_t odd = (uint32_t)(row->first & 1), count = 0;
    for (uint32_t i = 0; i < row->count; i++) {
        uint32_t to = (i + odd) / 2;
        if (to == count)
            row->cells[count++] = row->cells[i];
        else
            summary_join(&row->cells[to], &row->cells[i]);
    }
    row->count = count;
    row->first >>= 1;
    row->shift++;
}

void summary_coarsen(struct summary_row *row, unsigned shift)
{
    while (row->shift < shift)
        join_pairs(row);
}

void summary_limit(struct summary_row *row, uint32_t most)
{
    while (row->count > most)
        join_pairs(row);
    if (row->room > most) {
        struct summary_cell *cells = realloc(row->cells, most * sizeof *cells);
        if (cells) {
            row->cells = cells;
            row->room = most;
        }
    }
}

/* How many cells the row would need from start to stop. */
static uint64_t cells_needed(const struct summary_row *row, int64_t start_ns, int64_t stop_ns)
{
    int64_t first = start_ns >> row->shift, last = stop_ns >> row->shift;
    if (row->count > 0 && row->first < first)
        first = row->first;
    if (row->count > 0 && row->first + (int64_t)row->count - 1 > last)
        last = row->first + (int64_t)row->count - 1;
    return (uint64_t)last - (uint64_t)first + 1;
}

/* Adds empty cells until the times have theirs. */
static bool summary_reach(struct summary_row *row, uint32_t most, int64_t start_ns, int64_t stop_ns)
{
    if (row->count == 0 && row->shift == 0)
        row->shift = FIRST_SHIFT;
    uint64_t needed = cells_needed(row, start_ns, stop_ns);
    for (; needed > most || needed == 0; needed = cells_needed(row, start_ns, stop_ns))
        join_pairs(row);
    if (needed == row->count)
        return true;
    if (!GROW_ARRAY(row->cells, row->room, (uint32_t)needed))
        return false;
    int64_t first = start_ns >> row->shift;
    uint64_t before = row->count > 0 && first < row->first ? (uint64_t)(row->first - first) : 0;
    if (row->count == 0 || before > 0)
        row->first = first;
    /* Not by 0: musl's memmove goes through all of it, so that each span would cost a row. */
    if (before > 0) {
        memmove(row->cells + before, row->cells, row->count * sizeof *row->cells);
        memset(row->cells, 0, before * sizeof *row->cells);
    }
    uint64_t used = before + row->count;
    memset(row->cells + used, 0, (needed - used) * sizeof *row->cells);
    row->count = (uint32_t)needed;
    return true;
}

bool summary_add(struct summary_row *row, uint32_t most, int64_t start_ns, int64_t stop_ns,
                 uint32_t kind, double used)
{
    if (!summary_reach(row, most, start_ns, stop_ns))
        return false;
    int64_t number = start_ns >> row->shift;
    struct summary_cell *cell = &row->cells[number - row->first];
    cell->begun++;
    for (int64_t at_ns = start_ns; at_ns < stop_ns; cell++, number++) {
        int64_t end_ns = (int64_t)((uint64_t)(number + 1) << row->shift);
        /* The last cell of all time ends beyond what a number holds. */
        int64_t until_ns = stop_ns < end_ns || end_ns < at_ns ? stop_ns : end_ns;
        uint64_t part_ns = (uint64_t)until_ns - (uint64_t)at_ns;
        cell->busy_ns += used < 1 ? (uint64_t)((double)part_ns * used) : part_ns;
        add_kind(cell, kind, (float)part_ns);
        at_ns = until_ns;
    }
    return true;
}

void summary_free(struct summary_row *row)
{
    free(row->cells);
    *row = (struct summary_row){0};
}
