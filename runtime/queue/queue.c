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

static inline void write_row(const struct rbwp_ticket *ticket, uint64_t ticks)
{
    struct held_row row;
    if (!row_hold(table, &row))
        return;
    row.cells[ENQUEUED_COLUMN] = ticket->ticks < ticks ? ticket->ticks : ticks;
    row.cells[BEGUN_COLUMN] = ticks;
    row.cells[THREAD_COLUMN] = rbwp_extend_thread();
    row.cells[SLOT_COLUMN] = ticket->slot;
    row.cells[FROM_COLUMN] = ticket->thread;
    row_hold_commit(&row);
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
    pthread_once(&once, prepare);
    if (!table || !rbwp_enter_(self, 1))
        return;
    write_row(ticket, ticks);
    rbwp_leave_(self);
}
