/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_owner.c - whose devices these are: a forked child has none of its parent's. */
#include "gpu_stream.h"

static _Atomic uint32_t forks;

uint32_t gpu_owner_forks(void)
{
    return atomic_load_explicit(&forks, memory_order_relaxed);
}

void gpu_owner_forked(void)
{
    atomic_fetch_add_explicit(&forks, 1, memory_order_relaxed);
}

bool gpu_device_is_ours(const struct rbwp_gpu_device *device)
{
    return device->forks == gpu_owner_forks();
}
