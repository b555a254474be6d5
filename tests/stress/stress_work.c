/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stress of the work manager: armers, workers, lent threads, and items that come and go, all at
 * once, with workers that spin and with workers that sleep at once.
 *
 * Guards: an item's do_work never runs twice at once; each activation is followed by a run that
 * sees what was written before it; after removal an item's do_work is not called. A lost wake-up
 * shows as a hang, which the alarm ends.
 */
#include "unit.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "rbwp_record.h"
#include "rbwp_work.h"

#define TIMEOUT_S 240
#define ITEMS 24
#define ARMERS 3
#define LENT 2
#define POSTS 15000u /* by each armer */
#define CHURNS 1500u /* items that come and go */

struct item {
    struct rbwp_work_handle handle;
    _Atomic unsigned posted;
    unsigned seen; /* plain: only the do_work that runs touches it, which a race detector checks */
    _Atomic int inside;
    unsigned rest; /* requeues to come */
};

static struct item items[ITEMS];
static struct rbwp_work_manager *manager;
static _Atomic unsigned doubles, runs_after_removal;
static _Atomic bool over;

static bool serve(void *argument, struct rbwp_deadline deadline)
{
    (void)deadline;
    struct item *item = argument;
    if (atomic_exchange_explicit(&item->inside, 1, memory_order_relaxed))
        atomic_fetch_add(&doubles, 1);
    unsigned posted = atomic_load_explicit(&item->posted, memory_order_relaxed);
    rbwp_set_worked(posted != item->seen);
    if (posted != item->seen)
        item->rest = posted % 3;
    item->seen = posted;
    bool requeue = item->rest > 0 && item->rest-- > 0;
    if (posted % 5 == 0) /* arms its neighbour: a wake-up from a worker */
        rbwp_work_make_active(manager, items[(item - items + 1) % ITEMS].handle);
    atomic_store_explicit(&item->inside, 0, memory_order_relaxed);
    return requeue;
}

static void *arm(void *argument)
{
    unsigned random = *(unsigned *)argument;
    for (unsigned i = 0; i < POSTS; i++) {
        random = random * 1103515245u + 12345u;
        struct item *item = &items[(random >> 16) % ITEMS];
        atomic_fetch_add_explicit(&item->posted, 1, memory_order_relaxed);
        rbwp_work_make_active(manager, item->handle);
        if (i % 64 == 0)
            sched_yield(); /* let workers fall asleep now and then */
    }
    return NULL;
}

static void *lend(void *argument)
{
    (void)argument;
    while (!atomic_load(&over)) {
        rbwp_work_run(manager, 20000);
        sched_yield();
    }
    return NULL;
}

struct guest {
    _Atomic bool removed;
};

static bool visit(void *argument, struct rbwp_deadline deadline)
{
    (void)deadline;
    if (atomic_load(&((struct guest *)argument)->removed))
        atomic_fetch_add(&runs_after_removal, 1);
    return false;
}

/* Items that come, are armed and go, in slots used again and again. */
static void *churn(void *argument)
{
    (void)argument;
    for (unsigned i = 0; i < CHURNS; i++) {
        struct guest guest = {false};
        struct rbwp_work_handle handle;
        if (rbwp_work_add(manager, "guest", visit, &guest, -1, &handle) != RBWP_OK)
            return NULL;
        rbwp_work_make_active(manager, handle);
        if (rbwp_work_remove(manager, handle) != RBWP_OK)
            atomic_fetch_add(&runs_after_removal, 1);
        atomic_store(&guest.removed, true);
        if (rbwp_work_make_active(manager, handle) != RBWP_E_INVALID)
            atomic_fetch_add(&runs_after_removal, 1);
    }
    return NULL;
}

static void stress(struct rbwp_work_config config)
{
    struct rbwp_error error;
    config.size = sizeof config;
    if (rbwp_work_start(&config, &manager, &error) != RBWP_OK)
        fail_msg("%s", error.text);
    over = false;
    for (size_t i = 0; i < ITEMS; i++) {
        items[i] = (struct item){0};
        assert_int_equal(rbwp_work_add(manager, "item", serve, &items[i], -1, &items[i].handle),
                         RBWP_OK);
    }
    pthread_t threads[ARMERS + 1 + LENT];
    unsigned seeds[ARMERS];
    for (unsigned i = 0; i < ARMERS + 1 + LENT; i++) {
        if (i < ARMERS)
            seeds[i] = i + 1;
        assert_int_equal(pthread_create(&threads[i], NULL,
                                        i < ARMERS    ? arm
                                        : i == ARMERS ? churn
                                                      : lend,
                                        i < ARMERS ? &seeds[i] : NULL),
                         0);
    }
    for (unsigned i = 0; i <= ARMERS; i++)
        pthread_join(threads[i], NULL);
    rbwp_work_drain(manager);
    for (size_t i = 0; i < ITEMS; i++)
        assert_int_equal(items[i].seen, items[i].posted);
    atomic_store(&over, true);
    for (unsigned i = ARMERS + 1; i < ARMERS + 1 + LENT; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(rbwp_work_stop(manager, true, NULL), RBWP_OK);
    assert_int_equal(doubles, 0);
    assert_int_equal(runs_after_removal, 0);
}

static void test_workers_that_sleep_at_once(void **state)
{
    (void)state;
    stress((struct rbwp_work_config){.workers = 3, .no_spin = true});
}

static void test_workers_that_spin(void **state)
{
    (void)state;
    stress((struct rbwp_work_config){.workers = 3});
}

static void test_lent_threads_alone(void **state)
{
    (void)state;
    stress((struct rbwp_work_config){.no_workers = true});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_workers_that_sleep_at_once),
        cmocka_unit_test(test_workers_that_spin),
        cmocka_unit_test(test_lent_threads_alone),
    };
    alarm(TIMEOUT_S);
    return cmocka_run_group_tests_name("stress_work", tests, NULL, NULL);
}
