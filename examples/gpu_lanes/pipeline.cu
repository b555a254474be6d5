// SPDX-License-Identifier: Apache-2.0
//
// pipeline.cu - a warp-specialised kernel: producer warps fetch tiles into shared memory while consumer
// warps compute on those fetched before; lanes show that they overlap, and who waits for whom.
//
//     nvcc -O3 -o pipeline pipeline.cu -lrbwp
//     ./pipeline -bgworkprofile 2 -bgworkprofile_logfile pipeline.bin && rbwp report pipeline.bin
//
// -DRBWP_DEVICE_ENABLED=0 takes the lanes out of the kernel, and nothing else changes.
#include "rbwp_device.h"
#include "trace.h"

#include <algorithm>
#include <cmath>
#include <vector>

enum { PRODUCER, CONSUMER, GROUPS };
enum { FETCH = 1, COMPUTE, WAIT_EMPTY, WAIT_FULL };
static const rbwp_device_name group_names[] = {{PRODUCER, "producer"}, {CONSUMER, "consumer"}};
static const rbwp_device_name event_names[] = {
    {FETCH, "fetch"}, {COMPUTE, "compute"}, {WAIT_EMPTY, "wait empty"}, {WAIT_FULL, "wait full"}};

const unsigned TILE = 2048, STAGES = 3, SIDE = 128, ROUNDS = 400; // SIDE: threads of a group

// Named barriers: a group waits at one, the other only arrives. 0 is __syncthreads.
__device__ static void wait_at(unsigned barrier)
{
    asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(2 * SIDE) : "memory");
}
__device__ static void arrive_at(unsigned barrier)
{
    asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(2 * SIDE) : "memory");
}
__device__ static unsigned full(unsigned stage) { return 1 + stage; }
__device__ static unsigned empty(unsigned stage) { return 1 + STAGES + stage; }

template <class Lanes>
__device__ static void produce(Lanes &p, float (*stages)[TILE], const float *in, unsigned tiles)
{
    unsigned k = 0;
    for (unsigned tile = blockIdx.x; tile < tiles; tile += gridDim.x, k++) {
        const unsigned stage = k % STAGES;
        if (k >= STAGES) {
            RBWP_REGION(p, WAIT_EMPTY);
            wait_at(empty(stage));
        }
        p.begin(FETCH);
        for (unsigned i = threadIdx.x; i < TILE; i += SIDE)
            stages[stage][i] = in[(size_t)tile * TILE + i];
        p.end(FETCH);
        __threadfence_block();
        arrive_at(full(stage));
    }
    // The consumers' last arrivals are for nobody else: a barrier is left as it was found.
    for (unsigned last = k > STAGES ? k - STAGES : 0; last < k; last++)
        wait_at(empty(last % STAGES));
}

template <class Lanes>
__device__ static void consume(Lanes &p, float (*stages)[TILE], float *out, unsigned tiles)
{
    unsigned k = 0;
    for (unsigned tile = blockIdx.x; tile < tiles; tile += gridDim.x, k++) {
        const unsigned stage = k % STAGES;
        {
            RBWP_REGION(p, WAIT_FULL);
            wait_at(full(stage));
        }
        p.begin(COMPUTE);
        for (unsigned i = threadIdx.x - SIDE; i < TILE; i += SIDE) {
            float x = stages[stage][i];
            for (unsigned round = 0; round < ROUNDS; round++)
                x = x * 0.75f + 0.5f;
            out[(size_t)tile * TILE + i] = x;
        }
        p.end(COMPUTE);
        arrive_at(empty(stage));
    }
}

__global__ void pipeline(const float *in, float *out, unsigned tiles, void *records, unsigned max_records)
{
    __shared__ float stages[STAGES][TILE];
    rbwp::lanes<true, RBWP_DEV_V2> p;
    p.init(records, 0, threadIdx.x / SIDE, GROUPS, gridDim.x, threadIdx.x % SIDE == 0, max_records);
    if (threadIdx.x < SIDE)
        produce(p, stages, in, tiles);
    else
        consume(p, stages, out, tiles);
    p.finalize();
}

