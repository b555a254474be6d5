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
/* Any thread, also in a signal handler. */
void stray_calls_add(uint64_t ticks);

#endif /* THREAD_LOSSES_H */
