// SPDX-License-Identifier: Apache-2.0
//
// h200_device_cost.cu - what markers cost: built once for each variant of rbwp_device.h's switches.
//
//   h200_device_cost lanes     cycles of a lane record, back to back
//   h200_device_cost events    cycles of an event, start and end, by one block a multiprocessor and four
//   h200_device_cost off       a kernel with markers that are compiled out against one without
//   h200_device_cost memory    a copy with two records a tile against one without
#include "h200_device.cuh"

static const unsigned EVENT_THREADS = 32;

// ---- records, back to back -----------------------------------------------------------------------

template <unsigned Kind>
__global__ void record_chain(void *buffer, unsigned pairs, unsigned max_records, long long *cycles)
{
    rbwp::lanes<true, Kind> p;
    p.init(buffer, 1, 0, 1, 1, threadIdx.x == 0, max_records);
    const long long begin = clock64();
#pragma unroll 4
    for (unsigned i = 0; i < pairs; i++) {
        p.begin(3);
        p.end(3);
    }
    const long long end = clock64();
    p.finalize();
    if (threadIdx.x == 0)
        cycles[0] = end - begin;
}

// The same with the start of the next record waiting for the timer's value: what a chain that uses it pays.
__global__ void timer_chain(unsigned pairs, long long *cycles, unsigned *sum)
{
    unsigned last = 0;
    const long long begin = clock64();
#pragma unroll 4
    for (unsigned i = 0; i < 2 * pairs; i++)
        last += rbwp_dev_time_low_();
    const long long end = clock64();
    cycles[0] = end - begin;
    *sum = last;
}

template <unsigned Kind> static double record_cycles(unsigned threads)
{
    const unsigned pairs = 4096, max_records = 2 * pairs + 2;
    char *buffer = device_zeros<char>(64 + 16 * (size_t)max_records);
    long long *cycles = device_zeros<long long>(1);
    std::vector<double> each;
    for (unsigned round = 0; round < 9; round++) {
        record_chain<Kind><<<1, threads>>>(buffer, pairs, max_records, cycles);
        CUDA(cudaDeviceSynchronize());
        each.push_back((double)to_host(cycles, 1)[0] / (2 * pairs));
    }
    CUDA(cudaFree(buffer));
    CUDA(cudaFree(cycles));
    return median(each);
}

static void lanes_cost()
{
    const double target = RBWP_DEV_FENCE ? 50 : 38;
    const char *fence = RBWP_DEV_FENCE ? "fence" : "no fence";
    char what[80];
    auto line = [&](const char *kind, double cycles, double wanted) {
        std::snprintf(what, sizeof what, "lane record, %s, %s", kind, fence);
        figure(what, cycles, "cycles", wanted);
    };
    line("v1, 1 thread", record_cycles<RBWP_DEV_V1>(1), target);
    line("v1, leader of a warp", record_cycles<RBWP_DEV_V1>(32), target);
    line("v1, leader of 4 warps", record_cycles<RBWP_DEV_V1>(128), 0);
    line("v1 with heartbeat", record_cycles<RBWP_DEV_V1 | RBWP_DEV_HEARTBEAT>(32), 0);
    line("v2 short", record_cycles<RBWP_DEV_V2 | RBWP_DEV_SHORT>(32), 0);
    line("v2", record_cycles<RBWP_DEV_V2>(32), 0);
    line("v2 with clock64", record_cycles<RBWP_DEV_V2 | RBWP_DEV_CLOCK>(32), 0);
    long long *cycles = device_zeros<long long>(1);
    unsigned *sum = device_zeros<unsigned>(1);
    timer_chain<<<1, 1>>>(4096, cycles, sum);
    timer_chain<<<1, 1>>>(4096, cycles, sum);
    CUDA(cudaDeviceSynchronize());
    figure("(one read of the timer alone, each waited for)", (double)to_host(cycles, 1)[0] / 8192,
           "cycles", 0);
}

// ---- events ----------------------------------------------------------------------------------------

__device__ static bool event_leader()
{
    return RBWP_DEV_EVENT_WARP ? threadIdx.x < 32 : threadIdx.x == 0;
}

