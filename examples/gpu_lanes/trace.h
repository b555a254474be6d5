/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace.h - what the examples of kernels with lanes share on the host, in C and C++: a session with
 * a bracket around the launch, the header of the lanes' buffer, and what came of them.
 *
 * A program of one's own needs of it what trace_lanes_begin and trace_lanes_end do.
 */
#ifndef GPU_LANES_TRACE_H
#define GPU_LANES_TRACE_H

#include "rbwp_durations.h"
#include "rbwp_gpu.h"
#include "rbwp_lanes.h"
#include "rbwp_record.h"
#include "rbwp_session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct trace {
    struct rbwp_session *session;   /* NULL: the program runs unprofiled */
    struct rbwp_gpu_device *device; /* NULL: no brackets */
    struct rbwp_gpu_stream *stream;
    struct rbwp_gpu_bracket bracket;
    unsigned slot;
    struct rbwp_lanes_layout layout;
    char *bytes; /* of the buffer, on the host */
    size_t size;
};

/* The launches of a program are one work item. Flags of the profiler are taken out of argv. */
static inline bool trace_start(struct trace *trace, enum rbwp_gpu_api api, void *native_stream,
                               const char *name, int *argc, char **argv)
{
    struct rbwp_session_config config;
    struct rbwp_gpu_config gpu;
    struct rbwp_error error;
    memset(trace, 0, sizeof *trace);
    memset(&gpu, 0, sizeof gpu);
    memset(&error, 0, sizeof error);
    rbwp_session_defaults(&config);
    if (rbwp_session_parse(&config, argc, argv, &error) != RBWP_OK) {
        fprintf(stderr, "%s: %s\n", name, error.text);
        return false;
    }
    gpu.size = sizeof gpu;
    gpu.api = api;
    if (rbwp_work_item_register(name, &trace->slot) != RBWP_OK ||
        rbwp_thread_attach("launcher") != RBWP_OK ||
        rbwp_gpu_device_open(&gpu, &trace->device, &error) != RBWP_OK ||
        rbwp_gpu_stream_open(trace->device, native_stream, RBWP_GPU_USE_STREAM, &trace->stream,
                             &error) != RBWP_OK)
        fprintf(stderr, "%s: no brackets: %s\n", name, error.text);
    if (rbwp_session_start(&config, &trace->session, &error) != RBWP_OK)
        fprintf(stderr, "%s: no profile: %s\n", name, error.text);
    return true;
}

/* A buffer for so many lanes, with its header; copy bytes to the device. False without memory. */
static inline bool trace_lanes_begin(struct trace *trace, unsigned blocks, unsigned groups,
                                     unsigned max_records)
{
    struct rbwp_error error;
    struct timespec now;
    memset(&trace->layout, 0, sizeof trace->layout);
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    trace->layout.size = sizeof trace->layout;
    trace->layout.dialect = RBWP_LANES_V2;
    trace->layout.num_blocks = trace->layout.grid_x = blocks;
    trace->layout.num_groups = groups;
    trace->layout.max_records = max_records;
    trace->layout.anchor_host_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    trace->size = (size_t)rbwp_lanes_bytes(&trace->layout);
    trace->bytes = (char *)calloc(1, trace->size);
    return trace->bytes &&
           rbwp_lanes_write_header(&trace->layout, trace->bytes, trace->size, &error) == RBWP_OK;
}

static inline void trace_launch_begin(struct trace *trace)
{
    rbwp_begin(trace->slot);
    rbwp_gpu_bracket_begin(&trace->bracket, trace->stream, trace->slot);
}
static inline void trace_launch_end(struct trace *trace)
{
    rbwp_gpu_bracket_end(&trace->bracket);
    rbwp_end();
}

/* Decodes what was copied back, prints how long each event took, and keeps the buffer as PATH, for
 * `rbwp lanes PATH`. False if it is damaged. */
static inline bool trace_lanes_end(struct trace *trace, const char *const *groups,
                                   const char *const *events, const char *path)
{
    struct rbwp_durations *durations = rbwp_durations_new();
    struct rbwp_lanes_stats stats;
    struct rbwp_error error;
    size_t count = 0;
    const enum rbwp_status status = rbwp_lanes_decode(
        trace->bytes, trace->size, NULL, rbwp_durations_take_lanes, durations, &stats, &error);
    if (!durations || status != RBWP_OK) {
        fprintf(stderr, "lanes: %s\n", durations ? error.text : "no memory");
        rbwp_durations_free(durations);
        return false;
    }
    const struct rbwp_duration *rows = rbwp_durations_rows(durations, &count);
    printf("%-10s %-10s %8s %12s %10s %10s\n", "group", "event", "n", "total us", "mean us",
           "p99 us");
    for (size_t i = 0; i < count; i++)
        printf("%-10s %-10s %8llu %12.1f %10.3f %10.3f\n", groups[rows[i].group],
               events[rows[i].event], (unsigned long long)rows[i].count,
               (double)rows[i].total_ns / 1e3, rbwp_duration_mean_ns(&rows[i]) / 1e3,
               (double)rows[i].p99_ns / 1e3);
    rbwp_durations_free(durations);
    FILE *file = fopen(path, "wb");
    const bool kept = file && fwrite(trace->bytes, 1, trace->size, file) == trace->size;
    if ((file && fclose(file) != 0) || !kept)
        perror(path);
    printf("%llu records in %llu lanes, %llu dropped: %s\n", (unsigned long long)stats.records,
           (unsigned long long)stats.lanes, (unsigned long long)stats.dropped, path);
    return rbwp_lanes_damage(&stats) == 0 && stats.finalized == stats.lanes && stats.dropped == 0;
}

static inline void trace_stop(struct trace *trace)
{
    struct rbwp_session_summary summary;
    if (trace->device) {
        rbwp_gpu_drain(trace->device, 1000000000);
        rbwp_gpu_device_close(trace->device);
    }
    if (trace->session && rbwp_session_stop(trace->session, &summary) == RBWP_OK)
        printf("profile: %s\n", summary.path);
    rbwp_thread_detach();
    free(trace->bytes);
}

#endif
