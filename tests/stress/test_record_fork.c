/* SPDX-License-Identifier: Apache-2.0 */
/* fork while a session runs, and of threads that have never seen one. */
#include "rbwp_rows.h"
#include "record_support.h"

#include "unit.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
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

/* ---- an allocator whose handlers of forks were registered after the library's -----------------
 */

enum { HUNG_S = 30 };

static pthread_mutex_t allocator = PTHREAD_MUTEX_INITIALIZER;
static sem_t locked, halted;
static bool watches;
static _Thread_local unsigned allocations_left; /* until the one that is halted; 0: none is */

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *at, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *at, size_t bytes);

/* The process forks now, and has taken the allocator's lock for that. */
static void pass_allocator(void)
{
    if (allocations_left == 0 || --allocations_left > 0)
        return;
    sem_post(&halted);
    sem_wait(&locked);
    pthread_mutex_lock(&allocator);
    pthread_mutex_unlock(&allocator);
}

void *__wrap_malloc(size_t bytes)
{
    pass_allocator();
    return __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    pass_allocator();
    return __real_calloc(count, bytes);
}

void *__wrap_realloc(void *at, size_t bytes)
{
    pass_allocator();
    return __real_realloc(at, bytes);
}

static void lock_allocator(void)
{
    if (!watches)
        return;
    pthread_mutex_lock(&allocator);
    sem_post(&locked);
}

static void unlock_allocator(void)
{
    if (watches)
        pthread_mutex_unlock(&allocator);
}

struct halted_call {
    void (*call)(unsigned nth);
    unsigned nth;
    bool was_halted;
};

static void *call_halted(void *argument)
{
    struct halted_call *halt = argument;
    allocations_left = halt->nth;
    halt->call(halt->nth);
    halt->was_halted = allocations_left == 0;
    allocations_left = 0;
    sem_post(&halted); /* once more, if it was */
    return NULL;
}

/* Forks in the middle of each allocation that the call makes; the child can use names. */
static void fork_in_allocations(void (*call)(unsigned nth))
{
    struct halted_call halt = {.call = call, .was_halted = true};
    alarm(HUNG_S);
    while (halt.was_halted) {
        pthread_t thread;
        uint64_t number;
        int status;
        halt.nth++;
        assert_int_equal(pthread_create(&thread, NULL, call_halted, &halt), 0);
        sem_wait(&halted);
        watches = true;
        pid_t child = fork();
        if (child == 0)
            _exit(rbwp_name_intern("child's", 7, &number) != RBWP_OK);
        watches = false;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        pthread_join(thread, NULL);
        while (sem_trywait(&halted) == 0 || sem_trywait(&locked) == 0)
            ;
    }
    alarm(0);
    assert_true(halt.nth > 1);
}

static void make_name(unsigned nth)
{
    char name[32];
    uint64_t number;
    int bytes = snprintf(name, sizeof name, "made %u", nth);
    assert_int_equal(rbwp_name_intern(name, (size_t)bytes, &number), RBWP_OK);
}

static void make_table(unsigned nth)
{
    static const struct rbwp_column columns[] = {RBWP_COLUMN(U64, NONE, "value", "")};
    struct rbwp_schema schema = RBWP_SCHEMA("made", 1, columns);
    char name[32];
    unsigned table;
    schema.name_bytes = (uint16_t)snprintf(name, sizeof name, "made %u", nth / 2);
    schema.name = name;
    assert_int_equal(rbwp_table_register(&schema, &table), RBWP_OK);
}

static void have_session(unsigned nth)
{
    struct rbwp_session_config config = test_config(1);
    (void)nth;
    (void)stop(start(&config));
}

static void test_fork_while_allocator_is_locked(void **state)
{
    (void)state;
    assert_int_equal(pthread_atfork(lock_allocator, unlock_allocator, unlock_allocator), 0);
    assert_int_equal(sem_init(&locked, 0, 0), 0);
    assert_int_equal(sem_init(&halted, 0, 0), 0);
    fork_in_allocations(make_name);
    fork_in_allocations(make_table);
    fork_in_allocations(have_session);
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
        cmocka_unit_test(test_fork_while_allocator_is_locked),
    };
    return cmocka_run_group_tests_name("record_fork", tests, attach_main, NULL);
}
