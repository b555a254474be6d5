/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_copy.h - what the three drivers' copies have in common: bounds, pitches, and splitting.
 */
#ifndef RBWP_GPU_COPY_H
#define RBWP_GPU_COPY_H

#include "gpu_backend.h"

/*
 * Enqueues a part of a copy: all pitches are set, are at least what they span, and a slice is a
 * whole number of rows on both sides. is_flat: the part is one run of bytes, width_bytes long.
 */
typedef int (*gpu_copy_part_fn)(struct gpu_context *context, const struct gpu_copy *part,
                                bool is_flat, void *stream);

/* Checks the copy against the memory's sizes and hands it to `part` in as few parts as it takes.
 * The first code that is not GPU_OK ends it. */
int gpu_copy_parts(struct gpu_context *context, const struct gpu_copy *copy, void *stream,
                   gpu_copy_part_fn part);

/* The address of a side in an API whose device memory is an address. */
static inline char *gpu_copy_address(const struct gpu_copy_side *side)
{
    return (char *)(side->device ? side->device->native : side->host) + side->offset_bytes;
}

#endif /* RBWP_GPU_COPY_H */