// Of the time that producers fetch, how much do consumers of the same block compute?
static double overlap(const struct trace *trace)
{
    size_t size = 0, count = 0;
    const void *bytes = rbwp_device_lanes_memory(trace->lanes, &size);
    std::vector<rbwp_lane_span> spans(size / 16);
    rbwp_lanes_stats stats;
    rbwp_error error;
    if (rbwp_lanes_decode_array(bytes, size, nullptr, spans.data(), spans.size(), &count, &stats, &error) != RBWP_OK)
        return 0;
    std::vector<std::vector<rbwp_lane_span>> fetches, computes; // by block
    for (size_t i = 0; i < count; i++)
        if (spans[i].event == FETCH || spans[i].event == COMPUTE) {
            std::vector<std::vector<rbwp_lane_span>> &of = spans[i].event == FETCH ? fetches : computes;
            of.resize(std::max<size_t>(of.size(), spans[i].block + 1));
            of[spans[i].block].push_back(spans[i]);
        }
    computes.resize(std::max(computes.size(), fetches.size()));
    double both = 0, all = 0;
    for (size_t block = 0; block < fetches.size(); block++)
        for (const rbwp_lane_span &fetch : fetches[block]) {
            all += (double)(fetch.stop_ns - fetch.start_ns);
            for (const rbwp_lane_span &compute : computes[block])
                both += (double)std::max<int64_t>(0, std::min(fetch.stop_ns, compute.stop_ns) -
                                                         std::max(fetch.start_ns, compute.start_ns));
        }
    return all > 0 ? both / all : 0;
}

#define CUDA(call)                                                                                 \
    do {                                                                                           \
        const cudaError_t code_ = (call);                                                          \
        if (code_ != cudaSuccess) {                                                                \
            fprintf(stderr, "pipeline: %s: %s\n", #call, cudaGetErrorString(code_));               \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

int main(int argc, char **argv)
{
    int blocks;
    cudaStream_t stream;
    struct trace trace;
    CUDA(cudaDeviceGetAttribute(&blocks, cudaDevAttrMultiProcessorCount, 0));
    CUDA(cudaStreamCreate(&stream));
    if (!trace_start(&trace, "pipeline", RBWP_GPU_CUDA, stream, &argc, argv))
        return 1;

    const unsigned tiles = 24 * (unsigned)blocks, max_records = 24 * 4 + 1;
    std::vector<float> in((size_t)tiles * TILE), out(in.size());
    for (size_t i = 0; i < in.size(); i++)
        in[i] = (float)(i % 1000);
    float *device_in, *device_out;
    if (!trace_lanes_begin(&trace, (unsigned)blocks, group_names, GROUPS, event_names, 4, max_records))
        return 1;
    CUDA(cudaMalloc(&device_in, in.size() * sizeof(float)));
    CUDA(cudaMalloc(&device_out, in.size() * sizeof(float)));
    CUDA(cudaMemcpy(device_in, in.data(), in.size() * sizeof(float), cudaMemcpyHostToDevice));

    trace_launch_begin(&trace);
    pipeline<<<blocks, 2 * SIDE, 0, stream>>>(device_in, device_out, tiles, trace_records(&trace), max_records);
    trace_launch_end(&trace);
    CUDA(cudaGetLastError());
    CUDA(cudaStreamSynchronize(stream));
    CUDA(cudaMemcpy(out.data(), device_out, out.size() * sizeof(float), cudaMemcpyDeviceToHost));

    bool good = true;
    for (size_t i = 0; i < out.size(); i++)
        good = good && std::fabs(out[i] - 2.0f) < 1e-3f; // where x * 0.75 + 0.5 leads from anywhere
    printf("results: %s\n", good ? "right" : "WRONG");
    if (RBWP_DEVICE_ENABLED) {
        good = trace_lanes_end(&trace, "pipeline.lanes") && good;
        const double share = overlap(&trace);
        printf("overlap: %.0f %% of the time that producers fetch, consumers compute\n", 100 * share);
        good = good && share > 0;
    }
    trace_stop(&trace);
    return good ? 0 : 1;
}
