/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads and processes that come and go while a session runs, in the ways that programs have:
 * exec and quick_exit leave all records to rbwp repair, exit leaves a whole file; threads by the
 * thousand, in turn and at once, each have their own, and what their calls did with their time;
 * start and stop may be called by any thread at any time.
 */
#include "known_tables.h"
#include "on_cpu.h"
#include "record_support.h"
#include "rows_support.h"
#include "sanitized.h"

#include "unit.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef SANITIZED /* which makes each thread a stack more: more of the same */
enum { MANY_THREADS = 3000 };
#else
enum { MANY_THREADS = 10000 };
#endif
enum { PAIRS = 20000 };

/* ---- processes ------------------------------------------------------------------------------ */

static void become_another_program(void)
{
    execl("/bin/true", "true", (char *)NULL);
}

static void end_quickly(void)
{
    quick_exit(0);
}

/* A child that records and then ends in that way. */
static void leave_behind(const char *path, void (*leave)(void))
{
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct rbwp_session_config config = test_config(1);
        struct rbwp_session *session;
        config.logfile = path;
        if (rbwp_thread_attach("leaves") != RBWP_OK ||
            rbwp_session_start(&config, &session, NULL) != RBWP_OK)
            _exit(20);
        for (int i = 0; i < PAIRS; i++) {
            rbwp_begin(3);
            rbwp_end();
        }
        leave();
        _exit(21);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void assert_left_behind(void (*leave)(void))
{
    const char *path = test_path("left.bin");
    leave_behind(path, leave);
    struct recorded recorded = read_recovered(path);
    assert_int_equal(recorded.events, 2 * PAIRS);
    assert_non_null(thread_named(&recorded, "leaves"));
    assert_matched(&recorded);
    recorded_free(&recorded);
    char live[160];
    snprintf(live, sizeof live, "%s.live", path);
    assert_int_equal(unlink(live), 0);
}

/* The session does not go over to the new program, nor its files: it is as if killed. */
static void test_exec_in_session(void **state)
{
    (void)state;
    assert_left_behind(become_another_program);
}

static void test_quick_exit_in_session(void **state)
{
    (void)state;
    assert_left_behind(end_quickly);
}

/* exit() with a session running, also while another thread stops it: the file is whole. */
static void *stop_session(void *session)
{
    (void)rbwp_session_stop(session, NULL);
    return NULL;
}

static void record_and_exit(const char *path, bool stopped)
{
    struct rbwp_session_config config = test_config(1);
    struct rbwp_session *session;
    pthread_t thread;
    config.logfile = path;
    if (rbwp_thread_attach("exits") != RBWP_OK ||
        rbwp_session_start(&config, &session, NULL) != RBWP_OK)
        _exit(20);
    for (int i = 0; i < PAIRS; i++) {
        rbwp_begin(3);
        rbwp_end();
    }
    if (stopped &&
        (pthread_create(&thread, NULL, stop_session, session) != 0 || pthread_detach(thread) != 0))
        _exit(21);
    exit(0);
}

static void test_exit_in_session(void **state)
{
    (void)state;
    const char *path = test_path("exit.bin");
    for (int turn = 0; turn < 10; turn++) {
        fflush(NULL);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            record_and_exit(path, turn % 2);
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        struct recorded recorded = read_back(path);
        assert_int_equal(recorded.events, 2 * PAIRS);
        recorded_free(&recorded);
    }
}

/* ---- threads -------------------------------------------------------------------------------- */

static pthread_barrier_t all_there;

static void *record_one(void *together)
{
    const struct timespec long_enough = {0, 100000}; /* for a row */
    if (rbwp_thread_attach(NULL) != RBWP_OK)
        return NULL;
    if (together)
        pthread_barrier_wait(&all_there);
    rbwp_begin(1);
    nanosleep(&long_enough, NULL);
    rbwp_end();
    if (together)
        pthread_barrier_wait(&all_there);
    return together; /* exit detaches */
}

/* Each call has a row, or its thread one that says that nothing is known; and there is one of all,
 * and at most one of how long each thread ran. */
static void assert_each_waited(size_t threads)
{
    struct read_table calls = read_table(test_path("test.bin"), "call_cpu");
    struct read_table known = read_table(test_path("test.bin"), "thread_cpu");
    size_t unknown = 0, of_all = 0, sums = 0;
    for (size_t i = 0; i < known.rows; i++) {
        const uint64_t *row = read_table_row(&known, i);
        unknown += !row[AT_thread_cpu_known];
        of_all += row[AT_thread_cpu_thread] == 0;
        sums += (int64_t)row[AT_thread_cpu_ran] >= 0;
    }
    assert_int_equal(of_all, on_cpu_is_known());
    assert_int_equal(known.rows, unknown + of_all + sums);
    assert_true(sums <= threads);
    assert_int_equal(calls.rows + unknown, on_cpu_is_known() ? threads : 0);
    assert_true(unknown < threads); /* how many depends on when the writer gets a CPU */
    read_table_free(&calls);
    read_table_free(&known);
}

static void assert_each_has_its_pair(size_t threads)
{
    assert_each_waited(threads);
    struct recorded recorded = read_back(test_path("test.bin"));
    assert_int_equal(recorded.trailer->thread_count, threads);
    for (size_t i = 0; i < threads; i++)
        assert_int_equal(recorded.trailer->threads[i].records, 2);
    assert_int_equal(recorded.events, 2 * threads);
    assert_int_equal(all_losses(&recorded), 0);
    recorded_free(&recorded);
}

/* One after the other, with a cap that holds a fraction of them: chunks come back. */
static void test_many_threads_in_turn(void **state)
{
    (void)state;
    enum { THREADS = MANY_THREADS };
    struct rbwp_session_config config = small_chunks(1);
    struct rbwp_session *session = start(&config);
    for (int i = 0; i < THREADS; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, record_one, NULL), 0);
        pthread_join(thread, NULL);
    }
    assert_true(stop(session).peak_bytes < THREADS * 4096 / 10);
    assert_each_has_its_pair(THREADS);
}

