/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_support.h - for tests of the GPU side: an open device, streams made through its backend, and
 * the GPU_WORK records and facts beside them that came of it.
 */
#ifndef GPU_SUPPORT_H
#define GPU_SUPPORT_H

#include "gpu_device.h"
#include "rbwp_reader.h"

/* Which API and libraries the test uses; set by main. */
extern struct rbwp_gpu_config test_gpu;

/* Opens test_gpu with this manager (NULL: polled), fails the test if it can't. */
struct rbwp_gpu_device *open_device(struct rbwp_work_manager *manager);
/* A stream of its own, and its end. */
struct rbwp_gpu_stream *open_stream(struct rbwp_gpu_device *device, enum rbwp_gpu_use use);
void close_stream(struct rbwp_gpu_stream *stream);

/* Polls until nothing is pending. */
void poll_all(struct rbwp_gpu_device *device);

/* A row of gpu_activity (SPEC.md, section 9.3). */
struct work_fact {
    uint64_t proc_id, stream, slot, correlation, thread_id, range;
    int64_t start_ns, stop_ns, launch_ns, launched_ns, start_gap_ns, stop_gap_ns, launching_ns;
    bool idle;
};
/* GPU_WORK records, their facts, and GPUs in a file, in file order. */
struct works {
    struct rbwp_record *work;
    struct work_fact *fact;
    struct rbwp_gpu_facts *gpu;
    size_t works, facts, gpus;
};
struct works read_works(const char *path);
void works_free(struct works *works);
/* The only one of a slot; fails the test otherwise. */
const struct rbwp_record *work_of_slot(const struct works *works, unsigned slot);
/* Each record has its facts, each fact its record, none ends before it starts, each has an id of
 * its own. There is a row for each GPU. */
void assert_works_whole(const struct works *works);

/* Copies of all shapes through the device, compared with loops. */
void check_copies(struct rbwp_gpu_device *device, struct rbwp_gpu_stream *stream);

#endif /* GPU_SUPPORT_H */
