/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Eight threads record while the session starts, stops and starts again. What
 * must hold: on each thread, the pairs in a session's file are consecutive
 * (no hole: every pair whose begin and end both fell into the session is there),
 * the first and last of them border on what the thread knows, and what
 * straddles a stop is an unfinished begin; what straddles a start is not there,
 * and no misuse.
 *
 * Each thread numbers its pairs and puts the number into the sub-item id and,
 * for its upper bits, into GPU work. It publishes the number before and after
 * each pair, so that the session's thread knows from outside which pairs
 * certainly lay inside the session.
 */
#include "record_support.h"

#include "unit.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 8, RESTARTS = 200, PAIRS_MIN = 20 };

static struct counters {
    _Alignas(64) _Atomic uint64_t begun; /* pairs whose begin was called, before the call */
    _Atomic uint64_t done;               /* pairs whose end has returned */
} counters[THREADS];
static atomic_bool over;

static void *record(void *argument)
{
    unsigned me = (unsigned)(uintptr_t)argument;
    char name[20];
    snprintf(name, sizeof name, "t%u", me);
    assert_int_equal(rbwp_thread_attach(name), RBWP_OK);
    for (uint64_t pair = 1; !atomic_load(&over); pair++) {
        atomic_store(&counters[me].begun, pair);
        rbwp_begin(me);
        rbwp_gpu_work(pair, me, 0, 0);
        rbwp_end();
        atomic_store(&counters[me].done, pair);
        if (pair % 3 == 0) {
            rbwp_begin(me);
            rbwp_discard();
        }
        if (pair % 64 == 0)
            sched_yield();
    }
    return NULL;
}

static void read_counters(uint64_t *values, bool done)
{
    for (int i = 0; i < THREADS; i++)
        values[i] = atomic_load(done ? &counters[i].done : &counters[i].begun);
}

/*
 * before[i]: pairs begun by the thread when start had returned; after[i]: pairs done when stop was
 * called. Pairs before[i]+1 to after[i] lay inside.
 */
static void check_thread(const struct recorded *recorded, unsigned me, uint64_t before,
                         uint64_t after)
{
    char name[20];
    snprintf(name, sizeof name, "t%u", me);
    uint64_t id = thread_named(recorded, name)->thread_id, first = 0, last = 0, whole = 0;
    const struct rbwp_record *open = NULL, *gpu = NULL;
    for (size_t i = 0; i < recorded->events; i++) {
        const struct rbwp_record *record = &recorded->event[i].record;
        if (recorded->event[i].thread_id != id)
            continue;
        if (record->kind == RBWP_COARSE_BEGIN) {
            assert_null(open);
            assert_int_equal(record->slot, me);
            open = record;
            gpu = NULL;
        } else if (record->kind == RBWP_GPU_WORK) {
            gpu = record;
        } else {
            assert_non_null(open);
            assert_non_null(gpu); /* begin inside: so is what follows it */
            open = NULL;
            if (first == 0)
                first = gpu->proc_id;
            else
                assert_int_equal(gpu->proc_id, last + 1); /* no hole */
            last = gpu->proc_id;
            whole++;
        }
    }
    if (after > before) {
        assert_true(whole >= after - before);
        assert_true(first <= before + 1);
        assert_true(last >= after);
    }
}

static void test_restart(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, record, (void *)i), 0);
    uint64_t pairs = 0;
    for (unsigned restart = 0; restart < RESTARTS; restart++) {
        uint64_t before[THREADS], after[THREADS];
        struct rbwp_session_config config = test_config(restart % 2 + 1);
        config.cap_bytes = restart % 3 == 0 ? 1 << 20 : UINT64_C(1) << 28;
        config.stored = restart % 5 != 0;
        config.stall_ns = UINT64_C(300) * 1000000000;
        struct rbwp_session *session = start(&config);
        read_counters(before, false);
        for (uint64_t i = 0; atomic_load(&counters[i % THREADS].done) <
                             before[i % THREADS] + (restart % 4 ? PAIRS_MIN : 0);)
            sched_yield();
        read_counters(after, true);
        struct rbwp_session_summary summary = stop(session);
        assert_int_equal(summary.lost_records, 0);
        struct recorded recorded = read_back(config.logfile);
        assert_int_equal(all_losses(&recorded), 0);
        if (recorded.trailer->thread_count == THREADS)
            for (unsigned i = 0; i < THREADS; i++)
                check_thread(&recorded, i, before[i], after[i]);
        else
            assert_true(restart < 20); /* they have not all been attached yet */
        pairs += recorded.events / 3;
        recorded_free(&recorded);
    }
    atomic_store(&over, true);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_true(pairs > RESTARTS * PAIRS_MIN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_restart)};
    return cmocka_run_group_tests_name("record_restart", tests, NULL, NULL);
}
