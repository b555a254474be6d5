/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_ring.h - the blocks in the ring of a live file, oldest first.
 *
 * Its process may go on: it fills the ring behind what is read, and takes segments away before it.
 * A segment is copied, and counts if it is still the same one then. That nothing is missing behind
 * one that counted, the process must leave alone what was not passed: it can be told how far that
 * is.
 */
#ifndef LIVE_RING_H
#define LIVE_RING_H

#include "live_file.h"

struct live_ring_part { /* a segment in use */
    uint64_t number, offset;
    uint32_t bytes; /* of it */
};

/* Zeros are no valid start: live_ring_open. */
struct live_ring_walk {
    const struct live_file *live;
    /* May be set, when it is open: segments up to this number will not be looked at again. */
    void (*passed)(void *context, uint64_t number);
    void *context;
    struct live_ring_part *parts;
    size_t count, capacity, next;
    bool memory_failed;
    uint8_t *bytes; /* of the segment that is read */
    size_t size, at;
    uint64_t damaged; /* segments and entries that cannot be */
    uint64_t gone;    /* segments that were used again, or emptied, before they were copied */
};

/* RBWP_E_IO, RBWP_E_MEMORY. Close in each case. */
enum rbwp_status live_ring_open(struct live_ring_walk *walk, const struct live_file *live,
                                struct rbwp_error *error);
void live_ring_close(struct live_ring_walk *walk);

/* The next entry, and where its blocks are, until the next call; false behind the last. Its sizes
 * are whole; what is in it may be anything. */
bool live_ring_next(struct live_ring_walk *walk, struct live_ring_entry *entry_out,
                    const uint8_t **blocks_out, size_t *size_out);

/* The next block of so many bytes of blocks, which move behind it. False: there is none, or it
 * cannot be. */
bool live_ring_block(const uint8_t **blocks, size_t *size, struct live_ring_block *block_out,
                     const uint8_t **bytes_out);

#endif /* LIVE_RING_H */
