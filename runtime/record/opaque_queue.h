/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opaque_queue.h - opaque blocks on their way to the writer thread, a bounded amount of them.
 */
#ifndef OPAQUE_QUEUE_H
#define OPAQUE_QUEUE_H

#include "record_extend.h"

#include <pthread.h>

struct opaque_block {
    struct opaque_block *next;
    char tag[4];
    uint32_t size_bytes;
    char data[];
};

struct opaque_queue {
    pthread_mutex_t lock; /* guards all below; innermost */
    struct opaque_block *first, *last;
    uint64_t bytes;
};

void opaque_queue_init(struct opaque_queue *queue);
void opaque_queue_free(struct opaque_queue *queue);

/* Copies a block to the end. RBWP_E_LIMIT at RBWP_EXTEND_BYTES_MAX, RBWP_E_INVALID (tag),
 * RBWP_E_MEMORY. */
enum rbwp_status opaque_queue_push(struct opaque_queue *queue, const char tag[4], const void *data,
                                   uint32_t size_bytes);

/* Takes the oldest block, to be freed; NULL if there is none. */
struct opaque_block *opaque_queue_pop(struct opaque_queue *queue);

#endif /* OPAQUE_QUEUE_H */
