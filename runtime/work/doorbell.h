/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doorbell.h - how idle workers sleep and are woken.
 *
 * A doorbell counts the workers that look for work without having found any
 * ("lookers") and those that sleep. Ringing wakes one sleeper, but only if
 * nobody looks; with nobody asleep it is one load and no system call. A worker
 * that runs items all the time never touches it.
 *
 * The sleeper's loop, in the only order that is right:
 *
 *     for (;;) {
 *         if (there is work)                      1
 *             run it, and again;
 *         doorbell_start_look(bell);              2  counted as a looker
 *         look until the spin time is over; if found {
 *             claim it
 *             doorbell_end_look(bell);
 *             if (there is more work)
 *                 doorbell_ring(bell);            3
 *             run it
 *             continue;
 *         }
 *         doorbell_lie_down(bell);                4  looker -> sleeper
 *         if (there is work or the end has come)  5  look again
 *             doorbell_get_up(bell);                 sleeper -> looker
 *         else
 *             doorbell_sleep(bell);               6  wakes up as a looker
 *     }
 *
 * and the other side:
 *
 *     make work visible (set the slot's bit);     a
 *     doorbell_ring(bell);                        b
 *
 * No wake-up is lost. a, b, 4 and 5 are sequentially consistent, so they have
 * one order. If b comes before 4, then a came before 5: the sleeper sees the
 * work itself. If b comes after 4, it finds a sleeper or a looker. A sleeper is
 * woken. A looker that b relied on either finds this work, or comes to 4 and 5
 * later, or found other work and comes to 3, where it looks once more and
 * rings, if it leaves work behind and nobody else looks.
 *
 * The ringer takes the sleeper out of the count and counts it as a looker at
 * once, before it is awake: many rings in a row make one system call, not many.
 */
#ifndef DOORBELL_H
#define DOORBELL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Workers per doorbell: each count has 16 bits. */
#define DOORBELL_WORKERS_MAX 65535u

struct doorbell {
    /* sleepers in the low half, lookers in the high half; all threads read and write */
    _Alignas(64) _Atomic uint32_t counts;
    /* wake-ups granted to sleepers and not taken yet; the futex word */
    _Alignas(64) _Atomic uint32_t permits;
};

/* A worker without work begins to look for some. */
void doorbell_start_look(struct doorbell *bell);

/* A looker found work. It must look whether it leaves work behind, and ring if so. */
void doorbell_end_look(struct doorbell *bell);

/* A looker becomes a sleeper. It must look once more before it sleeps. */
void doorbell_lie_down(struct doorbell *bell);

/* A sleeper that has not slept becomes a looker again. May wait for a wake-up that is under way. */
void doorbell_get_up(struct doorbell *bell);

/* Sleeps until rung. The caller is a looker then. Blocks. */
void doorbell_sleep(struct doorbell *bell);

#define DOORBELL_ONE_LOOKER (UINT32_C(1) << 16)

static inline bool doorbell_has_lookers(uint32_t counts)
{
    return counts >= DOORBELL_ONE_LOOKER;
}

/* Relaxed: a hint. */
static inline uint32_t doorbell_sleepers(const struct doorbell *bell)
{
    return atomic_load_explicit(&bell->counts, memory_order_relaxed) & (DOORBELL_ONE_LOOKER - 1);
}

/* Both looks are sequentially consistent: after the caller's work became visible (b above). */

/* Somebody looks, or is being woken. */
static inline bool doorbell_is_watched(const struct doorbell *bell)
{
    return doorbell_has_lookers(atomic_load_explicit(&bell->counts, memory_order_seq_cst));
}

/* Would a ring wake somebody? */
static inline bool doorbell_is_useful(const struct doorbell *bell)
{
    uint32_t counts = atomic_load_explicit(&bell->counts, memory_order_seq_cst);
    return counts != 0 && !doorbell_has_lookers(counts);
}

bool doorbell_wake_one(struct doorbell *bell); /* the slow side of ring */

/* Wakes a sleeper, if there is one and nobody looks. False if it woke none. */
static inline bool doorbell_ring(struct doorbell *bell)
{
    return doorbell_is_useful(bell) && doorbell_wake_one(bell);
}

/* Wakes all sleepers, lookers or not. */
void doorbell_ring_all(struct doorbell *bell);

/* ---- the event: for rare waits without counts --------------------------------- */

/*
 * Somebody waits until a condition holds that others make true: he reads the event, then the
 * condition, then sleeps unless the event has changed. Who makes the condition true signals after
 * that. With nobody waiting a signal is one load.
 */
struct event {
    _Atomic uint32_t waiters;
    _Atomic uint32_t sequence; /* the futex word */
};

/* Announces a waiter; must come before its first look at the condition. */
void event_start_wait(struct event *event);
void event_end_wait(struct event *event);
/* The present state, to be read before the condition. */
uint32_t event_read(const struct event *event);
/* Sleeps until the event is signalled, unless it was since seen was read. May return early. */
void event_sleep(struct event *event, uint32_t seen);
void event_signal(struct event *event);

#endif /* DOORBELL_H */
