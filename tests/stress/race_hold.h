/* SPDX-License-Identifier: Apache-2.0 */
/*
 * race_hold.h - holds threads at test points (runtime/test_point.h).
 *
 * A hold catches the first thread that comes to its place, or the first of
 * those that the test admits; the others pass. One source of a program defines
 * the hook by including this.
 */
#ifndef RACE_HOLD_H
#define RACE_HOLD_H

#include "test_point.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

_Atomic(test_point_fn) test_point_hook;

enum { HOLDS = 4 };

static struct hold {
    const char *place; /* set before armed */
    bool catches_all;  /* likewise */
    atomic_bool armed, arrived, released;
    _Atomic unsigned passed; /* other threads that came by since */
} holds[HOLDS];

static _Thread_local bool may_be_held;

static void hold_hook(const char *place)
{
    for (struct hold *hold = holds; hold < holds + HOLDS; hold++) {
        bool armed = true;
        if (!atomic_load(&hold->armed) && !atomic_load(&hold->arrived))
            continue;
        if (strcmp(place, hold->place) != 0)
            continue;
        if ((!may_be_held && !hold->catches_all) ||
            !atomic_compare_exchange_strong(&hold->armed, &armed, false)) {
            atomic_fetch_add(&hold->passed, 1);
            continue;
        }
        atomic_store(&hold->arrived, true);
        while (!atomic_load(&hold->released))
            sched_yield();
    }
}

static struct hold *arm_hold(unsigned number, const char *place, bool catches_all)
{
    struct hold *hold = &holds[number];
    hold->place = place;
    hold->catches_all = catches_all;
    atomic_store(&hold->arrived, false);
    atomic_store(&hold->released, false);
    atomic_store(&hold->passed, 0);
    atomic_store(&hold->armed, true);
    atomic_store(&test_point_hook, hold_hook);
    return hold;
}

/* Catches a thread that says may_be_held. */
static inline struct hold *hold_at(unsigned number, const char *place)
{
    return arm_hold(number, place, false);
}

/* Catches any, also one that the test did not start. */
static inline struct hold *hold_anyone_at(unsigned number, const char *place)
{
    return arm_hold(number, place, true);
}

static void hold_wait(struct hold *hold)
{
    while (!atomic_load(&hold->arrived))
        sched_yield();
}

static void hold_release(struct hold *hold)
{
    atomic_store(&hold->released, true);
}

/* After all threads that may be held are joined. */
static void hold_nothing(void)
{
    atomic_store(&test_point_hook, NULL);
    for (int i = 0; i < HOLDS; i++) {
        atomic_store(&holds[i].armed, false);
        atomic_store(&holds[i].arrived, false);
    }
}

static inline bool is_set_within(const atomic_bool *flag, int64_t limit_ns)
{
    struct timespec start, now;
    clock_gettime(CLOCK_MONOTONIC, &start);
    do {
        if (atomic_load(flag))
            return true;
        sched_yield();
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - start.tv_sec) * INT64_C(1000000000) + now.tv_nsec - start.tv_nsec <
             limit_ns);
    return false;
}

/* False if the flag is not set within 20 s: a wake-up is lost. */
static inline bool comes_true(const atomic_bool *flag)
{
    return is_set_within(flag, INT64_C(20000000000));
}

/* False if the flag is set too early. That is seen if it happens soon; a slow machine may miss the
 * bug, but never sees one that is not there. */
static inline bool stays_false(const atomic_bool *flag)
{
    return !is_set_within(flag, INT64_C(200000000));
}

#endif /* RACE_HOLD_H */
