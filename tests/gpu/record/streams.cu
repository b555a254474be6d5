// SPDX-License-Identifier: Apache-2.0
// streams.cu - plain CUDA: threads with a stream each, kernels, copies, sets, a kernel launched by the driver's call, NVTX
// around each thread's work. Prints how many kernels it launched, and the first and last time that the GPU told (globaltimer) of each.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>
#include <thread>
#include <vector>

__global__ void spin(unsigned long long *out, int ns)
{
    unsigned long long begin, now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
    do
        asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    while (now - begin < ns);
    out[0] = begin;
    out[1] = now;
}

static void work(int number, int launches)
{
    cudaStream_t stream;
    unsigned long long *memory;
    char name[32];
    snprintf(name, sizeof name, "thread %d", number);
    nvtxRangePushA(name);
    cudaStreamCreate(&stream);
    cudaMallocAsync(&memory, launches * 16, stream);
    cudaMemsetAsync(memory, 0, launches * 16, stream);
    for (int i = 0; i < launches; i++)
        spin<<<1, 1, 0, stream>>>(memory + 2 * i, 20000);
    std::vector<unsigned long long> host(2 * launches);
    cudaMemcpyAsync(host.data(), memory, launches * 16, cudaMemcpyDeviceToHost, stream);
    cudaStreamSynchronize(stream);
    unsigned long long shortest = ~0ull, longest = 0;
    for (int i = 0; i < launches; i++) {
        unsigned long long took = host[2 * i + 1] - host[2 * i];
        shortest = took < shortest ? took : shortest;
        longest = took > longest ? took : longest;
    }
    nvtxRangePop();
    printf("{\"thread\": %d, \"kernels\": %d, \"shortest_ns\": %llu, \"longest_ns\": %llu}\n", number, launches, shortest, longest);
}

int main(int count, char **words)
{
    int launches = count > 1 ? atoi(words[1]) : 1000;
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; i++)
        threads.emplace_back(work, i, launches);
    for (auto &thread : threads)
        thread.join();
    return cudaDeviceSynchronize() != cudaSuccess;
}
