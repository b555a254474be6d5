/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_shapes.h - the ways in which kernels were launched: rows of gpu_shape (SPEC.md, section 9.3).
 */
#ifndef GPU_SHAPES_H
#define GPU_SHAPES_H

#include "rbwp_table.h"

#define GPU_SHAPES_MAX 65536u /* what is beyond is not known */

struct gpu_shape {
    bool known;
    uint64_t grid[3], block[3], registers, shared;
};

struct gpu_shapes {
    struct gpu_shape *list; /* by number */
    uint32_t room;
};

/* False if they are rows of another table. *failed: no memory. */
bool gpu_shapes_take(struct gpu_shapes *shapes, const struct rbwp_rows *rows, bool *failed);
/* NULL: not known. */
const struct gpu_shape *gpu_shapes_get(const struct gpu_shapes *shapes, uint64_t number);
void gpu_shapes_free(struct gpu_shapes *shapes);

#endif /* GPU_SHAPES_H */
