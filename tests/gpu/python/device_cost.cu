/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_cost.cu - what an event pair and a lane record of rbwp_device.h cost, for h200_python.py to compare with: cycles
 * of a chain of rounds, written by the first thread of each block.
 */
#include "rbwp_device.h"

#define EXPORTED extern "C" __attribute__((visibility("default")))

__global__ void event_pairs(const void *context, long long *cycles_out, int rounds)
{
    rbwp::events<> events;
    events.init(context, threadIdx.x == 0);
    const long long before = clock64();
    for (int i = 0; i < rounds; i++) {
        const unsigned handle = events.start(RBWP_DEV_PUT, 1, cycles_out, i, 0, 0);
        events.end(handle);
    }
    if (threadIdx.x == 0)
        cycles_out[blockIdx.x] = clock64() - before;
}

__global__ void lane_records(void *buffer, unsigned stride, unsigned max_records, long long *cycles_out, int rounds)
{
    rbwp::lanes<> lane;
    lane.init(buffer, stride, 0, 1, gridDim.x, threadIdx.x == 0, max_records);
    const long long before = clock64();
    for (int i = 0; i < rounds; i++) {
        lane.begin(1);
        lane.end(1);
    }
    const long long after = clock64();
    lane.finalize();
    if (threadIdx.x == 0)
        cycles_out[blockIdx.x] = after - before;
}

EXPORTED int cost_event_pairs(const void *context, long long *cycles_out, int rounds, int blocks, int threads)
{
    event_pairs<<<blocks, threads>>>(context, cycles_out, rounds);
    return (int)cudaDeviceSynchronize();
}

EXPORTED int cost_lane_records(void *buffer, unsigned stride, unsigned max_records, long long *cycles_out, int rounds,
                               int blocks, int threads)
{
    lane_records<<<blocks, threads>>>(buffer, stride, max_records, cycles_out, rounds);
    return (int)cudaDeviceSynchronize();
}
