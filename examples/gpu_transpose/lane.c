/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lane.c - a device with its three channels: up to it, on it, down from it.
 *
 * The host's channels take the same description of a transfer, once its
 * buffers are turned into addresses.
 */
#include "lane.h"

#include <stdio.h>
#include <stdlib.h>

static bool open_channel(struct lane *lane, const struct rbwp_gpu_config *config, enum lane_way way,
                         struct rbwp_error *error)
{
    static const char *const names[LANE_WAYS] = {"up", "on", "down"};
    static const enum rbwp_gpu_use uses[LANE_WAYS] = {
        RBWP_GPU_USE_HOST_TO_DEVICE, RBWP_GPU_USE_STREAM, RBWP_GPU_USE_DEVICE_TO_HOST};
    char name[64];
    snprintf(name, sizeof name, "gpu_transpose %s:%u %s", rbwp_gpu_api_name(config->api),
             config->ordinal, names[way]);
    const struct rbwp_gpu_channel_config channel = {.size = sizeof channel,
                                                    .device = lane->device,
                                                    .manager = config->manager,
                                                    .name = name,
                                                    .use = uses[way]};
    return rbwp_gpu_channel_new(&channel, &lane->gpu[way], error) == RBWP_OK;
}

bool lane_open_gpu(struct lane *lane, const struct rbwp_gpu_config *config,
                   struct rbwp_error *error)
{
    *lane = (struct lane){.device = NULL};
    if (rbwp_gpu_device_open(config, &lane->device, error) != RBWP_OK)
        return false;
    struct rbwp_gpu_facts facts;
    rbwp_gpu_device_facts(lane->device, &facts);
    snprintf(lane->name, sizeof lane->name, "%s:%u %s", rbwp_gpu_api_name(config->api),
             config->ordinal, facts.name);
    lane->proc_id = facts.proc_id;
    lane->on_cpu = facts.on_cpu;
    for (unsigned way = 0; way < LANE_WAYS; way++)
        if (!open_channel(lane, config, (enum lane_way)way, error)) {
            lane_close(lane);
            return false;
        }
    return true;
}

bool lane_open_host(struct lane *lane, struct rbwp_work_manager *manager, struct rbwp_error *error)
{
    *lane = (struct lane){.name = "the host", .on_cpu = true};
    return rbwp_channel_new(manager, "gpu_transpose host", -1, &lane->host, error) == RBWP_OK;
}

void lane_close(struct lane *lane)
{
    for (unsigned way = 0; way < LANE_WAYS; way++)
        (void)rbwp_gpu_channel_free(lane->gpu[way]);
    (void)rbwp_gpu_device_close(lane->device);
    (void)rbwp_channel_free(lane->host);
}

bool lane_buffer(struct lane *lane, uint64_t bytes, struct rbwp_gpu_buffer *buffer)
{
    if (lane->device)
        return rbwp_gpu_buffer_alloc(lane->device, bytes, buffer, NULL) == RBWP_OK;
    *buffer = (struct rbwp_gpu_buffer){malloc((size_t)bytes), bytes};
    return buffer->native != NULL;
}

void lane_buffer_free(struct lane *lane, struct rbwp_gpu_buffer *buffer)
{
    if (lane->device)
        rbwp_gpu_buffer_free(lane->device, buffer);
    else
        free(buffer->native);
}

bool lane_memory(struct lane *lane, uint64_t bytes, void **memory)
{
    if (lane->device)
        return rbwp_gpu_host_alloc(lane->device, bytes, memory, NULL) == RBWP_OK;
    *memory = malloc((size_t)bytes);
    return *memory != NULL;
}

void lane_memory_free(struct lane *lane, void *memory)
{
    if (lane->device)
        rbwp_gpu_host_free(lane->device, memory);
    else
        free(memory);
}

bool lane_submit(struct lane *lane, enum lane_way way, const struct rbwp_gpu_transfer *transfer,
                 struct rbwp_error *error)
{
    if (lane->device)
        return rbwp_gpu_channel_submit(lane->gpu[way], transfer, NULL, error) == RBWP_OK;
    struct rbwp_transfer what = transfer->what;
    if (transfer->source.native)
        what.source.memory = transfer->source.native;
    if (transfer->target.native)
        what.target.memory = transfer->target.native;
    return rbwp_channel_submit(lane->host, &what, NULL, error) == RBWP_OK;
}

struct rbwp_gpu_channel_launches lane_counts(const struct lane *lane)
{
    struct rbwp_gpu_channel_launches sum = {0};
    for (unsigned way = 0; lane->device && way < LANE_WAYS; way++) {
        struct rbwp_gpu_channel_launches counts;
        rbwp_gpu_channel_counts(lane->gpu[way], &counts);
        sum.transfers += counts.transfers;
        sum.copies += counts.copies;
        sum.kernels += counts.kernels;
    }
    return sum;
}
