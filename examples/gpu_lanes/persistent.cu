// SPDX-License-Identifier: Apache-2.0
//
// persistent.cu - the kernel of persistent_kernel.h through CUDA's run-time library.
//
//     nvcc -O3 -o persistent persistent.cu -lrbwp
//     ./persistent -bgworkprofile 2 -bgworkprofile_logfile persistent.bin && rbwp report persistent.bin
#include "persistent_kernel.h"
#include "persistent_job.h"
#include "trace.h"

#define CUDA(call)                                                                                 \
    do {                                                                                           \
        const cudaError_t code_ = (call);                                                          \
        if (code_ != cudaSuccess) {                                                                \
            fprintf(stderr, "persistent: %s: %s\n", #call, cudaGetErrorString(code_));             \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

int main(int argc, char **argv)
{
    int blocks;
    cudaStream_t stream;
    struct trace trace;
    struct persistent_job job;
    CUDA(cudaDeviceGetAttribute(&blocks, cudaDevAttrMultiProcessorCount, 0));
    CUDA(cudaStreamCreate(&stream));
    if (!trace_start(&trace, "persistent", RBWP_GPU_CUDA, stream, &argc, argv))
        return 1;
    if (!persistent_job_make(&job, (unsigned)blocks) ||
        !trace_lanes_begin(&trace, (unsigned)blocks, persistent_groups, 1, persistent_events, 3, job.max_records))
        return 1;

    unsigned *in, *sums, *next;
    CUDA(cudaMalloc(&in, job.in_bytes));
    CUDA(cudaMalloc(&sums, job.sums_bytes));
    CUDA(cudaMalloc(&next, sizeof *next));
    CUDA(cudaMemcpy(in, job.in, job.in_bytes, cudaMemcpyHostToDevice));
    CUDA(cudaMemset(next, 0, sizeof *next));

    trace_launch_begin(&trace);
    persistent<<<blocks, PERSISTENT_THREADS, 0, stream>>>(in, sums, next, job.tiles, trace_records(&trace),
                                                         job.max_records);
    trace_launch_end(&trace);
    CUDA(cudaGetLastError());
    CUDA(cudaStreamSynchronize(stream));
    CUDA(cudaMemcpy(job.sums, sums, job.sums_bytes, cudaMemcpyDeviceToHost));

    bool good = persistent_job_check(&job);
    if (RBWP_DEVICE_ENABLED)
        good = trace_lanes_end(&trace, "persistent.lanes") && good;
    trace_stop(&trace);
    return good ? 0 : 1;
}
