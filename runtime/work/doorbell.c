/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doorbell.c - the system calls behind doorbell.h: two futex words.
 *
 * A doorbell's permits are a semaphore: a ringer adds one and wakes one, a
 * sleeper takes one or sleeps. Sleepers are alike, so it does not matter which
 * of them takes a permit. Linux only.
 */
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "doorbell.h"
#include "test_point.h"

/* Sleeps if *word is still expected. Returns early on a signal: callers look again. */
static void futex_wait(_Atomic uint32_t *word, uint32_t expected)
{
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, NULL, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word, int count)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

static uint32_t sleepers_of(uint32_t counts)
{
    return counts & (DOORBELL_ONE_LOOKER - 1);
}

void doorbell_start_look(struct doorbell *bell)
{
    /* Relaxed: a ringer that does not see it wakes one too many, no more. */
    atomic_fetch_add_explicit(&bell->counts, DOORBELL_ONE_LOOKER, memory_order_relaxed);
}

void doorbell_end_look(struct doorbell *bell)
{
    /* Sequentially consistent: before the caller's look at what it leaves behind. */
    atomic_fetch_sub_explicit(&bell->counts, DOORBELL_ONE_LOOKER, memory_order_seq_cst);
    TEST_POINT("end look: no longer a looker");
}

void doorbell_lie_down(struct doorbell *bell)
{
    /* One operation, so that no ringer finds neither. Sequentially consistent: 4 in doorbell.h. */
    atomic_fetch_sub_explicit(&bell->counts, DOORBELL_ONE_LOOKER - 1, memory_order_seq_cst);
    TEST_POINT("lie down: counted as a sleeper");
}

void doorbell_get_up(struct doorbell *bell)
{
    uint32_t counts = atomic_load_explicit(&bell->counts, memory_order_relaxed);
    while (sleepers_of(counts) > 0) {
        /* Relaxed: nothing is handed over; the caller is awake and goes on looking. */
        if (atomic_compare_exchange_weak_explicit(&bell->counts, &counts,
                                                  counts + DOORBELL_ONE_LOOKER - 1,
                                                  memory_order_relaxed, memory_order_relaxed))
            return;
    }
    doorbell_sleep(bell); /* all sleepers are being woken, so one of the permits is ours */
}

void doorbell_sleep(struct doorbell *bell)
{
    uint32_t permits = atomic_load_explicit(&bell->permits, memory_order_relaxed);
    for (;;) {
        if (permits == 0) {
            futex_wait(&bell->permits, 0);
            permits = atomic_load_explicit(&bell->permits, memory_order_relaxed);
            continue;
        }
        /* Acquire: pairs with the release in grant. */
        if (atomic_compare_exchange_weak_explicit(&bell->permits, &permits, permits - 1,
                                                  memory_order_acquire, memory_order_relaxed))
            return;
    }
}

static void grant(struct doorbell *bell, uint32_t count)
{
    TEST_POINT("ring: sleeper counted as a looker");
    /* Release: pairs with the acquire in sleep. */
    atomic_fetch_add_explicit(&bell->permits, count, memory_order_release);
    futex_wake(&bell->permits, (int)count);
}

bool doorbell_wake_one(struct doorbell *bell)
{
    uint32_t counts = atomic_load_explicit(&bell->counts, memory_order_seq_cst);
    while (sleepers_of(counts) > 0 && !doorbell_has_lookers(counts)) {
        /* Sequentially consistent like the look in doorbell_is_useful, which a failure repeats. */
        if (atomic_compare_exchange_weak_explicit(&bell->counts, &counts,
                                                  counts + DOORBELL_ONE_LOOKER - 1,
                                                  memory_order_seq_cst, memory_order_seq_cst)) {
            grant(bell, 1);
            return true;
        }
    }
    return false;
}

void doorbell_ring_all(struct doorbell *bell)
{
    uint32_t counts = atomic_load_explicit(&bell->counts, memory_order_seq_cst);
    while (sleepers_of(counts) > 0) {
        uint32_t sleepers = sleepers_of(counts);
        if (atomic_compare_exchange_weak_explicit(&bell->counts, &counts,
                                                  counts + sleepers * (DOORBELL_ONE_LOOKER - 1),
                                                  memory_order_seq_cst, memory_order_seq_cst)) {
            grant(bell, sleepers);
            return;
        }
    }
}

void event_start_wait(struct event *event)
{
    /* Sequentially consistent: before the waiter's look at the condition; pairs with signal. */
    atomic_fetch_add_explicit(&event->waiters, 1, memory_order_seq_cst);
}

void event_end_wait(struct event *event)
{
    atomic_fetch_sub_explicit(&event->waiters, 1, memory_order_relaxed);
}

uint32_t event_read(const struct event *event)
{
    /* Acquire: before the look at the condition; pairs with the release in signal. */
    return atomic_load_explicit(&event->sequence, memory_order_acquire);
}

void event_sleep(struct event *event, uint32_t seen)
{
    futex_wait(&event->sequence, seen);
}

void event_signal(struct event *event)
{
    /* Sequentially consistent: after the condition became true. Either this sees the waiter, or
     * the waiter's look sees the condition. */
    if (atomic_load_explicit(&event->waiters, memory_order_seq_cst) == 0)
        return;
    atomic_fetch_add_explicit(&event->sequence, 1, memory_order_release);
    futex_wake(&event->sequence, INT_MAX);
}
