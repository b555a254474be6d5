/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rbwp_counter.h - how much there was of something, over time.
 *
 *     rbwp_counter_register("jobs waiting", "jobs", &waiting);      once
 *     rbwp_counter(waiting, queue->length);                         whenever it changes
 *
 * A value holds until the next one of its counter, whichever thread says it. Each is a row of the
 * table "counter" (SPEC.md, 9.3), at level 2 alone: the tools show one line a counter, and `rbwp
 * stats --by counter` its least, mean over time, and greatest value. Values are whole numbers:
 * choose the unit so that they can be.
 *
 * Rows survive a kill and take memory as those of rbwp_rows.h do; one that there is no room for is
 * lost and counted (RBWP_LOSS_ROWS), and so is the use of an id that nobody registered, as misuse
 * (RBWP_LOSS_RANGE).
 *
 * Without a session at level 2 a call is one predicted branch, with RBWP_DISABLE no code at all.
 * Threads: any; those that are not attached share one place, under a lock. Not from signal
 * handlers.
 */
#ifndef RBWP_COUNTER_H
#define RBWP_COUNTER_H

#include "rbwp_record.h"

RBWP_C_BEGIN_

#define RBWP_COUNTERS_MAX 4096u

/*
 * Makes a counter known to the process, for all sessions; ids count up from 1. unit: of its values,
 * NULL or "" for plain numbers. Both are copied. The same name and unit again are the same counter.
 * RBWP_E_INVALID: no name; RBWP_E_LIMIT, RBWP_E_MEMORY: *id_out is 0, which is none.
 */
RBWP_API RBWP_MUST_USE enum rbwp_status rbwp_counter_register(const char *name, const char *unit,
                                                              unsigned *id_out);

/* Inside the library; behind the test for a session. */
RBWP_API void rbwp_counter_(unsigned id, int64_t value, uint64_t ticks);

#ifndef RBWP_DISABLE

/* As rbwp_counter, at a time that was read before. */
static inline void rbwp_counter_at(unsigned id, int64_t value, uint64_t ticks)
{
    if (rbwp_is_on_(2))
        rbwp_counter_(id, value, ticks);
}

/* The counter has that value from now on. */
static inline void rbwp_counter(unsigned id, int64_t value)
{
    if (rbwp_is_on_(2))
        rbwp_counter_(id, value, rbwp_now_ticks());
}

#else /* RBWP_DISABLE: the same calls, no code */

static inline void rbwp_counter_at(unsigned id, int64_t value, uint64_t ticks)
{
    (void)id, (void)value, (void)ticks;
}
static inline void rbwp_counter(unsigned id, int64_t value)
{
    (void)id, (void)value;
}

#endif /* RBWP_DISABLE */

RBWP_C_END_
#endif /* RBWP_COUNTER_H */
