/* SPDX-License-Identifier: Apache-2.0 */
/*
 * persistent_kernel.h - a persistent kernel, for CUDA, HIP, NVRTC and hipRTC: as many blocks as
 * there are multiprocessors take tiles of different sizes from a counter until there are none. Each
 * block is a lane: taking, summing and storing a tile.
 */
#include "rbwp_device.h"

enum { TAKE = 1, SUM = 2, STORE = 3 };
#define PERSISTENT_THREADS 256
#define PERSISTENT_UNIT 4096u /* elements; tile i has i % 7 + 1 of them */

extern "C" __global__ void persistent(const unsigned *in, unsigned *sums, unsigned *next,
                                      unsigned tiles, void *records, unsigned max_records)
{
    __shared__ unsigned tile, sum;
    rbwp::lanes<true, RBWP_DEV_V2> p;
    p.init(records, 0, 0, 1, gridDim.x, threadIdx.x == 0, max_records);
    for (;;) {
        p.begin(TAKE);
        __syncthreads();
        if (threadIdx.x == 0) {
            tile = atomicAdd(next, 1u);
            sum = 0;
        }
        __syncthreads();
        p.end(TAKE);
        if (tile >= tiles)
            break;
        {
            RBWP_REGION(p, SUM);
            const unsigned first =
                tile / 7 * 28 + tile % 7 * (tile % 7 + 1) / 2; /* units before it */
            unsigned mine = 0;
            for (unsigned i = threadIdx.x; i < (tile % 7 + 1) * PERSISTENT_UNIT; i += blockDim.x)
                mine += in[first * PERSISTENT_UNIT + i];
            atomicAdd(&sum, mine);
            __syncthreads();
        }
        RBWP_REGION(p, STORE);
        if (threadIdx.x == 0)
            sums[tile] = sum;
    }
    p.finalize();
}
