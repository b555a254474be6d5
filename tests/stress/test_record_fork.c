/* SPDX-License-Identifier: Apache-2.0 */
/* fork while a session runs, and of threads that have never seen one. */
#include "record_support.h"

#include "unit.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 3, FORKS = 20, PAIRS_A_FORK = 20000 };

static atomic_bool over;
static _Atomic uint64_t pairs, pairs_allowed;

/* So that the names' lock is held now and then. */
static void use_names(void)
{
    unsigned slot;
    if (rbwp_work_item_register("busy", &slot) == RBWP_OK)
        (void)rbwp_work_item_release(slot);
}

/* At full speed around each fork, resting in between: the file stays small. */
static void *record(void *argument)
{
    static const struct timespec rest = {0, 100 * 1000};
    (void)argument;
    assert_int_equal(rbwp_thread_attach("busy"), RBWP_OK);
    while (!atomic_load(&over)) {
        if (atomic_load(&pairs) >= atomic_load(&pairs_allowed)) {
            nanosleep(&rest, NULL);
            continue;
        }
        rbwp_begin(1);
        rbwp_end();
        if (atomic_fetch_add(&pairs, 1) % 64 == 0)
            use_names();
    }
    return NULL;
}

static void start_recording(pthread_t threads[THREADS])
{
    atomic_store(&over, false);
    atomic_store(&pairs, 0);
    atomic_store(&pairs_allowed, 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, record, NULL), 0);
}

static void end_recording(pthread_t threads[THREADS])
{
    atomic_store(&over, true);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

/* Lets the threads go on, and returns when they are in the middle of it. */
static void stir(void)
{
    uint64_t before = atomic_load(&pairs);
    atomic_store(&pairs_allowed, before + PAIRS_A_FORK);
    while (atomic_load(&pairs) < before + PAIRS_A_FORK / 20)
        sched_yield();
}

static void *record_in_child(void *argument)
{
    (void)argument;
    if (rbwp_thread_attach("child's thread") != RBWP_OK)
        _exit(10);
    rbwp_begin(6);
    rbwp_end();
    return NULL;
}

/* What a child does: it records nothing into its parent's session, and has one of its own. */
static void child_session(const char *path)
{
    struct rbwp_session_config config = test_config(2);
    struct rbwp_session *session;
    struct rbwp_session_summary summary;
    struct rbwp_error error;
    pthread_t thread;
    rbwp_end();
    rbwp_begin(5); /* no session */
    config.logfile = path;
    if (rbwp_session_start(&config, &session, &error) != RBWP_OK)
        _exit(11);
    for (int i = 0; i < 3; i++) { /* on stacks of threads that the child does not have */
        if (pthread_create(&thread, NULL, record_in_child, NULL) != 0)
            _exit(12);
        pthread_join(thread, NULL);
    }
    rbwp_begin(7);
    rbwp_end();
    if (rbwp_session_stop(session, &summary) != RBWP_OK)
        _exit(13);
    if (summary.records != 8 || summary.misuse_calls != 0 || summary.lost_records != 0)
        _exit(14);
}

static void check_child(pid_t child, const char *path)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    struct recorded recorded = read_back(path);
    char *calls = calls_of(&recorded, thread_named(&recorded, "main")->thread_id);
    assert_string_equal(calls, "B7 E");
    free(calls);
    assert_int_equal(recorded.trailer->thread_count, 4);
    assert_int_equal(recorded.trailer->process_id, child);
    recorded_free(&recorded);
}

static void fork_children(const char *path)
{
    for (int i = 0; i < FORKS; i++) {
        stir();
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            child_session(path);
            _exit(0);
        }
        check_child(child, path);
    }
}

/* Forks with a session, in a call's way on other threads: the parent's file has all its pairs. */
static void test_fork_in_session(void **state)
{
    (void)state;
    struct rbwp_session_config config = test_config(1);
    config.cap_bytes = 1 << 20;
    config.stall_ns = UINT64_C(300) * 1000000000;
    struct rbwp_session *session = start(&config);
    pthread_t threads[THREADS];
    start_recording(threads);
    rbwp_begin(2);
    fork_children(test_path("child.bin"));
    rbwp_end();
    end_recording(threads);
    assert_int_equal(stop(session).records, 2 * atomic_load(&pairs) + 2);
    struct recorded recorded = read_back(config.logfile);
    assert_int_equal(all_losses(&recorded), 0);
    assert_matched(&recorded);
    recorded_free(&recorded);
}

/* Forks of a process whose threads were attached and that has had no session: the child knows only
 * its own thread, also where its new threads get the stacks of those that are gone. */
static void test_fork_before_any_session(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    start_recording(threads);
    fork_children(test_path("child.bin"));
    end_recording(threads);
}

static int attach_main(void **state)
{
    (void)state;
    return rbwp_thread_attach("main") == RBWP_OK ? 0 : 1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fork_before_any_session), /* first: no session before it */
        cmocka_unit_test(test_fork_in_session),
    };
    return cmocka_run_group_tests_name("record_fork", tests, attach_main, NULL);
}
