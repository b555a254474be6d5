/* SPDX-License-Identifier: Apache-2.0 */
/* store.c - where a node's cells are, and how they move. */
#include "store.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- the GPU ---------------------------------------------------------------------------- */

/* One after the other: drivers that start up on several threads at once have been seen to crash. */
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;

bool store_gpus(int api, enum rbwp_gpu_api *api_out, unsigned *gpus_out, struct rbwp_error *error)
{
    const int last = api < 0 ? RBWP_GPU_OPENCL : api;
    *gpus_out = 0;
    pthread_mutex_lock(&opening);
    for (int a = api < 0 ? 0 : api; *gpus_out == 0 && a <= last; a++) {
        *api_out = (enum rbwp_gpu_api)a;
        if (rbwp_gpu_count(*api_out, NULL, gpus_out, error) == RBWP_OK && *gpus_out == 0) {
            *error = (struct rbwp_error){.status = RBWP_E_IO, .offset = UINT64_MAX};
            snprintf(error->text, sizeof error->text, "%s has no device",
                     rbwp_gpu_api_name(*api_out));
        }
    }
    pthread_mutex_unlock(&opening);
    return *gpus_out > 0;
}

static bool open_device(struct store *store, struct rbwp_work_manager *manager,
                        enum rbwp_gpu_api api, unsigned ordinal, struct rbwp_error *error)
{
    struct rbwp_gpu_facts facts;
    const struct rbwp_gpu_config config = {
        .size = sizeof config, .api = api, .ordinal = ordinal, .manager = manager};
    if (rbwp_gpu_device_open(&config, &store->device, error) != RBWP_OK)
        return false;
    rbwp_gpu_device_facts(store->device, &facts);
    snprintf(store->name, sizeof store->name, "%s:%u %s", rbwp_gpu_api_name(api), ordinal,
             facts.name);
    return true;
}

bool store_open_gpu(struct store *store, struct rbwp_work_manager *manager, const char *name,
                    enum rbwp_gpu_api api, unsigned ordinal, struct rbwp_error *error)
{
    *store = (struct store){.ordinal = ordinal};
    pthread_mutex_lock(&opening);
    bool opened = open_device(store, manager, api, ordinal, error);
    const struct rbwp_gpu_channel_config config = {.size = sizeof config,
                                                   .device = store->device,
                                                   .manager = manager,
                                                   .name = name,
                                                   .use = RBWP_GPU_USE_STREAM};
    opened = opened && rbwp_gpu_channel_new(&config, &store->gpu_channel, error) == RBWP_OK;
    pthread_mutex_unlock(&opening);
    return opened;
}

bool store_open(struct store *store, struct rbwp_work_manager *manager, const char *name,
                struct rbwp_error *error)
{
    *store = (struct store){.name = "the host"};
    return rbwp_channel_new(manager, name, -1, &store->channel, error) == RBWP_OK;
}

void store_stop(struct store *store)
{
    (void)rbwp_channel_free(store->channel);
    (void)rbwp_gpu_channel_free(store->gpu_channel);
}

void store_close(struct store *store)
{
    (void)rbwp_gpu_device_close(store->device);
}

/* ---- blocks -------------------------------------------------------------------------------- */

bool store_clear(struct store *store, struct block *block, size_t cells)
{
    static const double zero;
    const struct rbwp_gpu_transfer fill = {.size = sizeof fill,
                                           .what = {.size = sizeof fill.what,
                                                    .kind = RBWP_TRANSFER_FILL,
                                                    .dimensions = 1,
                                                    .element_bytes = sizeof zero,
                                                    .extent = {cells},
                                                    .fill = &zero},
                                           .target = block->buffer};
    return !store->device ||
           rbwp_gpu_channel_submit(store->gpu_channel, &fill, NULL, NULL) == RBWP_OK;
}

bool store_host_block(size_t cells, struct block *block_out)
{
    *block_out = (struct block){.memory = calloc(cells, sizeof(double))};
    return block_out->memory != NULL;
}

bool store_block(struct store *store, size_t cells, struct block *block_out)
{
    if (!store->device)
        return store_host_block(cells, block_out);
    *block_out = (struct block){.store = store};
    return rbwp_gpu_buffer_alloc(store->device, cells * sizeof(double), &block_out->buffer, NULL) ==
           RBWP_OK;
}

