/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inject_started.h - in which range a call is made: the innermost that its thread pushed; without
 * one, the last that was started and has not ended, as RBWP_INJECT_STARTED says: thread, by this
 * thread (the default), all, by any, none. Any thread.
 */
#ifndef INJECT_STARTED_H
#define INJECT_STARTED_H

#include <stdint.h>

/* Of a range that any thread may end; 0 is none. */
void inject_started(uint64_t range);
void inject_started_ended(uint64_t range);

/* The number of its row, 0: none. */
uint64_t inject_range_now(void);

/* In a forked child none is open. */
void inject_started_forget(void);

#endif /* INJECT_STARTED_H */
