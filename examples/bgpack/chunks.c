/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chunks.c - the chunks that the stages of packing hand to each other.
 *
 * Lists under one lock: a chunk is a megabyte of work, so its hand-over need
 * not be cheap.
 */
#include "chunks.h"

#include <stdlib.h>

bool chunks_make(struct chunks *chunks, unsigned count, size_t packed_room)
{
    *chunks = (struct chunks){.count = 0};
    chunks->full_last = &chunks->full;
    pthread_mutex_init(&chunks->lock, NULL);
    while (chunks->count < count) {
        struct chunk *chunk = malloc(sizeof *chunk);
        uint8_t *packed = malloc(packed_room);
        if (!chunk || !packed) {
            free(chunk);
            free(packed);
            chunks_free(chunks);
            return false;
        }
        chunk->packed = packed;
        chunk->packed_room = packed_room;
        chunk->next = chunks->free;
        chunks->free = chunk;
        chunks->count++;
    }
    return true;
}

static void free_list(struct chunk *chunk)
{
    while (chunk) {
        struct chunk *next = chunk->next;
        free(chunk->packed);
        free(chunk);
        chunk = next;
    }
}

void chunks_free(struct chunks *chunks)
{
    free_list(chunks->free);
    free_list(chunks->full);
    free_list(chunks->packed);
    pthread_mutex_destroy(&chunks->lock);
}

struct chunk *chunks_take_free(struct chunks *chunks)
{
    pthread_mutex_lock(&chunks->lock);
    struct chunk *chunk = chunks->free;
    if (chunk) {
        chunks->free = chunk->next;
        chunks->in_use++;
    }
    pthread_mutex_unlock(&chunks->lock);
    return chunk;
}

struct chunk *chunks_take_full(struct chunks *chunks)
{
    pthread_mutex_lock(&chunks->lock);
    struct chunk *chunk = chunks->full;
    if (chunk && !(chunks->full = chunk->next))
        chunks->full_last = &chunks->full;
    pthread_mutex_unlock(&chunks->lock);
    return chunk;
}

struct chunk *chunks_take_packed(struct chunks *chunks, uint64_t number)
{
    pthread_mutex_lock(&chunks->lock);
    struct chunk *chunk = chunks->packed;
    if (chunk && chunk->number == number)
        chunks->packed = chunk->next;
    else
        chunk = NULL;
    pthread_mutex_unlock(&chunks->lock);
    return chunk;
}

void chunks_put_free(struct chunks *chunks, struct chunk *chunk)
{
    pthread_mutex_lock(&chunks->lock);
    chunk->next = chunks->free;
    chunks->free = chunk;
    chunks->in_use--;
    pthread_mutex_unlock(&chunks->lock);
}

void chunks_put_full(struct chunks *chunks, struct chunk *chunk)
{
    pthread_mutex_lock(&chunks->lock);
    chunk->next = NULL;
    *chunks->full_last = chunk;
    chunks->full_last = &chunk->next;
    pthread_mutex_unlock(&chunks->lock);
}

void chunks_put_packed(struct chunks *chunks, struct chunk *chunk)
{
    pthread_mutex_lock(&chunks->lock);
    struct chunk **link = &chunks->packed;
    while (*link && (*link)->number < chunk->number)
        link = &(*link)->next;
    chunk->next = *link;
    *link = chunk;
    pthread_mutex_unlock(&chunks->lock);
}

bool chunks_are_idle(struct chunks *chunks)
{
    pthread_mutex_lock(&chunks->lock);
    const bool idle = chunks->in_use == 0;
    pthread_mutex_unlock(&chunks->lock);
    return idle;
}
