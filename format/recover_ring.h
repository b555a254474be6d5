/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recover_ring.h - the blocks in a live file's ring into the result, oldest first, and what is to
 * be said of those that are not there any more.
 */
#ifndef RECOVER_RING_H
#define RECOVER_RING_H

#include "live_file.h"
#include "recover_rows.h"
#include "recover_tail.h"

struct recover_ring {
    const struct live_file *live;
    struct rbwp_writer *writer;
    struct recover_tail *tail;
    struct recover_rows *rows;
    struct live_ring_facts facts; /* as of live->commit */
    int64_t since_ns;             /* what had ended by then is dropped; INT64_MIN: nothing is */
    void (*passed)(void *context, uint64_t number); /* of live_ring_walk; may be NULL */
    void *context;

    /* What came of it. */
    struct rbwp_kept kept;
    uint64_t last_ticket; /* and all that had come into the ring by then */
    uint64_t ever_records, ever_rows, ever_bytes;
    uint64_t blocks, records, row_count, bytes; /* in the result */
    uint64_t damaged;
    bool fine; /* there are sub-items */
    bool has_sequence;
    uint32_t sequence; /* the latest one */
};

/* RBWP_E_IO, RBWP_E_MEMORY; as rbwp_writer_add_block: *sink_out is true then. */
enum rbwp_status recover_ring_copy(struct recover_ring *ring, bool *sink_out,
                                   struct rbwp_error *error);

#endif /* RECOVER_RING_H */
