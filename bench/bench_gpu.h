/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_gpu.h - what the benchmarks of GPU work share: an open device with four streams, which
 * bench_gpu_device.c drives through the backend interface as the library does, and what
 * brackets cost the host.
 */
#ifndef BENCH_GPU_H
#define BENCH_GPU_H

#include "bench.h"
#include "gpu_device.h"
#include "rbwp_reader.h"

#define STREAMS 4u
#define ROUNDS_MAX 199u

struct bench {
    struct rbwp_gpu_device *device;
    struct rbwp_gpu_facts facts;
    const struct gpu_backend *backend;
    struct gpu_context *context;
    struct gpu_attached saved;
    struct gpu_module *module;
    struct gpu_kernel *empty;
    struct rbwp_work_manager *manager;
    struct rbwp_gpu_stream *stream[STREAMS];
    void *native[STREAMS];
    unsigned rounds;
};

/* The API of this name; ends the program with the usage if there is none. */
enum rbwp_gpu_api api_of(const char *name, const char *usage);
/* Opens and prints the device; libraries: driver, compiler, each or both NULL. Ends the program if
 * it can't. */
void open_bench(struct bench *b, enum rbwp_gpu_api api, char **libraries);
void close_bench(struct bench *b);

/* Ends the program if the driver's code is not GPU_OK. */
void check(struct bench *b, int code, const char *what);
void launch_empty(struct bench *b, unsigned stream);
/* Until the stream has nothing more to do, and all its brackets have been reaped. */
void wait_for(struct bench *b, unsigned stream);

/* By how much a bracket takes the host longer than two event records, in ns; prints that, and the
 * same around a launch. */
double host_cost(struct bench *b);

/* Each GPU_WORK record of the scratch file. */
typedef void (*work_fn)(void *context, const struct rbwp_record *record);
void each_work(work_fn take, void *context);

#endif /* BENCH_GPU_H */
