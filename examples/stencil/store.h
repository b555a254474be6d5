/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store.h - where a node's cells are, and how they move: in memory, by a channel, or on a GPU, by a
 * GPU channel.
 *
 * Whatever is submitted to a store is carried out in order.
 */
#ifndef STORE_H
#define STORE_H

#include "rbwp_gpu_channel.h"

struct store {
    struct rbwp_channel *channel; /* without a GPU */
    struct rbwp_gpu_device *device;
    struct rbwp_gpu_channel *gpu_channel;
    char name[160]; /* of what it is on */
};

/* Cells, packed: in memory, or in the GPU's where memory is NULL. */
struct block {
    double *memory;
    struct rbwp_gpu_buffer buffer;
};

/* A rectangle's first cell in a block, and how many cells further the next row begins. */
struct place {
    const struct block *block;
    size_t first;
    int64_t pitch;
};

/* For node number of the job. api: RBWP_GPU_..., -1 for any GPU, -2 for none; nodes take turns with
 * the GPUs that there are. */
bool store_open(struct store *store, struct rbwp_work_manager *manager, unsigned number, int api,
                struct rbwp_error *error);
/* Nothing moves any more. */
void store_stop(struct store *store);
/* When no block is left. */
void store_close(struct store *store);

/* Blocks of zeros. A block for messages is in memory in any case. */
bool store_block(struct store *store, size_t cells, bool for_messages, struct block *block_out);
void store_block_free(struct store *store, struct block *block);

bool store_copy(struct store *store, int64_t width, int64_t height, struct place target,
                struct place source, rbwp_transfer_done_fn done, void *argument,
                struct rbwp_error *error);
/* target = target op source, on a GPU; a source of pitch 0 is the same cell for all. */
bool store_reduce(struct store *store, enum rbwp_reduce_op op, int64_t width, int64_t height,
                  struct place target, struct place source, rbwp_transfer_done_fn done,
                  void *argument, struct rbwp_error *error);

#endif /* STORE_H */
