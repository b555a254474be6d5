/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ptx_sanitize.h - which probes a second run can do without.
 *
 * Dead ones never fired. Two that are neighbours on every way, of one source line, become one:
 * where A is always followed by B and B always comes from A, the END of A and the START of B go.
 * Compat takes a record of number 0 behind a lane's first for an empty cell, and empty cells for
 * records of probe 0, as compatible tools do; else a cell is empty when its start is 0.
 */
#ifndef PTX_SANITIZE_H
#define PTX_SANITIZE_H

#include "ptx_lists.h"
#include "ptx_matrix.h"

struct ptx_sanitizing {
    bool compat, dead, merge;
};

/* False with the message given; active is the caller's to free in any case. */
bool ptx_sanitize(struct ptx_active *active, const struct ptx_matrix *matrix,
                  const struct ptx_loc_map *locs, struct ptx_sanitizing how);

#endif /* PTX_SANITIZE_H */
