/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rbwp_queue.h - how long work waited before a thread took it up.
 *
 *     struct job { struct rbwp_ticket ticket; ... };
 *
 *     rbwp_enqueue(slot, &job->ticket);        where the work is handed over
 *     put(queue, job);
 *
 *     job = take(queue);                       on any thread
 *     rbwp_begin_with(slot, job->ticket);      instead of rbwp_begin(slot)
 *     do_work(job);
 *     rbwp_end();
 *
 * Each begin with a ticket is a row of the table "queued" (SPEC.md, 9.3): when it was handed over
 * and by which thread, when it began and on which one. The tools show the delay of each work item
 * and who handed it over. The work manager does this by itself at level 2 (rbwp_work.h).
 *
 * A ticket is a value: it may be copied, dropped, and used for several begins. One that was taken
 * without a session, or is all zeros, is none: the begin with it is an ordinary one. So is a begin
 * with another slot's ticket, and that is counted as misuse (RBWP_LOSS_RANGE). Rows survive a kill
 * and take memory as those of rbwp_rows.h do; one that there is no room for is lost and counted
 * (RBWP_LOSS_ROWS), the begin is not. A row of an item that then turns out to have done no work
 * (rbwp_set_worked) stays.
 *
 * Without a session a call is one predicted branch, with RBWP_DISABLE no code at all, but that the
 * ticket is emptied. Threads: enqueue on any thread, attached or not; begin as rbwp_begin.
 */
#ifndef RBWP_QUEUE_H
#define RBWP_QUEUE_H

#include "rbwp_rows.h"

RBWP_C_BEGIN_

struct rbwp_ticket {
    uint64_t ticks;  /* rbwp_now_ticks of the handing over; 0: no ticket */
    uint64_t thread; /* that handed over, as block headers name it; 0: one that is not attached */
    uint64_t slot;
};

/* Inside the library; behind the test for a session. */
enum rbwp_queued_column_ {
    RBWP_QUEUED_ENQUEUED_,
    RBWP_QUEUED_BEGUN_,
    RBWP_QUEUED_THREAD_,
    RBWP_QUEUED_SLOT_,
    RBWP_QUEUED_FROM_,
    RBWP_QUEUED_COLUMNS_
};
/* The thread's place for their rows. */
extern RBWP_API RBWP_TLS_ struct rbwp_place_
    rbwp_own_queued_ RBWP_ABI_NAME_("rbwp_own_queued_") RBWP_TLS_MODEL_;

RBWP_API void rbwp_begin_queued_(unsigned slot, const struct rbwp_ticket *ticket, uint64_t ticks);

/* Before the begin, between rbwp_enter_ and rbwp_leave_. */
static inline void rbwp_put_queued_(uint64_t *cells, uint64_t thread,
                                    const struct rbwp_ticket *ticket, uint64_t ticks)
{
    cells[RBWP_QUEUED_ENQUEUED_] = ticket->ticks < ticks ? ticket->ticks : ticks;
    cells[RBWP_QUEUED_BEGUN_] = ticks;
    cells[RBWP_QUEUED_THREAD_] = thread;
    cells[RBWP_QUEUED_SLOT_] = ticket->slot;
    cells[RBWP_QUEUED_FROM_] = ticket->thread;
}

#ifndef RBWP_DISABLE

/* Work of that slot is handed over at ticks (rbwp_now_ticks): for who hands over several at once,
 * or has just read the clock, which is most of what a ticket costs. */
static inline RBWP_HOT_ void rbwp_enqueue_at(unsigned slot, uint64_t ticks,
                                             struct rbwp_ticket *ticket_out)
{
    bool on = rbwp_is_on_(1);
    ticket_out->slot = slot;
    ticket_out->thread = on ? rbwp_thread_number_() : 0;
    ticket_out->ticks = on ? ticks : 0;
}

/* Work of that slot is handed over now. */
static inline RBWP_HOT_ void rbwp_enqueue(unsigned slot, struct rbwp_ticket *ticket_out)
{
    bool on = rbwp_is_on_(1);
    ticket_out->slot = slot;
    ticket_out->thread = on ? rbwp_thread_number_() : 0;
    ticket_out->ticks = on ? rbwp_now_ticks() : 0;
}

/* The row of a begin with a ticket, between rbwp_enter_ and rbwp_leave_. False: the begin takes the
 * slow side. */
static inline RBWP_HOT_ bool rbwp_add_queued_(const struct rbwp_self_ *self, unsigned slot,
                                              const struct rbwp_ticket *ticket, uint64_t ticks)
{
    /* A place with room has had a row: the thread is attached. */
    struct rbwp_place_ *place = &rbwp_own_queued_;
    if (!__builtin_expect(rbwp_place_has_room_(place) && !self->item && ticket->slot == slot, 1))
        return false;
    rbwp_put_queued_(rbwp_place_take_(place, RBWP_QUEUED_COLUMNS_), place->thread_number, ticket,
                     ticks);
    rbwp_place_count_(place, 1);
    return true;
}

/* The rest of the two below, behind the test for a session. */
static inline RBWP_HOT_ void rbwp_begin_with_on_(unsigned slot, struct rbwp_ticket ticket,
                                                 uint64_t ticks)
{
    struct rbwp_self_ *self = &rbwp_self_;
    if (!rbwp_enter_(self, 1))
        return;
    if (__builtin_expect(!ticket.ticks, 0) ||
        __builtin_expect(rbwp_add_queued_(self, slot, &ticket, ticks), 1)) {
        rbwp_put_begin_(self, slot, ticks);
        rbwp_leave_(self);
    } else {
        struct rbwp_ticket copy = ticket; /* this one needs to be in memory */
        rbwp_leave_(self);
        rbwp_begin_queued_(slot, &copy, ticks);
    }
}

/* As rbwp_begin_at, of work that was handed over with this ticket. */
static inline RBWP_HOT_ void rbwp_begin_with_at(unsigned slot, struct rbwp_ticket ticket,
                                                uint64_t ticks)
{
    if (rbwp_is_on_(1)) {
        rbwp_look_at_cpu_(ticks);
        rbwp_begin_with_on_(slot, ticket, ticks);
    }
}

static inline RBWP_HOT_ void rbwp_begin_with(unsigned slot, struct rbwp_ticket ticket)
{
    if (rbwp_is_on_(1)) {
        rbwp_look_at_cpu_(RBWP_NOT_READ_);
        rbwp_begin_with_on_(slot, ticket, rbwp_now_ticks());
    }
}

#else /* RBWP_DISABLE: the same calls, no code */

static inline void rbwp_enqueue_at(unsigned slot, uint64_t ticks, struct rbwp_ticket *ticket_out)
{
    (void)ticks;
    ticket_out->ticks = ticket_out->thread = 0;
    ticket_out->slot = slot;
}
static inline void rbwp_enqueue(unsigned slot, struct rbwp_ticket *ticket_out)
{
    ticket_out->ticks = ticket_out->thread = 0;
    ticket_out->slot = slot;
}
static inline void rbwp_begin_with_at(unsigned slot, struct rbwp_ticket ticket, uint64_t ticks)
{
    (void)slot, (void)ticket, (void)ticks;
}
static inline void rbwp_begin_with(unsigned slot, struct rbwp_ticket ticket)
{
    (void)slot, (void)ticket;
}

#endif /* RBWP_DISABLE */

RBWP_C_END_
#endif /* RBWP_QUEUE_H */
