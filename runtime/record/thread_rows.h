/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_rows.h - what a thread has for the rows that it writes (rows.h): a place for each table.
 */
#ifndef THREAD_ROWS_H
#define THREAD_ROWS_H

#include "row_hold.h"
#include "thread_registry.h"

struct row_table;

/* Where a thread writes the rows of one table. */
struct row_place {
    struct held_place held;
    struct row_table *table;
    struct chunk *chunk; /* NULL: none */
    uint64_t **room;     /* where the rows of each column begin that were reserved; NULL: never */
};

/* The thread's place for a table, made when there is none. NULL without memory. */
struct row_place *thread_rows_place(struct thread *thread, unsigned number, struct row_table *table,
                                    uint32_t columns);
/* Its chunk is gone, or is another's. */
static inline void thread_rows_let_go(struct row_place *place)
{
    place->chunk = NULL;
    place->held.left = 0;
    place->held.fill = HELD_BY_NONE;
}
/* Forgets what the thread holds of a session, which is gone. */
void thread_rows_forget(struct thread *thread);
/* Frees all places; their rows have been handed over. */
void thread_rows_free(struct thread *thread);

/* Stands for all threads that are not attached: their places, and what was lost of their rows. The
 * first are guarded by a lock in rows.c, the losses as any thread's. */
extern struct thread thread_rows_strays;

#endif /* THREAD_ROWS_H */