/* More at once than the cap has chunks: each may have its own all the same. */
static void test_many_threads_at_once(void **state)
{
    (void)state;
    enum { THREADS = 256 };
    pthread_t threads[THREADS];
    struct rbwp_session_config config = small_chunks(1);
    struct rbwp_session *session = start(&config);
    pthread_barrier_init(&all_there, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, record_one, session), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&all_there);
    stop(session);
    assert_each_has_its_pair(THREADS);
}

/* ---- start and stop ------------------------------------------------------------------------- */

enum { RIVALS = 4, TURNS = 60 };

static _Atomic unsigned started, refused, stopped, running_now;
static _Atomic(struct rbwp_session *) shared;

/* Starts sessions, and stops whichever runs, his own or another's. */
static void *start_and_stop(void *argument)
{
    (void)argument;
    struct rbwp_session_config config = small_chunks(1);
    (void)rbwp_thread_attach("rival");
    for (int i = 0; i < TURNS; i++) {
        struct rbwp_session *session;
        enum rbwp_status status = rbwp_session_start(&config, &session, NULL);
        if (status == RBWP_OK) {
            if (atomic_fetch_add(&running_now, 1) != 0)
                fail_msg("two sessions at once");
            atomic_fetch_add(&started, 1);
            atomic_store(&shared, session);
        } else if (status == RBWP_E_BUSY) {
            atomic_fetch_add(&refused, 1);
        } else {
            fail_msg("start: %s", rbwp_status_text(status));
        }
        rbwp_begin(1);
        rbwp_end();
        session = atomic_exchange(&shared, NULL);
        if (!session)
            continue;
        atomic_fetch_sub(&running_now, 1);
        if (rbwp_session_stop(session, NULL) != RBWP_OK)
            fail_msg("stop");
        atomic_fetch_add(&stopped, 1);
    }
    return NULL;
}

static void test_start_and_stop_by_many(void **state)
{
    (void)state;
    pthread_t rivals[RIVALS];
    started = refused = stopped = running_now = 0;
    for (int i = 0; i < RIVALS; i++)
        assert_int_equal(pthread_create(&rivals[i], NULL, start_and_stop, NULL), 0);
    for (int i = 0; i < RIVALS; i++)
        pthread_join(rivals[i], NULL);
    assert_int_equal(started, stopped);
    assert_int_equal(started + refused, RIVALS * TURNS);
    assert_true(started > 0);
    assert_int_equal(rbwp_level_, 0);
    struct recorded recorded = read_back(test_path("test.bin")); /* the last one's */
    recorded_free(&recorded);
}

/* Several stop the same session: one does, the others are told that it is not theirs to stop. */
static void *stop_it(void *session)
{
    pthread_barrier_wait(&all_there);
    return (void *)(intptr_t)rbwp_session_stop(session, NULL);
}

static void test_stop_by_many(void **state)
{
    (void)state;
    pthread_barrier_init(&all_there, NULL, RIVALS);
    for (int turn = 0; turn < 50; turn++) {
        struct rbwp_session_config config = small_chunks(1);
        struct rbwp_session *session = start(&config);
        pthread_t rivals[RIVALS];
        int good = 0;
        for (int i = 0; i < RIVALS; i++)
            assert_int_equal(pthread_create(&rivals[i], NULL, stop_it, session), 0);
        for (int i = 0; i < RIVALS; i++) {
            void *status;
            pthread_join(rivals[i], &status);
            good += (intptr_t)status == RBWP_OK;
            assert_true((intptr_t)status == RBWP_OK || (intptr_t)status == RBWP_E_STATE);
        }
        assert_int_equal(good, 1);
    }
    pthread_barrier_destroy(&all_there);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exec_in_session),      cmocka_unit_test(test_quick_exit_in_session),
        cmocka_unit_test(test_exit_in_session),      cmocka_unit_test(test_many_threads_in_turn),
        cmocka_unit_test(test_many_threads_at_once), cmocka_unit_test(test_start_and_stop_by_many),
        cmocka_unit_test(test_stop_by_many),
    };
    return cmocka_run_group_tests_name("record_life", tests, NULL, NULL);
}
