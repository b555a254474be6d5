/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_copy.h - for the backends: where a side of a copy is.
 */
#ifndef RBWP_GPU_COPY_H
#define RBWP_GPU_COPY_H

#include "gpu_backend.h"

/* The address of a side in an API whose device memory is an address. */
static inline char *gpu_copy_address(const struct gpu_copy_side *side)
{
    return (char *)(side->device ? side->device->native : side->host) + side->offset_bytes;
}

#endif /* RBWP_GPU_COPY_H */