void store_block_free(struct block *block)
{
    free(block->memory);
    if (block->buffer.native)
        rbwp_gpu_buffer_free(block->store->device, &block->buffer);
}

/* ---- other stores -------------------------------------------------------------------------- */

enum store_way store_way(struct store *from, struct store *to)
{
    bool direct = false;
    if (from == to || !from->device)
        return WAY_NEAR;
    if (rbwp_gpu_peer_enable(from->device, to->device, &direct, NULL) != RBWP_OK)
        return WAY_HOST;
    return !direct ? WAY_STAGED : from->ordinal == to->ordinal ? WAY_NEAR : WAY_PEER;
}

bool store_share(struct block *block, struct rbwp_gpu_share *share_out, struct rbwp_error *error)
{
    return rbwp_gpu_buffer_share(block->store->device, &block->buffer, share_out, error) == RBWP_OK;
}

bool store_take(struct store *store, const struct rbwp_gpu_share *share, struct block *block_out,
                struct rbwp_error *error)
{
    *block_out = (struct block){.store = store};
    return rbwp_gpu_buffer_open(store->device, share, &block_out->buffer, error) == RBWP_OK;
}

void store_give_back(struct block *block)
{
    rbwp_gpu_buffer_close(block->store->device, &block->buffer);
}

/* ---- moves ---------------------------------------------------------------------------------- */

/* The side of a transfer that is in memory. */
static struct rbwp_transfer_place side_of(struct place place, bool is_source)
{
    const int64_t cell_bytes = sizeof(double);
    struct rbwp_transfer_place side = {.stride_bytes = {cell_bytes, place.pitch * cell_bytes}};
    if (place.block->memory)
        side.memory = place.block->memory + place.first;
    if (is_source && place.pitch == 0)
        side.stride_bytes[0] = side.stride_bytes[1] = RBWP_STRIDE_FIXED;
    return side;
}

static bool store_submit(struct store *store, const struct rbwp_transfer *what, struct place target,
                         struct place source, struct rbwp_error *error)
{
    if (!store->device)
        return rbwp_channel_submit(store->channel, what, NULL, error) == RBWP_OK;
    const struct rbwp_gpu_transfer transfer = {
        .size = sizeof transfer,
        .what = *what,
        .source = source.block->buffer,
        .target = target.block->buffer,
        .source_offset_bytes = source.block->memory ? 0 : source.first * sizeof(double),
        .target_offset_bytes = target.block->memory ? 0 : target.first * sizeof(double),
        .source_device = source.block->store ? source.block->store->device : NULL,
        .target_device = target.block->store ? target.block->store->device : NULL};
    return rbwp_gpu_channel_submit(store->gpu_channel, &transfer, NULL, error) == RBWP_OK;
}

bool store_copy(struct store *store, int64_t width, int64_t height, struct place target,
                struct place source, rbwp_transfer_done_fn done, void *argument,
                struct rbwp_error *error)
{
    const struct rbwp_transfer what = {.size = sizeof what,
                                       .kind = RBWP_TRANSFER_COPY,
                                       .dimensions = 2,
                                       .element_bytes = sizeof(double),
                                       .extent = {(uint64_t)width, (uint64_t)height},
                                       .source = side_of(source, true),
                                       .target = side_of(target, false),
                                       .done = done,
                                       .argument = argument};
    return store_submit(store, &what, target, source, error);
}

bool store_reduce(struct store *store, enum rbwp_reduce_op op, int64_t width, int64_t height,
                  struct place target, struct place source, rbwp_transfer_done_fn done,
                  void *argument, struct rbwp_error *error)
{
    const struct rbwp_transfer what = {.size = sizeof what,
                                       .kind = RBWP_TRANSFER_REDUCE,
                                       .dimensions = 2,
                                       .element_bytes = sizeof(double),
                                       .extent = {(uint64_t)width, (uint64_t)height},
                                       .source = side_of(source, true),
                                       .target = side_of(target, false),
                                       .reduce_op = op,
                                       .reduce_type = RBWP_REDUCE_F64,
                                       .done = done,
                                       .argument = argument};
    return store_submit(store, &what, target, source, error);
}
