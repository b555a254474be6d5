/* SPDX-License-Identifier: Apache-2.0 */
/*
 * race_hold.h - holds threads at test points (runtime/record/include/test_point.h).
 *
 * A hold catches the first thread that comes to its place, or the first of
 * those that the test admits; the others pass and are counted. A test must not
 * let a thread be caught that holds what the place it waits for needs: who is
 * in an earlier job of the file's order, say, keeps the writer from writing.
 * One source of a program defines the hook by including this.
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

enum catches { CATCHES_NOBODY, CATCHES_ADMITTED, CATCHES_ANYONE };

static struct hold {
    const char *place;    /* set before watched */
    enum catches catches; /* likewise */
    atomic_bool watched, caught, released;
    _Atomic unsigned passed; /* others that came by since */
} holds[HOLDS];

static _Thread_local bool may_be_held;

static bool is_caught(struct hold *hold)
{
    bool nobody = false;
    if (hold->catches == CATCHES_NOBODY || (hold->catches == CATCHES_ADMITTED && !may_be_held))
        return false;
    return atomic_compare_exchange_strong(&hold->caught, &nobody, true);
}

static void hold_hook(const char *place)
{
    for (struct hold *hold = holds; hold < holds + HOLDS; hold++) {
        if (!atomic_load(&hold->watched) || strcmp(place, hold->place) != 0)
            continue;
        if (!is_caught(hold)) {
            atomic_fetch_add(&hold->passed, 1);
            continue;
        }
        while (!atomic_load(&hold->released))
            sched_yield();
    }
}

static struct hold *watch(unsigned number, const char *place, enum catches catches)
{
    struct hold *hold = &holds[number];
    hold->place = place;
    hold->catches = catches;
    atomic_store(&hold->caught, false);
    atomic_store(&hold->released, false);
    atomic_store(&hold->passed, 0);
    atomic_store(&hold->watched, true);
    atomic_store(&test_point_hook, hold_hook);
    return hold;
}

/* Catches a thread that says may_be_held. */
static inline struct hold *hold_at(unsigned number, const char *place)
{
    return watch(number, place, CATCHES_ADMITTED);
}

/* Catches any, also one that the test did not start. */
static inline struct hold *hold_anyone_at(unsigned number, const char *place)
{
    return watch(number, place, CATCHES_ANYONE);
}

/* Catches none: counts who comes by. */
static inline struct hold *count_at(unsigned number, const char *place)
{
    return watch(number, place, CATCHES_NOBODY);
}

static void hold_wait(struct hold *hold)
{
    while (!atomic_load(&hold->caught))
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
    for (int i = 0; i < HOLDS; i++)
        atomic_store(&holds[i].watched, false);
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
