/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A storm of signals whose handler records, over threads that record, with
 * chunks so small that many signals fall into slow sides, waits at the cap and
 * hand-overs. Each call of a handler is in the file or counted; what the
 * interrupted code records is whole.
 */
#include "record_support.h"

#include "unit.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

enum { THREADS = 3, ITEMS = 30000, HANDLER_SLOT = 99, HANDLER_ID = 999 };

static _Atomic uint64_t handled; /* calls of the handler on attached threads while recording */
static _Thread_local volatile sig_atomic_t recording;

static void on_profile(int number)
{
    (void)number;
    if (!recording)
        return;
    atomic_fetch_add(&handled, 1);
    rbwp_fine_begin(HANDLER_ID);
    rbwp_gpu_work(1, HANDLER_SLOT, 2, 3);
    rbwp_fine_end();
}

static void *record(void *argument)
{
    unsigned me = (unsigned)(uintptr_t)argument;
    assert_int_equal(rbwp_thread_attach(NULL), RBWP_OK);
    recording = 1;
    for (unsigned i = 0; i < ITEMS; i++) {
        rbwp_begin(me);
        rbwp_fine_begin(i % 500);
        rbwp_fine_end();
        rbwp_end();
        if (i % 1000 == 0)
            raise(SIGPROF); /* at least some, however slow the clock */
    }
    recording = 0;
    assert_int_equal(rbwp_thread_detach(), RBWP_OK);
    return NULL;
}

static void test_storm(void **state)
{
    (void)state;
    struct sigaction action = {.sa_handler = on_profile, .sa_flags = SA_RESTART};
    assert_int_equal(sigaction(SIGPROF, &action, NULL), 0);
    struct rbwp_session_config config = small_chunks(2);
    config.stall_ns = UINT64_C(300) * 1000000000;
    struct rbwp_session *session = start(&config);
    const struct itimerval storm = {{0, 200}, {0, 200}}, calm = {{0, 0}, {0, 0}};
    assert_int_equal(setitimer(ITIMER_PROF, &storm, NULL), 0);
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, record, (void *)i), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(setitimer(ITIMER_PROF, &calm, NULL), 0);
    struct rbwp_session_summary summary = stop(session);
    assert_int_equal(summary.lost_records, 0);

    struct recorded recorded = read_back(config.logfile);
    uint64_t refused = losses(&recorded, 0, RBWP_LOSS_SIGNAL), from_handlers = 0, items = 0;
    for (size_t i = 0; i < recorded.events; i++) {
        const struct rbwp_record *record = &recorded.event[i].record;
        items += record->kind == RBWP_COARSE_BEGIN;
        from_handlers += record->kind == RBWP_GPU_WORK ||
                         (record->kind == RBWP_FINE_BEGIN && record->sub_item == HANDLER_ID);
    }
    assert_int_equal(all_losses(&recorded), refused);
    assert_matched(&recorded);
    assert_int_equal(items, THREADS * ITEMS);
    /* A handler's three calls are refused together or recorded together: two of them stand out. */
    assert_true(handled > 0);
    assert_int_equal(refused % 3, 0);
    assert_int_equal(from_handlers / 2 + refused / 3, handled);
    assert_int_equal(recorded.events, THREADS * ITEMS * 4 + from_handlers / 2 * 3);
    recorded_free(&recorded);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_storm)};
    return cmocka_run_group_tests_name("record_signal", tests, NULL, NULL);
}
