/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chunks.h - the chunks that the stages of packing hand to each other.
 *
 *     free -> filled by the reader -> full -> compressed -> packed -> written -> free
 *
 * There is a fixed number of them, which is all the memory that packing takes.
 * Chunk n becomes gzip member n of the archive.
 */
#ifndef CHUNKS_H
#define CHUNKS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CHUNK_BYTES = 1 << 20 };

struct chunk {
    struct chunk *next; /* in the list it is in; guarded by the chunks' lock */
    /* The rest belongs to the stage that took the chunk out of a list. */
    uint64_t number; /* 0, 1, 2 ... in the order of the archive */
    size_t plain_bytes, packed_bytes, packed_room;
    uint8_t *packed;
    void *owner; /* for whom it is being written */
    uint8_t plain[CHUNK_BYTES];
};

struct chunks {
    pthread_mutex_t lock; /* guards the lists; held for a few instructions, nothing taken inside */
    struct chunk *free;
    struct chunk *full, **full_last;
    struct chunk *packed; /* by number */
    unsigned count, in_use;
};

/* False without memory. */
bool chunks_make(struct chunks *chunks, unsigned count, size_t packed_room);
void chunks_free(struct chunks *chunks);

/* Each take returns NULL when there is none. */
struct chunk *chunks_take_free(struct chunks *chunks);
struct chunk *chunks_take_full(struct chunks *chunks);
struct chunk *chunks_take_packed(struct chunks *chunks, uint64_t number);

void chunks_put_free(struct chunks *chunks, struct chunk *chunk);
void chunks_put_full(struct chunks *chunks, struct chunk *chunk);
void chunks_put_packed(struct chunks *chunks, struct chunk *chunk);

/* True when every chunk is free. */
bool chunks_are_idle(struct chunks *chunks);

#endif /* CHUNKS_H */
