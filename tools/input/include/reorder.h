/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reorder.h - blocks of each thread in sequence order.
 *
 * Writers number blocks when they begin them and write them when they are
 * full. The blocks of one thread are therefore normally in order in the file,
 * but nothing in the format says so. This window keeps copies of the last
 * REORDER_BLOCKS blocks (at most REORDER_BYTES of data) and passes them on in
 * sequence order per thread. A block that comes later than that is passed on
 * where it stands, marked late, and counted.
 *
 * The order between threads is not changed more than needed, and numbers that
 * are missing are not waited for: they are no proof of a loss.
 */
#ifndef REORDER_H
#define REORDER_H

#include "rbwp_reader.h"
#include "thread_map.h"

#define REORDER_BLOCKS 64
#define REORDER_BYTES (32u << 20)

typedef void reorder_fn(void *context, const struct rbwp_block *block, bool late);

struct reorder_entry {
    struct rbwp_block block;
    uint8_t *data;
};

struct reorder_thread {
    bool seen;
    uint32_t last_sequence;
};

struct reorder {
    reorder_fn *pass;
    void *context;
    struct reorder_entry window[REORDER_BLOCKS]; /* oldest arrival first */
    unsigned count;
    size_t bytes;
    struct thread_map threads;
    struct reorder_thread *last; /* by thread: what was passed on last */
    uint32_t last_capacity;
    uint64_t late_blocks;
};

void reorder_start(struct reorder *reorder, reorder_fn *pass, void *context);
/* Takes a copy of the block. False when out of memory; the block is then lost. */
bool reorder_push(struct reorder *reorder, const struct rbwp_block *block);
/* Passes on all that is held. */
void reorder_flush(struct reorder *reorder);
/* The same; what comes then may have numbers of its own. */
void reorder_next_file(struct reorder *reorder);
void reorder_stop(struct reorder *reorder);

#endif /* REORDER_H */
