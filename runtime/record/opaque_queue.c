/* SPDX-License-Identifier: Apache-2.0 */
#include "opaque_queue.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

void opaque_queue_init(struct opaque_queue *queue)
{
    *queue = (struct opaque_queue){0};
    pthread_mutex_init(&queue->lock, NULL);
}

void opaque_queue_free(struct opaque_queue *queue)
{
    for (struct opaque_block *block; (block = opaque_queue_pop(queue));)
        free(block);
    pthread_mutex_destroy(&queue->lock);
}

enum rbwp_status opaque_queue_push(struct opaque_queue *queue, const char tag[4], const void *data,
                                   uint32_t size_bytes)
{
    if (!isascii(tag[0]) || !isalpha((unsigned char)tag[0])) /* the writer looks at the others */
        return RBWP_E_INVALID;
    struct opaque_block *block = malloc(sizeof *block + size_bytes);
    if (!block)
        return RBWP_E_MEMORY;
    block->next = NULL;
    block->size_bytes = size_bytes;
    memcpy(block->tag, tag, 4);
    memcpy(block->data, data, size_bytes);

    pthread_mutex_lock(&queue->lock);
    bool fits = queue->bytes + size_bytes <= RBWP_EXTEND_BYTES_MAX;
    if (fits) {
        *(queue->last ? &queue->last->next : &queue->first) = block;
        queue->last = block;
        queue->bytes += size_bytes;
    }
    pthread_mutex_unlock(&queue->lock);
    if (!fits)
        free(block);
    return fits ? RBWP_OK : RBWP_E_LIMIT;
}

struct opaque_block *opaque_queue_pop(struct opaque_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    struct opaque_block *block = queue->first;
    if (block) {
        queue->first = block->next;
        queue->last = block->next ? queue->last : NULL;
        queue->bytes -= block->size_bytes;
    }
    pthread_mutex_unlock(&queue->lock);
    return block;
}
