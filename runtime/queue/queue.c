/* SPDX-License-Identifier: Apache-2.0 */
/*
 * queue.c - the rows of the table "queued". A ticket is all that is kept of work that waits, and
 * lies with the work; what it took from where is recorded once, when the work begins.
 */
#include "rbwp_queue.h"

#include "known_tables.h"
#include "record_extend.h"

#include <pthread.h>

static const struct rbwp_schema queued_schema = KNOWN_SCHEMA(queued);
_Static_assert((unsigned)COLUMNS_queued == RBWP_QUEUED_COLUMNS_, "a cell a column");

_Thread_local struct rbwp_place_ rbwp_own_queued_ = ROW_PLACE_NONE;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static unsigned table; /* 0: could not be made known */

static void queue_prepare(void)
{
    unsigned number;
    if (rbwp_extend_row_register(&queued_schema, &number) == RBWP_OK)
        table = number;
}

/* The thread's first row of a session, or of a chunk. */
static void write_first(const struct rbwp_ticket *ticket, uint64_t ticks)
{
    struct held_row row;
    if (!table || !row_hold(table, &row))
        return;
    rbwp_put_queued_(row.cells, rbwp_thread_number_(), ticket, ticks);
    row_hold_commit(&row);
    row_hold_keep(table, &rbwp_own_queued_, RULE_WATCH_QUEUES, NULL);
    if (rule_watch_wants(RULE_WATCH_QUEUES)) {
        rule_watch_queue((unsigned)ticket->slot, ticks > ticket->ticks ? ticks - ticket->ticks : 0);
        row_hold_slowly(table);
    }
}

void rbwp_begin_queued_(unsigned slot, const struct rbwp_ticket *ticket, uint64_t ticks)
{
    struct rbwp_self_ *self = &rbwp_self_;
    /* What begins inside an open item, or nowhere, is counted by the begin. */
    const bool counts = self->thread && !self->item, is_right = ticket->slot == slot;
    if (counts && !is_right)
        rbwp_extend_loss(RBWP_LOSS_RANGE, 1);
    else if (counts)
        pthread_once(&once, queue_prepare);
    if (!rbwp_enter_(self, 1))
        return;
    ticks = rbwp_extend_begin_ticks(ticks);
    if (counts && is_right)
        write_first(ticket, ticks);
    rbwp_put_begin_(self, slot, ticks);
    rbwp_leave_(self);
}
