// SPDX-License-Identifier: Apache-2.0
//
// compat_warpscope.cu - a kernel marked for warpscope, for compat_examples.py: nvcc makes a shared
// library of it.
#include "rbwp_warpscope.h"

#include <cstdint>

enum : uint32_t { EvWait = 0, EvWork = 1, EvDone = 2 };

template <bool ON>
__global__ void rounds(float *x, uint64_t *prof, uint32_t stride, uint32_t num_groups,
                       uint32_t num_blocks, uint32_t max_records)
{
    const uint32_t group = threadIdx.x / 32, lane = threadIdx.x % 32;
    ws::Profiler<ON> p;
    p.init(prof, stride, group, num_groups, num_blocks, /*leader=*/lane == 0, max_records);
    for (int i = 0; i < 3; i++) {
        p.start(EvWait);
        __syncthreads();
        p.end(EvWait);
        WS_REGION(p, EvWork);
        x[blockIdx.x * blockDim.x + threadIdx.x] += 1;
    }
    p.instant(EvDone);
    p.finalize();
}

extern "C" int run(float *x, uint64_t *prof, uint32_t stride, uint32_t num_groups,
                   uint32_t num_blocks, uint32_t max_records, int on)
{
    (on ? rounds<true> : rounds<false>)<<<num_blocks, 32 * num_groups>>>(
        x, prof, stride, num_groups, num_blocks, max_records);
    return cudaDeviceSynchronize();
}