// Unroll 1: with a loop's end behind each pair, which waits for the stores' registers.
template <bool InOneGo, unsigned Unroll>
__global__ void event_chain(const void *context, unsigned count, void *address, long long *cycles)
{
    rbwp::events<> e;
    e.init(context, event_leader());
    __syncthreads();
    const long long begin = clock64();
#pragma unroll Unroll
    for (unsigned i = 0; i < count; i++) {
        if (InOneGo) {
            rbwp::events<>::open_event event;
            e.open(event, RBWP_DEV_PUT, 1, address, i, 3, 32);
            e.close(event);
        } else {
            const unsigned handle = e.start(RBWP_DEV_PUT, 1, address, i, 3, 32);
            e.end(handle);
        }
    }
    const long long end = clock64();
    e.finish();
    if (threadIdx.x == 0)
        cycles[blockIdx.x] = end - begin;
}

// What no event can be cheaper than: an add to its counters, and the next one when its result is there.
__global__ void counter_chain(unsigned long long *counters, unsigned count, long long *cycles)
{
    unsigned long long last = 0;
    const long long begin = clock64();
#pragma unroll 1
    for (unsigned i = 0; i < count && threadIdx.x == 0; i++)
        last = atomicAdd(counters, (1ull << 32 | 1) + (last >> 63));
    const long long end = clock64();
    if (threadIdx.x == 0)
        cycles[blockIdx.x] = end - begin + (last == ~0ull);
}

// The same code in all kernels: laid out by itself in each, this loop differs by more than an event costs.
__device__ __noinline__ static unsigned do_work(unsigned x, unsigned work)
{
#pragma unroll 1
    for (unsigned k = 0; k < work; k++)
        x = x * 1664525u + 1013904223u;
    return x;
}

// The start alone, with work behind it that does not wait for it: what a kernel sees of it.
template <bool InOneGo>
__global__ void event_with_work(const void *context, unsigned count, void *address, unsigned work,
                                long long *cycles, unsigned *sum)
{
    rbwp::events<> e;
    e.init(context, event_leader());
    unsigned x = threadIdx.x;
    const long long begin = clock64();
#pragma unroll 1
    for (unsigned i = 0; i < count; i++) {
        rbwp::events<>::open_event event;
        unsigned handle = 0;
        if (InOneGo)
            e.open(event, RBWP_DEV_PUT, 1, address, i, 3, 32);
        else
            handle = e.start(RBWP_DEV_PUT, 1, address, i, 3, 32);
        x = do_work(x, work);
        if (InOneGo)
            e.close(event);
        else
            e.end(handle);
    }
    const long long end = clock64();
    e.finish();
    sum[blockIdx.x * blockDim.x + threadIdx.x] = x;
    if (threadIdx.x == 0)
        cycles[blockIdx.x] = end - begin;
}

__global__ void work_alone(unsigned count, unsigned work, long long *cycles, unsigned *sum)
{
    unsigned x = threadIdx.x;
    const long long begin = clock64();
#pragma unroll 1
    for (unsigned i = 0; i < count; i++)
        x = do_work(x, work);
    const long long end = clock64();
    sum[blockIdx.x * blockDim.x + threadIdx.x] = x;
    if (threadIdx.x == 0)
        cycles[blockIdx.x] = end - begin;
}

static double block_median(const long long *cycles, unsigned blocks, unsigned count)
{
    CUDA(cudaDeviceSynchronize());
    return (double)median(to_host(cycles, blocks)) / count;
}

static double counter_cycles(const event_buffers &buffers, unsigned blocks)
{
    const unsigned count = 64;
    long long *cycles = device_zeros<long long>(blocks);
    std::vector<double> each;
    for (unsigned round = 0; round < 9; round++) {
        CUDA(cudaMemset(buffers.counters, 0, 256));
        counter_chain<<<blocks, EVENT_THREADS>>>((unsigned long long *)buffers.counters, count, cycles);
        each.push_back(block_median(cycles, blocks, count));
    }
    CUDA(cudaFree(cycles));
    return median(each);
}

template <bool InOneGo, unsigned Unroll = 1> static double event_cycles(const event_buffers &buffers, unsigned blocks)
{
    const unsigned count = 64;
    long long *cycles = device_zeros<long long>(blocks);
    std::vector<double> each;
    for (unsigned round = 0; round < 9; round++) {
        CUDA(cudaMemset(buffers.counters, 0, 256));
        event_chain<InOneGo, Unroll><<<blocks, EVENT_THREADS>>>(buffers.context, count, cycles, cycles);
        each.push_back(block_median(cycles, blocks, count));
    }
    uint32_t counted;
    CUDA(cudaMemcpy(&counted, buffers.counters, 4, cudaMemcpyDeviceToHost));
    CHECK(counted == blocks * (count + RBWP_DEV_EVENT_AHEAD), "%u counted", counted);
    CUDA(cudaFree(cycles));
    return median(each);
}

