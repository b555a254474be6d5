/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ptx_matrix.h - what probes recorded: a row for each slot, a column for each lane.
 *
 * Read from a buffer's bytes with its map, or from raw.csv. A buffer of the wrong size, or of other
 * probes, is refused by the kernel's name and the hash; who saved it may put 16 bytes behind it:
 * how many records found no room and the hash, each of 64 bits.
 */
#ifndef PTX_MATRIX_H
#define PTX_MATRIX_H

#include "ptx_cell.h"
#include "ptx_map.h"

#define PTX_TAIL_BYTES 16

struct ptx_matrix {
    uint32_t rows, lanes;
    struct ptx_cell *cells; /* row by row */
    uint64_t dropped;
    uint32_t pair_cost;  /* cycles of an empty pair; 0: not known */
    uint32_t capacity;   /* cells of a lane of wide */
    const uint8_t *wide; /* the buffer, if its cells are wide and a thread of the set ran */
    char *bytes;
};

/* False with the message given; ptx_matrix_free only after true. */
bool ptx_matrix_read_raw(struct ptx_matrix *matrix, const struct ptx_map *map, const char *path);
bool ptx_matrix_read_csv(struct ptx_matrix *matrix, const char *path);
void ptx_matrix_free(struct ptx_matrix *matrix);

/* What wide cells have more: of a lane, and of a record. */
struct ptx_lane_head {
    uint64_t globaltimer, clock;
    uint32_t block, thread;
};
struct ptx_cell_place {
    uint64_t globaltimer; /* at the END */
    uint32_t sm, warp;
};
struct ptx_lane_head ptx_matrix_head(const struct ptx_matrix *matrix, uint32_t lane);
struct ptx_cell_place ptx_matrix_place(const struct ptx_matrix *matrix, uint32_t row,
                                       uint32_t lane);

static inline const struct ptx_cell *ptx_matrix_at(const struct ptx_matrix *matrix, uint32_t row,
                                                   uint32_t lane)
{
    return &matrix->cells[(size_t)row * matrix->lanes + lane];
}

/* Cycles between the two clocks; below 0 where they are broken. */
static inline int64_t ptx_cell_cycles(const struct ptx_cell *cell)
{
    return (int64_t)(cell->end - cell->start);
}

#endif /* PTX_MATRIX_H */
