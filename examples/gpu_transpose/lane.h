/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lane.h - a device with its three channels: up to it, on it, down from it.
 *
 * Where no GPU is found the host itself is a lane, with the host's channels.
 */
#ifndef LANE_H
#define LANE_H

#include "rbwp_gpu_channel.h"

enum lane_way { LANE_UP, LANE_ON, LANE_DOWN, LANE_WAYS };

struct lane {
    char name[192];
    struct rbwp_gpu_device *device; /* NULL: the host */
    struct rbwp_gpu_channel *gpu[LANE_WAYS];
    struct rbwp_channel *host;
    uint64_t proc_id;
    bool on_cpu;
};

/* False, with the reason in error: nothing was opened. */
bool lane_open_gpu(struct lane *lane, const struct rbwp_gpu_config *config,
                   struct rbwp_error *error);
bool lane_open_host(struct lane *lane, struct rbwp_work_manager *manager, struct rbwp_error *error);
/* Everything submitted has ended. */
void lane_close(struct lane *lane);

/* Memory where the lane computes, and memory that its copies reach best. */
bool lane_buffer(struct lane *lane, uint64_t bytes, struct rbwp_gpu_buffer *buffer);
void lane_buffer_free(struct lane *lane, struct rbwp_gpu_buffer *buffer);
bool lane_memory(struct lane *lane, uint64_t bytes, void **memory);
void lane_memory_free(struct lane *lane, void *memory);

bool lane_submit(struct lane *lane, enum lane_way way, const struct rbwp_gpu_transfer *transfer,
                 struct rbwp_error *error);
struct rbwp_gpu_channel_launches lane_counts(const struct lane *lane);

#endif /* LANE_H */
