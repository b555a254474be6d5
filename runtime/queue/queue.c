/* SPDX-License-Identifier: Apache-2.0 */
/*
 * queue.c - the rows of the table "queued". A ticket is all that is kept of work that waits, and
 * lies with the work; what it took from where is told once, when the work begins.
 */
#include "rbwp_queue.h"

#include "record_extend.h"
#include "row_hold.h"

#include <pthread.h>

static const struct rbwp_column queued_columns[] = {
    RBWP_COLUMN(TIME, START, "enqueued", ""), RBWP_COLUMN(TIME, STOP, "begun", ""),
    RBWP_COLUMN(U64, THREAD, "thread", ""),   RBWP_COLUMN(U64, NONE, "slot", ""),
    RBWP_COLUMN(U64, NONE, "from", ""),
};
static const struct rbwp_schema queued_schema = RBWP_SCHEMA("queued", 1, queued_columns);
enum { ENQUEUED_COLUMN, BEGUN_COLUMN, THREAD_COLUMN, SLOT_COLUMN, FROM_COLUMN, COLUMNS };
_Static_assert(sizeof queued_columns / sizeof queued_columns[0] == COLUMNS, "a cell a column");

static pthread_once_t once = PTHREAD_ONCE_INIT;
static unsigned table; /* 0: could not be made known */

static void prepare(void)
{
    unsigned number;
    if (row_hold_register(&queued_schema, &number) == RBWP_OK)
        table = number;
}

uint64_t rbwp_queue_thread_(void)
{
    return rbwp_extend_thread();
}

static inline void fill(uint64_t *cells, uint64_t thread, const struct rbwp_ticket *ticket,
                        uint64_t ticks)
{
    cells[ENQUEUED_COLUMN] = ticket->ticks < ticks ? ticket->ticks : ticks;
    cells[BEGUN_COLUMN] = ticks;
    cells[THREAD_COLUMN] = thread;
    cells[SLOT_COLUMN] = ticket->slot;
    cells[FROM_COLUMN] = ticket->thread;
}

/* The thread's first row of a session, or of a chunk. */
static __attribute__((noinline)) void write_first(const struct rbwp_ticket *ticket, uint64_t ticks)
{
    struct held_row row;
    if (!table || !row_hold(table, &row))
        return;
    fill(row.cells, rbwp_extend_thread(), ticket, ticks);
    row_hold_commit(&row);
    row_hold_keep(table, HELD_QUEUED);
}

void rbwp_queued_(unsigned slot, const struct rbwp_ticket *ticket, uint64_t ticks)
{
    struct rbwp_self_ *self = &rbwp_self_;
    /* What begins inside an open item, or nowhere, is counted by the begin. */
    if (!self->thread || self->item)
        return;
    if (ticket->slot != slot) {
        rbwp_extend_loss(RBWP_LOSS_RANGE, 1);
        return;
    }
    if (!row_hold_own.place[HELD_QUEUED])
        pthread_once(&once, prepare);
    if (!rbwp_enter_(self, 1))
        return;
    struct held_place *place = row_hold_own.place[HELD_QUEUED];
    if (__builtin_expect(place && place->left, 1)) {
        fill(row_hold_take(place), row_hold_own.thread_id, ticket, ticks);
        row_hold_count(place);
    } else {
        write_first(ticket, ticks);
    }
    rbwp_leave_(self);
}