template <bool InOneGo> static double event_visible_cycles(const event_buffers &buffers, unsigned blocks)
{
    const unsigned count = 32, work = 1000;
    long long *cycles = device_zeros<long long>(blocks);
    unsigned *sum = device_zeros<unsigned>(blocks * EVENT_THREADS);
    std::vector<double> each;
    for (unsigned round = 0; round < 9; round++) {
        CUDA(cudaMemset(buffers.counters, 0, 256));
        work_alone<<<blocks, EVENT_THREADS>>>(count, work, cycles, sum);
        const double alone = block_median(cycles, blocks, count);
        event_with_work<InOneGo><<<blocks, EVENT_THREADS>>>(buffers.context, count, cycles, work, cycles, sum);
        each.push_back(block_median(cycles, blocks, count) - alone);
    }
    CUDA(cudaFree(cycles));
    CUDA(cudaFree(sum));
    return median(each);
}

static void events_cost(unsigned multiprocessors)
{
    char what[96];
    for (unsigned apart = 0; apart < 2; apart++) {
        if (apart && RBWP_DEV_EVENT_COUNTERS != 1)
            continue; // the other ways do not look at where the counters are
        event_buffers buffers = make_events(0, 2, 4 * multiprocessors * (64 + RBWP_DEV_EVENT_AHEAD), apart);
        for (unsigned blocks : {1u, multiprocessors, 4 * multiprocessors}) {
            const double target = blocks > multiprocessors ? 1000 : 450;
            std::snprintf(what, sizeof what, "event pair, %u blocks%s", blocks, apart ? ", counters apart" : "");
            figure(what, event_cycles<false>(buffers, blocks), "cycles", apart ? 0 : target);
            std::snprintf(what, sizeof what, "event opened and closed, %u blocks%s", blocks,
                          apart ? ", counters apart" : "");
            figure(what, event_cycles<true>(buffers, blocks), "cycles", apart ? 0 : target);
        }
        for (unsigned blocks : {1u, 4 * multiprocessors}) {
            std::snprintf(what, sizeof what, "event pair around ~4000 cycles of work, %u blocks", blocks);
            figure(what, event_visible_cycles<false>(buffers, blocks), "cycles", 0);
            std::snprintf(what, sizeof what, "event opened, ~4000 cycles of work, closed, %u blocks", blocks);
            figure(what, event_visible_cycles<true>(buffers, blocks), "cycles", 0);
        }
        // Behind what the script's table takes by its place:
        if (!apart)
            for (unsigned blocks : {1u, multiprocessors, 4 * multiprocessors}) {
                const double target = blocks > multiprocessors ? 1000 : 450;
                std::snprintf(what, sizeof what, "event pair, four in a loop, %u blocks", blocks);
                figure(what, event_cycles<false, 4>(buffers, blocks), "cycles", target);
                std::snprintf(what, sizeof what, "(64-bit add to the counters alone, waited for, %u blocks)", blocks);
                figure(what, counter_cycles(buffers, blocks), "cycles", 0);
            }
        free_events(&buffers);
    }
}

// ---- whole kernels: off, and a copy -------------------------------------------------------------------

// Copies tiles; a block takes every gridDim.x-th of them. Marked: with calls; Enabled: with code for them.
template <bool Marked, bool Enabled>
__global__ void copy_tiles(const uint4 *from, uint4 *to, size_t tile, size_t tiles, void *buffer,
                           unsigned max_records, const void *context)
{
    rbwp::lanes<Enabled> p;
    rbwp::events<false> e;
    if (Marked) {
        p.init(buffer, 0, 0, 1, gridDim.x, threadIdx.x == 0, max_records);
        e.init(context, threadIdx.x == 0);
    }
    for (size_t t = blockIdx.x; t < tiles; t += gridDim.x) {
        unsigned handle = 0;
        if (Marked) {
            p.begin(1);
            handle = e.start(RBWP_DEV_COPY, 0, to, 0, 0);
        }
        for (size_t i = threadIdx.x; i < tile; i += blockDim.x)
            to[t * tile + i] = from[t * tile + i];
        if (Marked) {
            e.end(handle);
            p.end(1);
        }
    }
    if (Marked)
        p.finalize();
}

struct copy_job {
    uint4 *from, *to;
    size_t tile, tiles;
    unsigned blocks, threads, max_records;
    void *buffer;
};

