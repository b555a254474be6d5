/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_rows.h - what a thread has for the rows that it writes (rows.h): a place for each table.
 */
#ifndef THREAD_ROWS_H
#define THREAD_ROWS_H

#include "record_extend.h"
#include "thread_registry.h"

struct row_table;

/* Where a thread writes the rows of one table. */
struct row_place {
    struct rbwp_place_ *held; /* here, or where the thread's inlined calls find it */
    struct rbwp_place_ here;
    uint32_t columns;
    struct row_table *table;
    void (*leaves)(void); /* called before held rows go, if their thread sends them; may be NULL */
    struct chunk *chunk;  /* NULL: none */
    uint64_t **room;      /* where the rows of each column begin that were reserved; NULL: never */
};

/* The thread's place for a table, made when there is none. NULL without memory. */
struct row_place *thread_rows_place(struct thread *thread, unsigned number, struct row_table *table,
                                    uint32_t columns);
static inline uint64_t *thread_rows_take(struct row_place *place)
{
    return rbwp_place_take_(place->held, place->columns);
}
/* The calling thread's inlined calls find its place in own from now on, if not too many places are
 * shown already. */
void thread_rows_show(struct thread *thread, struct row_place *place, struct rbwp_place_ *own,
                      enum rule_watch watch);
/* Takes that back. Own thread. */
void thread_rows_hide_one(struct row_place *place);
/* All of them: the thread, which is to be detached, has handed over its rows. Registry locked. */
void thread_rows_hide(struct thread *thread);
/* Takes the room of those that such rules are about. Any thread, registry locked. */
void thread_rows_slow(struct thread *thread, enum rule_watch watch);
/* Others may store 0 there meanwhile (thread_rows_slow). */
static inline void thread_rows_set_max(struct rbwp_place_ *held, uint64_t rows_max)
{
    __atomic_store_n(&held->rows_max, rows_max, __ATOMIC_RELAXED);
}
/* Its chunk is gone, or is another's. */
static inline void thread_rows_let_go(struct row_place *place)
{
    place->chunk = NULL;
    thread_rows_set_max(place->held, place->held->rows);
    place->held->fill = HELD_BY_NONE;
}
/* Forgets what the thread holds of a session, which is gone. */
void thread_rows_forget(struct thread *thread);
/* Frees all places; their rows have been handed over. */
void thread_rows_free(struct thread *thread);

/* Stands for all threads that are not attached: their places, and what was lost of their rows. The
 * first are guarded by a lock in rows.c, the losses as any thread's. */
extern struct thread thread_rows_strays;

#endif /* THREAD_ROWS_H */
