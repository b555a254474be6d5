/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of doorbell.c: who is counted as what, and that a ring at any step wakes somebody. */
#include "unit.h"

#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <unistd.h>

#include "doorbell.h"

/* A lost wake-up would hang the test: then the alarm ends it. */
#define TIMEOUT_S 120

/* With nobody asleep a ring wakes nobody and leaves nothing behind. */
static void test_ring_without_sleeper(void **state)
{
    (void)state;
    struct doorbell bell = {0};
    assert_false(doorbell_ring(&bell));
    doorbell_start_look(&bell);
    assert_true(doorbell_is_watched(&bell));
    assert_false(doorbell_ring(&bell));
    doorbell_end_look(&bell);
    assert_false(doorbell_is_watched(&bell));
    assert_int_equal(bell.counts, 0);
    assert_int_equal(bell.permits, 0);
}

/* A ring between lying down and sleeping is kept: sleep returns at once, as a looker. */
static void test_ring_before_sleep_is_kept(void **state)
{
    (void)state;
    struct doorbell bell = {0};
    doorbell_start_look(&bell);
    doorbell_lie_down(&bell);
    assert_true(doorbell_is_useful(&bell));
    assert_true(doorbell_ring(&bell));
    assert_true(doorbell_is_watched(&bell));
    assert_false(doorbell_ring(&bell)); /* the one on its way is a looker already */
    doorbell_sleep(&bell);
    doorbell_end_look(&bell);
    assert_int_equal(bell.counts, 0);
    assert_int_equal(bell.permits, 0);
}

/* A sleeper that gets up by itself takes the wake-up meant for it with it. */
static void test_get_up(void **state)
{
    (void)state;
    struct doorbell bell = {0};
    doorbell_start_look(&bell);
    doorbell_lie_down(&bell);
    doorbell_get_up(&bell);
    assert_true(doorbell_is_watched(&bell));
    assert_int_equal(doorbell_sleepers(&bell), 0);
    doorbell_lie_down(&bell);
    assert_true(doorbell_ring(&bell));
    doorbell_get_up(&bell);
    assert_int_equal(bell.permits, 0);
    assert_int_equal(bell.counts, DOORBELL_ONE_LOOKER);
}

/* ring_all counts, wakes and permits each sleeper, lookers or not. */
static void test_ring_all(void **state)
{
    (void)state;
    struct doorbell bell = {0};
    for (int i = 0; i < 4; i++)
        doorbell_start_look(&bell);
    for (int i = 0; i < 3; i++)
        doorbell_lie_down(&bell);
    assert_int_equal(doorbell_sleepers(&bell), 3);
    doorbell_ring_all(&bell);
    assert_int_equal(bell.counts, 4 * DOORBELL_ONE_LOOKER);
    for (int i = 0; i < 3; i++)
        doorbell_sleep(&bell);
    assert_int_equal(bell.permits, 0);
}

/* ---- threads ------------------------------------------------------------------ */

#define SLEEPERS 3
#define RINGERS 2
#define TOKENS 20000u /* by each ringer */

static struct doorbell bell;
static _Atomic unsigned tokens; /* the work */
static _Atomic unsigned taken;
static _Atomic bool over;

static bool take_token(void)
{
    unsigned have = atomic_load(&tokens);
    while (have > 0)
        if (atomic_compare_exchange_weak(&tokens, &have, have - 1)) {
            atomic_fetch_add(&taken, 1);
            return true;
        }
    return false;
}

/* The loop of doorbell.h, without spinning. */
static void *sleeper(void *argument)
{
    (void)argument;
    for (;;) {
        while (take_token()) {
        }
        doorbell_start_look(&bell);
        for (;;) {
            if (take_token()) {
                doorbell_end_look(&bell);
                if (atomic_load(&tokens) > 0)
                    doorbell_ring(&bell);
                break;
            }
            if (atomic_load(&over)) {
                doorbell_end_look(&bell);
                return NULL;
            }
            doorbell_lie_down(&bell);
            if (atomic_load(&tokens) > 0 || atomic_load(&over))
                doorbell_get_up(&bell);
            else
                doorbell_sleep(&bell);
        }
    }
}

static void *ringer(void *argument)
{
    (void)argument;
    for (unsigned i = 0; i < TOKENS; i++) {
        atomic_fetch_add(&tokens, 1);
        doorbell_ring(&bell);
    }
    return NULL;
}

static struct event all_taken;

/* Many ringers and sleepers: all work is done though nobody polls, and nobody sleeps on at the
 * end. */
static void test_no_wake_up_is_lost(void **state)
{
    (void)state;
    pthread_t threads[SLEEPERS + RINGERS];
    for (int i = 0; i < SLEEPERS + RINGERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, i < SLEEPERS ? sleeper : ringer, NULL),
                         0);
    for (int i = SLEEPERS; i < SLEEPERS + RINGERS; i++)
        pthread_join(threads[i], NULL);
    while (atomic_load(&taken) < RINGERS * TOKENS)
        sched_yield();
    atomic_store(&over, true);
    doorbell_ring_all(&bell);
    for (int i = 0; i < SLEEPERS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(bell.counts, 0);
    assert_int_equal(bell.permits, 0);
}

static _Atomic unsigned turn;
#define TURNS 5000u

static void *signaller(void *argument)
{
    (void)argument;
    for (unsigned i = 0; i < TURNS; i++) {
        while (atomic_load(&turn) != 2 * i + 1) {
        }
        atomic_store(&turn, 2 * i + 2);
        event_signal(&all_taken);
    }
    return NULL;
}

/* A signal between reading the event and sleeping on it ends the sleep: no turn is missed. */
static void test_event(void **state)
{
    (void)state;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, signaller, NULL), 0);
    for (unsigned i = 0; i < TURNS; i++) {
        event_start_wait(&all_taken);
        atomic_store(&turn, 2 * i + 1);
        for (;;) {
            uint32_t seen = event_read(&all_taken);
            if (atomic_load(&turn) == 2 * i + 2)
                break;
            event_sleep(&all_taken, seen);
        }
        event_end_wait(&all_taken);
    }
    pthread_join(thread, NULL);
    assert_int_equal(all_taken.waiters, 0);
    uint32_t sequence = event_read(&all_taken);
    event_signal(&all_taken); /* nobody waits: nothing happens */
    assert_int_equal(event_read(&all_taken), sequence);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ring_without_sleeper),
        cmocka_unit_test(test_ring_before_sleep_is_kept),
        cmocka_unit_test(test_get_up),
        cmocka_unit_test(test_ring_all),
        cmocka_unit_test(test_no_wake_up_is_lost),
        cmocka_unit_test(test_event),
    };
    alarm(TIMEOUT_S);
    return cmocka_run_group_tests_name("doorbell", tests, NULL, NULL);
}
