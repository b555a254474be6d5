/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chunk_pool.h - the memory that recording threads fill.
 *
 * A chunk is an array of event words (rbwp_record.h) that belongs to one
 * thread from chunk_get until it is published, then to whoever drains it,
 * who clears it and puts it back. The pool counts chunks in use against the
 * cap. Getting and putting take no lock; memory comes in segments that stay
 * until the session ends: of the live file, or, where there is none, anonymous.
 * The first segments are small, so that a session that records little holds little.
 *
 * The live file is a shared mapping that others may reach: nothing is kept
 * there that the process goes by. struct chunk is private; of what lies in the
 * mapping only the event words are ever read, and they may be anything.
 *
 * The words of a free chunk are all 0, and a filled chunk's words are 0 from
 * its last event on, so that whoever finds the memory after a crash knows
 * where the events end. Of a chunk with rows the head says how many there are.
 */
#ifndef CHUNK_POOL_H
#define CHUNK_POOL_H

#include "live_layout.h"

#include <stdatomic.h>

struct row_table;
struct thread;

struct chunk {
    struct live_chunk_head *head; /* what is found after a crash; written, never read */
    uint64_t *words;              /* behind it, a cache line of their own */
    uint64_t base_ticks;          /* events hold ticks since this */

    struct chunk *next;         /* in whichever list holds it; owner of the list */
    struct thread *thread;      /* who filled it; set by chunk_get's caller */
    uint64_t end_ticks;         /* where the thread's next chunk begins; UINT64_MAX for its last */
    uint16_t epoch, end_epoch;  /* of the clock: of base_ticks, and of end_ticks */
    uint32_t used;              /* words with events or rows, set when published */
    uint32_t open;              /* items behind its last event, set when it is full or published */
    uint32_t rows;              /* of the table, so far */
    struct row_table *table;    /* whose rows it has; NULL: it has events */
    uint32_t index;             /* in the pool, never changes */
    _Atomic uint32_t next_free; /* index + 1 of the next free chunk, 0 none */
    bool unprotected;           /* its memory is not the live file's; never changes */
    uint64_t file_offset;       /* where it is in that, if it is; likewise */
};

#define CHUNK_OPEN_UNKNOWN UINT32_MAX

/* A chunk that is filled from now on, in time from base_ticks. */
static inline void chunk_begin(struct chunk *chunk, uint64_t thread_id, uint64_t base_ticks)
{
    __atomic_store_n(&chunk->base_ticks, base_ticks, __ATOMIC_RELAXED); /* others may look */
    chunk->head->thread_id = thread_id;
    chunk->head->ticket = 0;
    chunk->head->base_ticks = base_ticks;
}

/* A chunk that is filled with rows of that table from now on. */
void chunk_begin_rows(struct chunk *chunk, uint64_t thread_id, uint64_t base_ticks,
                      struct row_table *table);

struct chunk_pool;

/* Below 64 MiB: it leaves little time. */
bool chunk_pool_cap_is_small(const struct chunk_pool *pool);
/* A quarter of the cap is in use, or 256 MiB; of a small cap what is near it. A glance. */
bool chunk_pool_use_is_large(const struct chunk_pool *pool);

/* Half of the cap is in use, or all but 16 chunks of it: who records has to help. A glance. */
bool chunk_pool_is_near_cap(const struct chunk_pool *pool);

/* cap_bytes 0 = unlimited. NULL without memory. */
struct chunk_pool *chunk_pool_new(uint64_t cap_bytes);
void chunk_pool_free(struct chunk_pool *pool);

uint32_t chunk_words(const struct chunk_pool *pool);
size_t chunk_bytes(const struct chunk_pool *pool);

/*
 * An empty chunk. RBWP_AGAIN at the cap (never with beyond_cap), RBWP_E_MEMORY. Any thread; no
 * lock, but a system call when fresh memory is needed.
 */
enum rbwp_status chunk_get(struct chunk_pool *pool, bool beyond_cap, struct chunk **chunk_out);

/* The same for rows, which have half of what is below the cap: records always find their part.
 * RBWP_E_BUSY: all are being filled, so that waiting may be in vain. */
enum rbwp_status chunk_get_for_rows(struct chunk_pool *pool, bool beyond_cap,
                                    struct chunk **chunk_out);
/* A chunk of rows is going to be published. */
void chunk_rows_published(struct chunk_pool *pool);
/* Chunks that were handed out for rows. */
uint32_t chunk_pool_rows_in_use(const struct chunk_pool *pool);

/* Clears the used words and gives the chunk back. Any thread. */
void chunk_put(struct chunk_pool *pool, struct chunk *chunk, uint32_t used);

/* Makes fresh chunks until there are as many free ones as the use of the pool calls for, so that
 * recording threads need not. With stopping it rests between two of them, so that nobody is kept
 * from his CPU for all of them in a row, and ends early once that is true. */
void chunk_pool_stock(struct chunk_pool *pool, const atomic_bool *stopping);
/* Waits until the stock is low, or for chunk_pool_ask. One thread at a time. */
void chunk_pool_wait_low(struct chunk_pool *pool);

/* The chunk that has the word; NULL: none has. Any thread. */
const struct chunk *chunk_pool_find(struct chunk_pool *pool, const uint64_t *word);

/* Bytes of chunk memory that a crash would lose, since there was no room for it in a live file. */
uint64_t chunk_pool_unprotected_bytes(const struct chunk_pool *pool);

/* Most bytes in use at any time. */
uint64_t chunk_pool_peak_bytes(const struct chunk_pool *pool);

/* ---- a thread that keeps chunks in stock ----------------------------------------------------- */

/*
 * A thread that keeps fresh chunks in stock.
 *
 * Memory that nobody has touched yet costs its first user some microseconds a
 * page, and a new segment of the live file a wait for the file system. While
 * the disk keeps the writer thread waiting, what is recorded needs more and
 * more of both: so they have a thread of their own, which sleeps as long as
 * chunks come back as fast as they are taken.
 */

struct chunk_keeper;

/* NULL if there can be no such thread: recording threads then make their own chunks. The pool
 * outlives it. */
struct chunk_keeper *chunk_keeper_start(struct chunk_pool *pool);
void chunk_keeper_stop(struct chunk_keeper *keeper);

#endif /* CHUNK_POOL_H */
