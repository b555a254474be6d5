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

#include "ptx_folder.h"
#include "ptx_matrix.h"

/* False with the message given; active is the caller's to free in any case. */
bool ptx_sanitize(struct ptx_active *active, const struct ptx_matrix *matrix,
                  const struct ptx_loc_map *locs, struct ptx_sanitizing how);

/* The same of several launches with the same probes, added one by one. */
struct ptx_sanitizer;
/* NULL with the message given. Free takes NULL. */
struct ptx_sanitizer *ptx_sanitizer_new(struct ptx_sanitizing how);
void ptx_sanitizer_free(struct ptx_sanitizer *sanitizer);
bool ptx_sanitizer_add(struct ptx_sanitizer *sanitizer, const struct ptx_matrix *matrix);
/* Records are missing: who did not fire is not known. */
void ptx_sanitizer_keep_dead(struct ptx_sanitizer *sanitizer);
/* Once, at the end; active is the caller's to free in any case. */
bool ptx_sanitizer_lists(struct ptx_sanitizer *sanitizer, struct ptx_active *active,
                         const struct ptx_loc_map *locs);

#endif /* PTX_SANITIZE_H */
