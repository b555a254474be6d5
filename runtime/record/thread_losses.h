/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_losses.h - what was not recorded, counted by cause: of each thread, and of those that are
 * not attached all together. News go to the live file, roughly.
 */
#ifndef THREAD_LOSSES_H
#define THREAD_LOSSES_H

#include "thread_registry.h"

/* Own thread, in a recording call. */
void thread_lose(struct thread *thread, enum rbwp_loss_cause cause, uint64_t count, uint64_t ticks);

/* Calls made by threads that are not attached, all of them together. */
struct stray_calls {
    _Atomic uint64_t count, first_ticks, last_ticks;
};
extern struct stray_calls stray_calls;
/* Any thread, also in a signal handler. A refused item counts once: what is called until its end is
 * part of it. RBWP_PENDING_SLOW_ says that one is open, for attaching clears it. */
void stray_calls_add(uint64_t ticks);
void stray_calls_begin(struct rbwp_self_ *self, uint64_t ticks);
void stray_calls_end(struct rbwp_self_ *self, uint64_t ticks);

#endif /* THREAD_LOSSES_H */
