/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drain.h - from published chunks to the file.
 *
 *     recording threads          writer thread, helpers          writer thread
 *     drain_publish  --stack-->  queue --take, encode--> jobs  --in order-->  file
 *
 * Publishing takes no lock. A chunk that is taken gets a ticket; encoding runs
 * in parallel; finished jobs are written in ticket order, so the blocks of a
 * thread stand in the file in the order in which they were recorded. Only the
 * writer thread touches the disk; while it is held back (helper_thread.h) the
 * recording thread writes each chunk as it publishes it. A recording thread near the cap helps to
 * encode, and so does whoever stops the session. A chunk is free when it is in the file.
 */
#ifndef DRAIN_H
#define DRAIN_H

#include "chunk_encoder.h"
#include "session_config.h"

struct chunk_pool;
struct drain;
struct ring;

struct drain_totals {
    uint64_t discarded;      /* items that left no trace */
    struct rbwp_error error; /* the first trouble with the file */
};

/* Starts the writer thread. With a ring, blocks go into it, and none to the file. The pool, time
 * line, writer and ring stay the caller's and outlive the drain. */
enum rbwp_status drain_start(const struct session_settings *settings, struct chunk_pool *pool,
                             struct shared_timeline *timeline, struct rbwp_writer *writer,
                             struct ring *ring, struct drain **drain_out);

/* Called by the writer thread between two pieces of its work, and while it has none: in how many ns
 * again, at the latest. */
typedef int64_t drain_visit_fn(void);
#define DRAIN_VISIT_NEVER INT64_MAX
void drain_set_visit(struct drain *drain, drain_visit_fn *visit);

/* Called where the clock goes into the live file, which is once a second, more often at first. */
extern void (*_Atomic drain_on_clock)(void);

/* Queues a filled chunk, and writes it where there is no writer thread yet. Any thread,
 * async-signal-safe. */
void drain_publish(struct drain *drain, struct chunk *chunk);

/*
 * Sees to it that chunks with rows can be encoded, before the first one of the session is
 * published. False: no memory. Allocates, takes a lock.
 */
bool drain_prepare_rows(struct drain *drain);

/* Encodes one queued chunk on the calling thread. False if there was none, or no encoder free. */
bool drain_help(struct drain *drain);

/*
 * Waits a moment for chunks to be freed. False when the writer has made no progress for the
 * session's stall time: *waiting_since is 0 at the first call of a series.
 */
bool drain_wait(struct drain *drain, int64_t *waiting_since);

/* Where there is no writer thread yet: another sample of the clock, also for the live file. */
void drain_look(struct drain *drain);

void drain_count_discarded(struct drain *drain, uint64_t items);

/* Encodes and writes all that was published, ends the writer thread. */
void drain_finish(struct drain *drain, struct drain_totals *totals_out);
/* Behind that, or of a drain that is not there. */
void drain_free(struct drain *drain);

/* At most so many records are published and not written; UINT64_MAX: that is not known now. For
 * who does not wait. */
uint64_t drain_unwritten(struct drain *drain);

#endif /* DRAIN_H */
