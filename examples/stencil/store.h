/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store.h - where a node's cells are, and how they move: in memory, by a channel, or on a GPU, by a
 * GPU channel.
 *
 * Whatever is submitted to a store is carried out in order. What lies on another GPU, or in
 * another process, is reached by copies that the store submits which has the source.
 */
#ifndef STORE_H
#define STORE_H

#include "rbwp_gpu_channel.h"

struct store {
    struct rbwp_channel *channel; /* without a GPU */
    struct rbwp_gpu_device *device;
    struct rbwp_gpu_channel *gpu_channel;
    unsigned ordinal; /* of the GPU */
    char name[160];   /* of what it is on */
};

/* Cells, packed: in memory, or in the GPU's where memory is NULL. */
struct block {
    double *memory;
    struct rbwp_gpu_buffer buffer;
    struct store *store; /* the GPU's */
};

/* A rectangle's first cell in a block, and how many cells further the next row begins. */
struct place {
    const struct block *block;
    size_t first;
    int64_t pitch;
};

/* How many GPUs there are. api: RBWP_GPU_..., -1 for any; *api_out is the one that has them. */
bool store_gpus(int api, enum rbwp_gpu_api *api_out, unsigned *gpus_out, struct rbwp_error *error);

/* A store in memory, or on the GPU of that ordinal. The channel gets this name. */
bool store_open(struct store *store, struct rbwp_work_manager *manager, const char *name,
                struct rbwp_error *error);
bool store_open_gpu(struct store *store, struct rbwp_work_manager *manager, const char *name,
                    enum rbwp_gpu_api api, unsigned ordinal, struct rbwp_error *error);
/* Nothing moves any more. */
void store_stop(struct store *store);
/* When no block is left. */
void store_close(struct store *store);

/* Blocks of zeros in memory; on a GPU of anything. */
bool store_block(struct store *store, size_t cells, struct block *block_out);
/* One in memory in any case. */
bool store_host_block(size_t cells, struct block *block_out);
bool store_clear(struct store *store, struct block *block, size_t cells);
void store_block_free(struct block *block);

/* How cells get from one store into memory of another, or of another process. */
enum store_way {
    WAY_NEAR,   /* in one memory, a GPU's or the host's */
    WAY_PEER,   /* from GPU to GPU */
    WAY_STAGED, /* likewise, but the driver takes them through the host */
    WAY_SHARED, /* into memory of another process, on whichever GPU */
    WAY_HOST,   /* through memory of the host */
    WAYS
};
/* What is best from a store into another of this process. */
enum store_way store_way(struct store *from, struct store *to);

/* What a block on a GPU is called in other processes, and such a block of another. */
bool store_share(struct block *block, struct rbwp_gpu_share *share_out, struct rbwp_error *error);
bool store_take(struct store *store, const struct rbwp_gpu_share *share, struct block *block_out,
                struct rbwp_error *error);
void store_give_back(struct block *block);

bool store_copy(struct store *store, int64_t width, int64_t height, struct place target,
                struct place source, rbwp_transfer_done_fn done, void *argument,
                struct rbwp_error *error);
/* target = target op source, on a GPU; a source of pitch 0 is the same cell for all. */
bool store_reduce(struct store *store, enum rbwp_reduce_op op, int64_t width, int64_t height,
                  struct place target, struct place source, rbwp_transfer_done_fn done,
                  void *argument, struct rbwp_error *error);

#endif /* STORE_H */
