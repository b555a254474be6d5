/* SPDX-License-Identifier: Apache-2.0 */
/*
 * summary.h - what rows look like from afar.
 *
 * A row is cut into cells of equal width, a power of two of nanoseconds. A
 * cell has how long the row was busy, how many spans began, and which kind of
 * span took most of it. The length of the run is not known while it is read:
 * cells start small and are joined in pairs whenever a row would need more
 * than its share of SUMMARY_CELLS. Memory is bounded by that, whatever comes.
 */
#ifndef SUMMARY_H
#define SUMMARY_H

#include <stdbool.h>
#include <stdint.h>

#define SUMMARY_CELLS (1u << 21)     /* of all rows together */
#define SUMMARY_ROW_CELLS (1u << 15) /* of one row, at most */
enum { SUMMARY_KINDS = 3 };

struct summary_cell {
    uint64_t busy_ns;
    uint32_t begun;
    uint32_t kinds[SUMMARY_KINDS];
    float weights[SUMMARY_KINDS]; /* ns; about, when more kinds than these compete */
};

struct summary_row {
    struct summary_cell *cells;
    uint32_t count, room;
    int64_t first; /* number of the first cell: its time is first << shift */
    unsigned shift;
};

/* Makes room for the times; most: cells that the row may have, a power of two. False without
 * memory. */
bool summary_add(struct summary_row *row, uint32_t most, int64_t start_ns, int64_t stop_ns,
                 uint32_t kind);
/* Joins cells until they are at least 1 << shift wide. */
void summary_coarsen(struct summary_row *row, unsigned shift);
/* Joins cells until there are no more than most. */
void summary_limit(struct summary_row *row, uint32_t most);
void summary_free(struct summary_row *row);

/* The kind that took most of the cell's time, UINT32_MAX none. */
uint32_t summary_main_kind(const struct summary_cell *cell);

#endif /* SUMMARY_H */
