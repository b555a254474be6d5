/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stall_open.h - which call or wait a thread is in, as seen by another one.
 *
 * The thread goes on meanwhile and is not asked: what is read may be of two moments, and nothing
 * that ever was. What is the same in two looks was.
 */
#ifndef STALL_OPEN_H
#define STALL_OPEN_H

#include "record_extend.h"
#include "thread_registry.h"

struct opened {
    uint64_t thread_id, since_ticks;
    struct rbwp_extend_wait wait; /* of a call its kind alone */
    const void *waiter;
    uint64_t self; /* where the thread's rbwp_self_ is */
    uint64_t item_place, item,
        word; /* of a call: where its thread says that it is open; 0: a wait */
};

/* The numbers of these names; NULL: nobody shows waits. Before the writer looks. */
void opened_prepare(uint64_t call_name, rbwp_extend_wait_fn *wait_of);
/* What the thread is in. Registry locked, in a session. */
bool opened_find(struct thread *thread, struct opened *opened_out);
/* Still, at some moment of this call. Its thread may have gone. */
bool opened_goes_on(const struct opened *opened);

/* ---- when it is due -------------------------------------------------------------------------- */

/* A thread was found in what began at since (0: in nothing). True: this was so in the look before,
 * and it is as old as the limit, or has doubled its age since it was due last. Without room it is
 * due the next time; if it is over by then, that is counted. */
bool open_seen_is_due(struct open_seen *seen, uint64_t since_ticks, uint64_t now_ticks,
                      uint64_t limit_ticks, bool has_room, uint64_t *missed);

#endif /* STALL_OPEN_H */
