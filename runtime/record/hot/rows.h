/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rows.h - the rows of tables that threads write (rbwp_rows.h), on their way to the drain.
 *
 * For each table that it writes to, a thread has a chunk of the session's pool, row by row from its
 * first word on; the chunk's head, in the live file, says how many there are, and is set last. Full
 * ones, and all of them when the thread or the session ends, go the way of any chunk (drain.h).
 * Chunks of rows are apart from those of records, so what an empty item takes back is never a row.
 */
#ifndef ROWS_H
#define ROWS_H

#include "thread_registry.h"

/* All rows of the thread to the drain. As record_hand_over. */
void rows_hand_over(struct thread *thread);
/* The same for those of threads that are not attached, and shared ones; recording has ended then.
 */
void rows_hand_over_strays(void);

/* A row that the thread's inlined call has begun and not counted is elided. */
void rows_leave_call(struct thread *thread);

/* Counts what was lost on a thread that is not attached: with its rows, as of no thread. */
void rows_lose_stray(enum rbwp_loss_cause cause, uint64_t count);

/* Tables whose rows name their thread, and of which each has few: threads do not have a chunk each,
 * but share some. */
enum shared_table { SHARED_CALL_CPU, SHARED_THREAD_CPU, SHARED_TABLES };
/* Once in a process, before the first row. */
void rows_share(enum shared_table at, unsigned table);
/* In a recording call, or with the registry locked. False: there was no room, or others are at all
 * of them; nothing is counted. Never waits. */
bool rows_add_shared(enum shared_table at, const uint64_t *cells);

#endif /* ROWS_H */
