/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_forms.h - records in the forms of compatible tools, byte for byte. */
#ifndef PTX_FORMS_H
#define PTX_FORMS_H

#include "ptx_lists.h"
#include "ptx_matrix.h"

/* NumPy's format 1.0: int64, rows of four numbers a lane. */
void ptx_write_npy(struct out *out, const struct ptx_matrix *matrix);
/* The same as text; with header a first line of names. */
void ptx_write_csv(struct out *out, const struct ptx_matrix *matrix, bool header);
/* Events of Chrome's format, row by row; cells without a start are left out. */
void ptx_write_trace(struct out *out, const struct ptx_matrix *matrix,
                     const struct ptx_loc_map *locs);
/* A line for each row, named by its first lane. */
void ptx_write_summary(struct out *out, const struct ptx_matrix *matrix,
                       const struct ptx_loc_map *locs);

#endif /* PTX_FORMS_H */
