/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace.h - what the examples of kernels with lanes share on the host, in C and C++: a session, the
 * lanes' buffer on the device, a bracket around the launch, and both in one profile.
 */
#ifndef GPU_LANES_TRACE_H
#define GPU_LANES_TRACE_H

#include "rbwp_device_buffers.h"
#include "rbwp_durations.h"
#include "rbwp_gpu.h"
#include "rbwp_record.h"
#include "rbwp_session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct trace {
    const char *name;
    unsigned slot;
    struct rbwp_session *session; /* NULL: the program runs unprofiled */
    struct rbwp_gpu_device *device;
    struct rbwp_gpu_stream *stream;
    struct rbwp_device_clock *clock;
    struct rbwp_device_lanes *lanes;
    const struct rbwp_device_name *events, *groups; /* by their ids */
    struct rbwp_gpu_bracket bracket;
    uint64_t launch;
};

static inline bool trace_say(const struct trace *trace, enum rbwp_status status,
                             const struct rbwp_error *error)
{
    if (status != RBWP_OK)
        fprintf(stderr, "%s: %s\n", trace->name, error->text);
    return status == RBWP_OK;
}

/* The launches of a program are one work item. Flags of the profiler are taken out of argv. False
 * if there is no device, or the flags are wrong; without a profile the program runs on. */
static inline bool trace_start(struct trace *trace, const char *name, enum rbwp_gpu_api api,
                               void *native_stream, int *argc, char **argv)
{
    struct rbwp_session_config config;
    struct rbwp_gpu_config gpu;
    struct rbwp_error error;
    memset(trace, 0, sizeof *trace);
    memset(&gpu, 0, sizeof gpu);
    gpu.size = sizeof gpu;
    gpu.api = api;
    trace->name = name;
    rbwp_session_defaults(&config);
    if (!trace_say(trace, rbwp_session_parse(&config, argc, argv, &error), &error))
        return false;
    if (rbwp_work_item_register(name, &trace->slot) != RBWP_OK)
        return false;
    rbwp_thread_attach("launcher");
    (void)trace_say(trace, rbwp_session_start(&config, &trace->session, &error), &error);
    return trace_say(trace, rbwp_gpu_device_open(&gpu, &trace->device, &error), &error) &&
           trace_say(trace,
                     rbwp_gpu_stream_open(trace->device, native_stream, RBWP_GPU_USE_STREAM,
                                          &trace->stream, &error),
                     &error);
}

/* Memory for so many lanes, which trace_records gives to the kernel. */
static inline bool trace_lanes_begin(struct trace *trace, unsigned blocks,
                                     const struct rbwp_device_name *groups, unsigned group_count,
                                     const struct rbwp_device_name *events, unsigned event_count,
                                     unsigned max_records)
{
    struct rbwp_device_lanes_config config;
    struct rbwp_error error;
    memset(&config, 0, sizeof config);
    config.size = sizeof config;
    config.layout.size = sizeof config.layout;
    config.layout.dialect = RBWP_LANES_V2;
    config.layout.num_blocks = config.layout.grid_x = blocks;
    config.layout.num_groups = group_count;
    config.layout.max_records = max_records;
    config.groups = trace->groups = groups;
    config.group_count = group_count;
    config.events = trace->events = events;
    config.event_count = event_count;
    return trace_say(trace, rbwp_device_clock_new(trace->device, 0, &trace->clock, &error),
                     &error) &&
           trace_say(trace, rbwp_device_lanes_new(trace->device, &config, &trace->lanes, &error),
                     &error);
}
static inline void *trace_records(const struct trace *trace)
{
    return rbwp_device_lanes_buffer(trace->lanes).native;
}

static inline void trace_launch_begin(struct trace *trace)
{
    rbwp_begin(trace->slot);
    rbwp_gpu_bracket_begin(&trace->bracket, trace->stream, trace->slot);
}
static inline void trace_launch_end(struct trace *trace)
{
    trace->launch = rbwp_gpu_bracket_launch(&trace->bracket);
    rbwp_gpu_bracket_end(&trace->bracket);
    rbwp_end();
}

static inline const char *trace_name(const struct rbwp_device_name *names, int64_t id)
{
    while (names->id != id) /* all that a kernel uses have one */
        names++;
    return names->name;
}

static inline bool trace_print(struct trace *trace, const void *bytes, size_t size)
{
    struct rbwp_durations *durations = rbwp_durations_new();
    struct rbwp_lanes_stats stats;
    struct rbwp_error error;
    size_t count = 0;
    if (!durations || !trace_say(trace,
                                 rbwp_lanes_decode(bytes, size, NULL, rbwp_durations_take_lanes,
                                                   durations, &stats, &error),
                                 &error)) {
        rbwp_durations_free(durations);
        return false;
    }
    const struct rbwp_duration *row = rbwp_durations_rows(durations, &count);
    printf("%-10s %-10s %8s %12s %10s %10s\n", "group", "event", "n", "total us", "mean us",
           "p99 us");
    for (const struct rbwp_duration *end = row + count; row < end; row++)
        printf("%-10s %-10s %8llu %12.1f %10.3f %10.3f\n",
               trace_name(trace->groups, (int64_t)row->group),
               trace_name(trace->events, row->event), (unsigned long long)row->count,
               (double)row->total_ns / 1e3, rbwp_duration_mean_ns(row) / 1e3,
               (double)row->p99_ns / 1e3);
    rbwp_durations_free(durations);
    return true;
}

/* Takes what the kernel, which has ended, recorded: prints how long each event took, puts it into
 * the profile, and keeps the buffer as PATH, for `rbwp lanes PATH`. False if any of it is damaged.
 */
static inline bool trace_lanes_end(struct trace *trace, const char *path)
{
    struct rbwp_lanes_stats stats;
    struct rbwp_error error;
    size_t size = 0;
    (void)rbwp_gpu_drain(trace->device,
                         1000000000); /* the launch has its record before its lanes */
    (void)trace_say(trace, rbwp_device_clock_again(trace->clock, &error), &error);
    if (!trace_say(trace, rbwp_device_lanes_read(trace->lanes, NULL, &error), &error) ||
        !trace_say(
            trace,
            rbwp_device_lanes_record(trace->lanes, trace->clock, trace->launch, &stats, &error),
            &error))
        return false;
    const void *bytes = rbwp_device_lanes_memory(trace->lanes, &size);
    FILE *file = fopen(path, "wb");
    const bool kept = file && fwrite(bytes, 1, size, file) == size;
    if ((file && fclose(file) != 0) || !kept)
        perror(path);
    printf("%s: %llu records in %llu lanes, %llu dropped\n", path,
           (unsigned long long)stats.records, (unsigned long long)stats.lanes,
           (unsigned long long)stats.dropped);
    return trace_print(trace, bytes, size) && rbwp_lanes_damage(&stats) == 0 &&
           stats.finalized == stats.lanes && stats.dropped == 0;
}

static inline void trace_stop(struct trace *trace)
{
    struct rbwp_session_summary summary;
    rbwp_device_lanes_free(trace->lanes);
    rbwp_device_clock_free(trace->clock);
    rbwp_gpu_device_close(trace->device);
    if (trace->session && rbwp_session_stop(trace->session, &summary) == RBWP_OK)
        printf("profile: %s\n", summary.path);
    rbwp_thread_detach();
}

#endif
