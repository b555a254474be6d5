/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slot_limits.h - which items are worth a record: per slot, how long one must last at least, and
 * from when on it is so long that somebody wants to know.
 *
 * One table for the process, which rbwp_end_at looks into by one comparison, if any slot has
 * limits; an item outside of its slot's takes the slow side, which asks here what to do. Limits may
 * be set at any time, with or without a session, and stay until they are set anew or the slot is
 * released. What was dropped is counted, by thread and slot. Slots are below RBWP_SLOTS_MAX. All
 * but the slow side's calls take the registry's lock, if they don't say that it is to be locked.
 *
 * Durations are in nanoseconds; the table holds ticks, at the rate known when they were set.
 */
#ifndef SLOT_LIMITS_H
#define SLOT_LIMITS_H

#include "rbwp_format.h"
#include "thread_registry.h"

#define SLOT_LIMITS_NONE UINT64_MAX /* in place of an alarm */

/* For rbwp_self_.limits: the table, or NULL as long as no slot has limits. */
const struct rbwp_slot_limit_ *slot_limits_table(void);

/* Items that lasted less leave no trace; 0: all are kept. Any thread. */
void slot_limits_set_least(unsigned slot, uint64_t least_ns);
/* No item of the slot leaves a trace. Any thread. */
void slot_limits_set_disabled(unsigned slot, bool disabled);
/* One that lasted so long rings (below); SLOT_LIMITS_NONE: none does. Any thread. */
void slot_limits_set_alarm(unsigned slot, uint64_t alarm_ns);
/* All is recorded again: the slot was released, its next user is another. */
void slot_limits_clear(unsigned slot);

/* What is set. */
struct slot_limits {
    uint64_t least_ns, alarm_ns;
    bool disabled;
};
struct slot_limits slot_limits_of(unsigned slot);

/*
 * Who is called when an item lasted as long as its slot's alarm: on the thread that recorded it,
 * inside its recording call, so it must neither block nor record nor allocate. One for the process,
 * NULL: nobody.
 */
typedef void (*slot_limits_ring_fn)(unsigned slot, uint64_t begin_ticks, uint64_t end_ticks);
void slot_limits_on_alarm(slot_limits_ring_fn ring);

/* ---- the slow side of an end (recorder.c): own thread, in a recording call ------------ */

/* True if the item is to be dropped. */
bool slot_limits_is_brief(unsigned slot, uint64_t duration_ticks);
/* It was dropped: counts it. */
void slot_limits_count(struct thread *thread, unsigned slot);
/* It was recorded: rings if it lasted as long as the alarm. */
void slot_limits_ring(unsigned slot, uint64_t begin_ticks, uint64_t end_ticks);

/* ---- what was dropped ------------------------------------------------------------------- */

/* False as long as no slot has had any limits. Any thread, no lock. */
bool slot_limits_ever(void);

/* Of all threads so far, since the process began or forked. Registry locked. */
uint64_t slot_limits_left_out(unsigned slot);
/* The thread ends: its counts join those of the process. Registry locked. */
void slot_limits_take_over(struct thread *thread);
/* In a forked child, whose only thread this is: what was counted is its parent's, the limits stay.
 */
void slot_limits_forget(struct thread *thread);
void slot_limits_forget_all(void);

/* ---- limits for slots that are not there yet ------------------------------------------------- */

/*
 * Limits for slots by their names, before there are slots of that name: what a file
 * of settings says of them. Applied to those that there are, and to each that gets the name later.
 */

#define SLOT_WISHES_MAX 256u

enum slot_wish { SLOT_WISH_ENABLED, SLOT_WISH_DISABLED, SLOT_WISH_LEAST };

/* Copied. least_ns: of SLOT_WISH_LEAST. False: too many, or no memory. */
bool slot_wishes_add(const char *name, enum slot_wish wish, uint64_t least_ns);
void slot_wishes_forget(void);
/* The same; lift takes back what each did. */
void slot_wishes_lift(void (*lift)(const char *name, enum slot_wish wish));

/* A slot has this name from now on. No lock is held. */
void slot_wishes_named(unsigned slot, const char *name);

#endif /* SLOT_LIMITS_H */
