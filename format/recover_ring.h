/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recover_ring.h - the blocks in a live file's ring into the result, oldest first, and what is to
 * be said of those that are not there any more.
 */
#ifndef RECOVER_RING_H
#define RECOVER_RING_H

#include "live_file.h"
#include "live_log.h"
#include "recover_tail.h"
#include "row_block.h"

/* ---- recover rows ---------------------------------------------------------------------------- */
/*
 * Rows of tables that only the live file has, into the result.
 *
 * Is shown the blocks of FILE that are kept, so that it knows which schemas, names and rows are
 * there already; adds what the rows of a chunk need, and the rows.
 */

/* Zeros are a valid start. */
struct recover_rows {
    const struct live_tables *tables;
    const struct live_clock *clock; /* has a sample where there is a chunk */
    struct rbwp_writer *writer;
    size_t chunk_words;
    struct rbwp_catalog *catalog; /* of FILE */
    uint64_t *last_row;           /* in the result, by table */
    bool *has_schema;             /* the same */
    uint64_t last_name;           /* the same */
    bool names_done;              /* those of the live file are in it */
    struct row_block block;
    uint64_t *cells;
};
void recover_rows_free(struct recover_rows *rows);

/* A block of FILE that is kept. RBWP_E_MEMORY. */
enum rbwp_status recover_rows_note(struct recover_rows *rows, const struct rbwp_block *block);

/* The blocks of FILE are done; chunks have so many words. */
void recover_rows_begin(struct recover_rows *rows, const struct live_tables *tables,
                        const struct live_clock *clock, size_t chunk_words,
                        struct rbwp_writer *writer);

/* What a block of rows needs before it, which is copied as it is: so many rows from first_row on.
 * *usable_out: its table is known, and the rows come behind those in the result. As
 * rbwp_writer_add_block; RBWP_E_MEMORY. */
enum rbwp_status recover_rows_precede(struct recover_rows *rows, uint32_t table, uint64_t first_row,
                                      uint32_t count, bool *usable_out);

/*
 * The rows of a chunk, count words of them, behind all that is in the result. *damaged_out: some or
 * all of them cannot be rows of a table that is known. *rows_out are those that were written. As
 * rbwp_writer_add_block; RBWP_E_MEMORY.
 */
enum rbwp_status recover_rows_add(struct recover_rows *rows, const struct live_chunk *chunk,
                                  const uint64_t *words, size_t count, uint64_t *rows_out,
                                  bool *damaged_out);

/* ---- recover ring ---------------------------------------------------------------------------- */

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
