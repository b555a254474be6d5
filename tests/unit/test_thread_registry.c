/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that come and go: ids, names, records of threads that are gone, and entries freed. */
#include "thread_registry.h"

#include "record_support.h"
#include "test_point.h"
#include "unit.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Atomic(test_point_fn) test_point_hook;

static unsigned entries(void)
{
    unsigned count = 0;
    thread_registry_lock();
    for (struct thread *thread = thread_registry_first(); thread; thread = thread->next)
        count++;
    thread_registry_unlock();
    return count;
}

static void test_attach_and_detach(void **state)
{
    (void)state;
    assert_int_equal(rbwp_thread_detach(), RBWP_E_STATE);
    assert_int_equal(rbwp_thread_attach("a"), RBWP_OK);
    assert_int_equal(entries(), 1);
    uint64_t id = thread_registry_first()->thread_id;
    assert_int_equal(rbwp_thread_attach("b"), RBWP_OK); /* renames */
    assert_int_equal(entries(), 1);
    assert_string_equal(thread_registry_first()->name, "b");
    assert_int_equal(thread_registry_first()->thread_id, id);
    assert_int_equal(rbwp_thread_attach(NULL), RBWP_OK);
    assert_int_equal(strncmp(thread_registry_first()->name, "thread ", 7), 0);
    assert_int_equal(rbwp_thread_detach(), RBWP_OK);
    assert_int_equal(rbwp_thread_detach(), RBWP_E_STATE);
    assert_int_equal(entries(), 0); /* no session refers to it */
    assert_int_equal(rbwp_thread_attach("c"), RBWP_OK);
    assert_int_not_equal(thread_registry_first()->thread_id, id);
    assert_int_equal(rbwp_thread_detach(), RBWP_OK);
}

/* A name that is too long is cut to what the file can hold. */
static void test_long_name(void **state)
{
    (void)state;
    char *name = malloc(RBWP_NAME_BYTES_MAX + 100);
    memset(name, 'x', RBWP_NAME_BYTES_MAX + 99);
    name[RBWP_NAME_BYTES_MAX + 99] = 0;
    assert_int_equal(rbwp_thread_attach(name), RBWP_OK);
    struct rbwp_session_config config = test_config(1);
    (void)stop(start(&config));
    struct recorded recorded = read_back(config.logfile);
    assert_int_equal(recorded.trailer->threads[0].name_bytes, RBWP_NAME_BYTES_MAX);
    recorded_free(&recorded);
    assert_int_equal(rbwp_thread_detach(), RBWP_OK);
    free(name);
}

static void *attach_twice(void *argument)
{
    (void)argument;
    assert_int_equal(rbwp_thread_attach("earlier"), RBWP_OK);
    rbwp_begin(1);
    rbwp_fine_begin(1);
    assert_int_equal(rbwp_thread_detach(), RBWP_OK); /* unfinished */
    rbwp_begin(9);                                   /* not attached */
    rbwp_end();
    assert_int_equal(rbwp_thread_attach("later"), RBWP_OK);
    rbwp_end(); /* stray: nothing is left of what was open */
    rbwp_begin(2);
    rbwp_end();
    rbwp_begin(3);
    rbwp_discard();
    return NULL; /* without a detach */
}

/* Detach hands over, also by thread exit; a thread that attaches again is another one. */
static void test_hand_over(void **state)
{
    (void)state;
    struct rbwp_session_config config = test_config(2);
    struct rbwp_session *session = start(&config);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, attach_twice, NULL), 0);
    pthread_join(thread, NULL);
    assert_int_equal(entries(), 0); /* the file will name them */
    assert_int_equal(stop(session).discarded, 1);
    assert_int_equal(entries(), 0);
    struct recorded recorded = read_back(config.logfile);
    const struct rbwp_thread_info *earlier = thread_named(&recorded, "earlier");
    const struct rbwp_thread_info *later = thread_named(&recorded, "later");
    char *calls = calls_of(&recorded, earlier->thread_id);
    assert_string_equal(calls, "B1 F1");
    free(calls);
    calls = calls_of(&recorded, later->thread_id);
    assert_string_equal(calls, "B2 E");
    free(calls);
    assert_int_equal(earlier->os_id, later->os_id);
    assert_true(earlier->detached_ns <= later->attached_ns);
    assert_int_equal(losses(&recorded, later->thread_id, RBWP_LOSS_STRAY_END), 1);
    assert_int_equal(losses(&recorded, 0, RBWP_LOSS_NOT_ATTACHED), 1);
    assert_int_equal(all_losses(&recorded), 2);
    recorded_free(&recorded);
}

/* Those whose last chunks are still to be written are no more than there are, and none once they
 * are written: by these numbers others wait. A thread that goes on is none of them. */
static void test_none_waits_to_be_written(void **state)
{
    (void)state;
    struct rbwp_session_config config = small_chunks(1);
    struct rbwp_session *session = start(&config);
    pthread_t thread;
    assert_int_equal(rbwp_thread_attach("goes on"), RBWP_OK);
    for (int i = 0; i < 5000; i++) {
        rbwp_begin(1);
        rbwp_end();
    }
    thread_registry_lock();
    struct thread *const own = thread_registry_first();
    thread_registry_unlock();
    while (atomic_load(&own->chunks) > 1) /* the one that is filled */
        sched_yield();
    assert_int_equal(thread_registry_orphans(), 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(pthread_create(&thread, NULL, attach_twice, NULL), 0);
        pthread_join(thread, NULL);
        assert_in_range(thread_registry_orphans(), 0, 2 * (i + 1));
    }
    while (thread_registry_orphans() > 0)
        sched_yield();
    assert_int_equal(thread_registry_orphans(), 0);
    assert_int_equal(rbwp_thread_detach(), RBWP_OK);
    (void)stop(session);
}

/* What a thread counted between two sessions is in neither; its time limit lasts. */
static void test_between_sessions(void **state)
{
    (void)state;
    assert_int_equal(rbwp_thread_attach("main"), RBWP_OK);
    rbwp_set_time_limit(0);
    struct rbwp_session_config config = test_config(1);
    for (int i = 0; i < 2; i++) {
        rbwp_end();
        rbwp_begin(8);
        struct rbwp_session *session = start(&config);
        rbwp_begin(1);
        rbwp_discard(); /* kept: it lasted at least 0 ns */
        struct rbwp_session_summary summary = stop(session);
        assert_int_equal(summary.misuse_calls, 0);
        assert_int_equal(summary.discarded, 0);
        assert_calls("B1 E");
        rbwp_end();
    }
    assert_int_equal(rbwp_thread_detach(), RBWP_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attach_and_detach), cmocka_unit_test(test_long_name),
        cmocka_unit_test(test_hand_over),         cmocka_unit_test(test_none_waits_to_be_written),
        cmocka_unit_test(test_between_sessions),
    };
    return cmocka_run_group_tests_name("thread_registry", tests, NULL, NULL);
}
