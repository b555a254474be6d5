/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wakeup.h - a thread that sleeps until there is something to do, or for a while.
 *
 * The while is one of the monotonic clock: a semaphore's (sem_timedwait) is of the wall clock, and
 * lasts for hours if that is set back. Any number of calls that come before the sleeper looks are
 * one, so it has to see to all there is to do before it sleeps again.
 */
#ifndef WAKEUP_H
#define WAKEUP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct wakeup {
    _Atomic uint32_t called; /* 0 or 1; the futex word */
};

/* Any thread, async-signal-safe. What was done before it is seen by whom it wakes. */
void wakeup_call(struct wakeup *wakeup);
/* False if nobody called for so long. May return true without a call. One thread at a time. */
bool wakeup_wait(struct wakeup *wakeup, int64_t ns);

#endif /* WAKEUP_H */