template <bool Marked, bool Enabled> static double copy_us(const copy_job &job, cudaEvent_t begin, cudaEvent_t end)
{
    if (Enabled)
        CUDA(cudaMemsetAsync(job.buffer, 0, 8 + 8 * (size_t)job.blocks * job.max_records));
    CUDA(cudaEventRecord(begin));
    copy_tiles<Marked, Enabled><<<job.blocks, job.threads>>>(job.from, job.to, job.tile, job.tiles, job.buffer,
                                                             job.max_records, nullptr);
    CUDA(cudaEventRecord(end));
    CUDA(cudaEventSynchronize(end));
    float ms;
    CUDA(cudaEventElapsedTime(&ms, begin, end));
    return ms * 1000;
}

static copy_job make_copy(size_t bytes, size_t tile_bytes, unsigned blocks)
{
    copy_job job{};
    job.from = device_zeros<uint4>(bytes / 16);
    job.to = device_zeros<uint4>(bytes / 16);
    job.tile = tile_bytes / 16;
    job.tiles = bytes / tile_bytes;
    job.blocks = blocks;
    job.threads = 512;
    job.max_records = (unsigned)(2 * ((job.tiles + blocks - 1) / blocks) + 2);
    job.buffer = device_zeros<char>(8 + 8 * (size_t)blocks * job.max_records);
    return job;
}

static void free_copy(const copy_job &job)
{
    CUDA(cudaFree(job.from));
    CUDA(cudaFree(job.to));
    CUDA(cudaFree(job.buffer));
}

// 1000 launches of each, in turns, so that what drifts drifts for both.
static void off_cost(unsigned multiprocessors, unsigned launches)
{
    const copy_job job = make_copy(size_t(64) << 20, 64 << 10, 2 * multiprocessors);
    cudaEvent_t begin, end;
    CUDA(cudaEventCreate(&begin));
    CUDA(cudaEventCreate(&end));
    std::vector<double> plain, again, off;
    for (unsigned i = 0; i < launches; i++) {
        plain.push_back(copy_us<false, false>(job, begin, end));
        off.push_back(copy_us<true, false>(job, begin, end));
        again.push_back(copy_us<false, false>(job, begin, end));
    }
    const double noise = 100 * (median(again) / median(plain) - 1), more = 100 * (median(off) / median(plain) - 1);
    figure("kernel without markers, median of the launches", median(plain), "us", 0);
    figure("the same kernel once more: noise", noise, "%", 0);
    figure("compiled out, against without markers", more, "%", std::max(1.0, 2 * noise));
    free_copy(job);
}

static void memory_cost(unsigned multiprocessors)
{
    cudaEvent_t begin, end;
    CUDA(cudaEventCreate(&begin));
    CUDA(cudaEventCreate(&end));
    for (size_t tile_bytes : {size_t(32) << 10, size_t(128) << 10, size_t(192) << 10, size_t(512) << 10}) {
        const size_t per_round = tile_bytes * 2 * multiprocessors, bytes = per_round * ((size_t(1) << 30) / per_round);
        const copy_job job = make_copy(bytes, tile_bytes, 2 * multiprocessors);
        std::vector<double> plain, traced;
        for (unsigned i = 0; i < 41; i++) {
            plain.push_back(copy_us<false, false>(job, begin, end));
            traced.push_back(copy_us<true, true>(job, begin, end));
        }
        const double us = median(plain), tile_us = us * job.blocks / (double)job.tiles;
        char what[96];
        std::snprintf(what, sizeof what, "copy, 2 records a tile of %.1f us: slower by", tile_us);
        figure(what, 100 * (median(traced) / us - 1), "%", tile_us >= 20 ? 3 : 0);
        std::snprintf(what, sizeof what, "(bandwidth without, tile of %zu KiB)", tile_bytes >> 10);
        figure(what, 2 * (double)bytes / us / 1e6, "TB/s", 0);
        free_copy(job);
    }
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int multiprocessors;
    CUDA(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
    std::printf("variant: fence %d, counters %d, warp %d, keep %d, ahead %d, once %d\n", RBWP_DEV_FENCE,
                RBWP_DEV_EVENT_COUNTERS, RBWP_DEV_EVENT_WARP, RBWP_DEV_EVENT_KEEP, RBWP_DEV_EVENT_AHEAD,
                RBWP_DEV_EVENT_ONCE);
    if (!std::strcmp(what, "lanes"))
        lanes_cost();
    else if (!std::strcmp(what, "events"))
        events_cost((unsigned)multiprocessors);
    else if (!std::strcmp(what, "off"))
        off_cost((unsigned)multiprocessors, argc > 2 ? (unsigned)std::atoi(argv[2]) : 1000);
    else if (!std::strcmp(what, "memory"))
        memory_cost((unsigned)multiprocessors);
    else
        return 2;
    return failures != 0;
}
