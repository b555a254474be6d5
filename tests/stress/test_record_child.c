/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Children that a process with a session makes, in other ways than test_record_fork.c: with a fork
 * handler of the program that records, by daemon(3), by _Fork and vfork, and while a lock is held.
 *
 * What is tried is done in a process of its own; its exit status says where it failed.
 */
#include "record_support.h"

#include "rbwp_counter.h"
#include "rbwp_rows.h"
#include "rows_support.h"
#include "test_point.h"
#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

_Atomic(test_point_fn) test_point_hook;

#define HANG_S 60u

/* In a process under test: its status is the line where it failed. */
#define NEED(condition)                                                                            \
    do {                                                                                           \
        if (!(condition))                                                                          \
            _exit(__LINE__ < 256 ? __LINE__ : 255);                                                \
    } while (0)

static void record_pairs(unsigned slot, int pairs)
{
    for (int i = 0; i < pairs; i++) {
        rbwp_begin(slot);
        rbwp_end();
    }
}

static int status_of(pid_t child)
{
    int status;
    if (waitpid(child, &status, 0) != child)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/* Runs act in a process of its own that records to path; a hang ends it. */
static void assert_works(void (*act)(struct rbwp_session *session, const char *path),
                         const char *path)
{
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct rbwp_session_config config = test_config(1);
        struct rbwp_session *session;
        alarm(HANG_S);
        config.logfile = path;
        NEED(rbwp_thread_attach("parent") == RBWP_OK);
        NEED(rbwp_session_start(&config, &session, NULL) == RBWP_OK);
        record_pairs(3, 2);
        act(session, path);
        _exit(0);
    }
    assert_int_equal(status_of(child), 0);
}

static void assert_recovers(const char *path, const char *expected)
{
    struct recorded recorded = read_recovered(path);
    char *calls = calls_of(&recorded, 0);
    assert_string_equal(calls, expected);
    free(calls);
    recorded_free(&recorded);
}

/* ---- fork --------------------------------------------------------------------------------- */

static bool handler_records;

static void handler_in_child(void)
{
    if (handler_records)
        record_pairs(9, 3);
}

static void fork_with_handler(struct rbwp_session *session, const char *path)
{
    (void)session, (void)path;
    handler_records = true;
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    NEED(status_of(child) == 0);
}

/* A fork handler that the program registered before it ever called us, and that records, finds no
 * session in the child: nothing gets into the chunks that the child shares with its parent. */
static void test_handler_that_records(void **state)
{
    (void)state;
    const char *path = test_path("handler.bin");
    assert_works(fork_with_handler, path);
    assert_recovers(path, "B3 E B3 E");
}

static _Atomic bool fork_begins;

static void handler_before_fork(void)
{
    atomic_store(&fork_begins, true);
}

static _Atomic bool is_inside;

static void stay_during_fork(const char *place)
{
    if (strcmp(place, "tables: a name half added") != 0)
        return;
    atomic_store(&is_inside, true);
    while (!atomic_load(&fork_begins))
        sched_yield();
    for (int i = 0; i < 1000; i++) /* a fork that does not wait has the time to be made */
        sched_yield();
}

static void *intern(void *unused)
{
    uint64_t number;
    (void)unused;
    return rbwp_name_intern("a name", 6, &number) == RBWP_OK ? &is_inside : NULL;
}

/* With the name that another thread of the parent was just adding. */
static void write_row(void)
{
    static const struct rbwp_column columns[] = {RBWP_COLUMN(NAME, LABEL, "name", "")};
    static const struct rbwp_schema schema = RBWP_SCHEMA("child", 1, columns);
    unsigned table;
    uint64_t name;
    NEED(rbwp_table_register(&schema, &table) == RBWP_OK);
    NEED(rbwp_name_intern("a name", 6, &name) == RBWP_OK);
    rbwp_row_add(table, &name);
}

static void fork_during_intern(struct rbwp_session *session, const char *path)
{
    struct rbwp_session_config config = test_config(1);
    pthread_t thread;
    (void)session;
    atomic_store(&fork_begins, false);
    atomic_store(&test_point_hook, stay_during_fork);
    NEED(pthread_create(&thread, NULL, intern, NULL) == 0);
    while (!atomic_load(&is_inside))
        sched_yield();
    pid_t child = fork();
    atomic_store(&test_point_hook, NULL);
    if (child == 0) {
        alarm(HANG_S);
        char other[200];
        snprintf(other, sizeof other, "%s.child", path);
        config.logfile = other;
        NEED(rbwp_session_start(&config, &session, NULL) == RBWP_OK);
        write_row();
        NEED(rbwp_session_stop(session, NULL) == RBWP_OK);
        _exit(0);
    }
    pthread_join(thread, NULL);
    NEED(status_of(child) == 0);
}

/* A fork while another thread adds a name: the child has it whole and does not wait for that
 * thread, which it does not have. */
static void test_fork_while_interning(void **state)
{
    (void)state;
    assert_works(fork_during_intern, test_path("intern.bin"));
    struct read_table read = read_table(test_path("intern.bin.child"), "child");
    assert_int_equal(read.rows, 1);
    struct rbwp_text name = rbwp_catalog_name(read.catalog, read_table_row(&read, 0)[0]);
    assert_int_equal(name.bytes, 6);
    assert_memory_equal(name.text, "a name", 6);
    read_table_free(&read);
}

/* ---- daemon(3) ------------------------------------------------------------------------------ */

static int parent_may_end[2], parent_of_daemon[2];

static void let_parent_end(const char *place)
{
    if (strcmp(place, "start: the parent has the file") == 0)
        NEED(write(parent_may_end[1], "", 1) == 1);
}

static void be_daemon(struct rbwp_session *session, const char *path, pid_t parent)
{
    struct rbwp_session_config config = test_config(1);
    struct rbwp_session_summary summary;
    char number[32];
    alarm(HANG_S);
    record_pairs(4, 2); /* no session */
    NEED(rbwp_session_stop(session, &summary) == RBWP_E_STATE);
    snprintf(number, sizeof number, "process %ld,", (long)parent);
    NEED(strstr(summary.error.text, number) && strstr(summary.error.text, "daemon(3)"));
    NEED(strcmp(summary.path, path) == 0);
    atomic_store(&test_point_hook, let_parent_end);
    config.logfile = path;
    NEED(rbwp_session_start(&config, &session, &summary.error) == RBWP_OK);
    record_pairs(5, 1);
    NEED(rbwp_session_stop(session, NULL) == RBWP_OK);
    NEED(rbwp_session_stop(session, &summary) == RBWP_E_STATE);
    NEED(strstr(summary.error.text, "already"));
    NEED(write(parent_of_daemon[1], &parent, sizeof parent) == sizeof parent);
    _exit(0);
}

/* What daemon(3) does, but that the parent ends only when the child has found that it still has the
 * file. */
static void make_daemon(struct rbwp_session *session, const char *path)
{
    char byte;
    pid_t parent = getpid();
    NEED(pipe(parent_may_end) == 0);
    if (fork() == 0)
        be_daemon(session, path, parent);
    NEED(read(parent_may_end[0], &byte, 1) == 1);
}

/*
 * A daemon is told that the session was its parent's. It may start one of its own with the same
 * file, also if the parent is not quite gone; what the parent recorded is as after a crash.
 */
static void test_daemon(void **state)
{
    (void)state;
    const char *path = test_path("daemon.bin");
    pid_t parent = 0;
    assert_int_equal(pipe(parent_of_daemon), 0);
    assert_works(make_daemon, path);
    close(parent_of_daemon[1]);
    assert_int_equal(read(parent_of_daemon[0], &parent, sizeof parent), sizeof parent);
    struct recorded recorded = read_back(path);
    char *calls = calls_of(&recorded, 0);
    assert_string_equal(calls, "B5 E");
    free(calls);
    recorded_free(&recorded);
    char crashed[200];
    snprintf(crashed, sizeof crashed, "%s.crashed-%ld", path, (long)parent);
    assert_recovers(crashed, "B3 E B3 E");
}

/* ---- children without handlers ------------------------------------------------------------------
 */

/* As _Fork does it, which not every libc has. */
static pid_t bare_fork(void)
{
#ifdef SYS_fork
    return (pid_t)syscall(SYS_fork);
#else
    return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
#endif
}

static void need_refusals(struct rbwp_session *session)
{
    struct rbwp_session_config config = test_config(1);
    struct rbwp_session *own;
    struct rbwp_session_summary summary;
    struct rbwp_error error;
    NEED(rbwp_session_stop(session, &summary) == RBWP_E_STATE);
    NEED(strstr(summary.error.text, "_Fork"));
    NEED(rbwp_session_start(&config, &own, &error) == RBWP_E_STATE);
    NEED(!own && strstr(error.text, "_Fork"));
}

static void bare_fork_and_exit(struct rbwp_session *session, const char *path)
{
    (void)path;
    fflush(NULL);
    pid_t child = bare_fork();
    if (child == 0) {
        alarm(HANG_S);
        need_refusals(session);
        exit(0);
    }
    NEED(status_of(child) == 0);
    record_pairs(6, 1);
    NEED(rbwp_session_stop(session, NULL) == RBWP_OK);
}

/* A child that ran no fork handlers has the parent's state without its threads: it is refused, and
 * its exit does not wait for them. */
static void test_bare_fork(void **state)
{
    (void)state;
    const char *path = test_path("bare.bin");
    assert_works(bare_fork_and_exit, path);
    struct recorded recorded = read_back(path);
    assert_int_equal(recorded.events, 6);
    recorded_free(&recorded);
}

static void vfork_and_stop(struct rbwp_session *session, const char *path)
{
    (void)path;
    pid_t child = vfork();
    if (child == 0) {
        need_refusals(session);
        _exit(0);
    }
    NEED(status_of(child) == 0);
    record_pairs(6, 1);
    NEED(rbwp_session_stop(session, NULL) == RBWP_OK);
}

/* A child that shares its parent's memory does not end its session. */
static void test_vfork(void **state)
{
    (void)state;
    const char *path = test_path("vfork.bin");
    assert_works(vfork_and_stop, path);
    struct recorded recorded = read_back(path);
    assert_int_equal(recorded.events, 6);
    recorded_free(&recorded);
}

/* ---- children that record ---------------------------------------------------------------------
 */

static void *record_on_thread(void *unused)
{
    (void)unused;
    if (rbwp_thread_attach("child's thread") == RBWP_OK)
        record_pairs(5, 100);
    return NULL;
}

/* One that executes another program or does nothing has no file; the others have a whole one each.
 */
static int family(int kind)
{
    pthread_t threads[3];
    pid_t grandchild;
    switch (kind) {
    case 0:
        return 0;
    case 1: /* on the thread that forked */
        rbwp_begin(4);
        rbwp_fine_begin(7);
        rbwp_fine_end();
        rbwp_end();
        return 0;
    case 2: /* on several at once */
        for (int i = 0; i < 3; i++)
            NEED(pthread_create(&threads[i], NULL, record_on_thread, NULL) == 0);
        for (int i = 0; i < 3; i++)
            NEED(pthread_join(threads[i], NULL) == 0);
        return 0;
    case 3: /* its child records, it does not */
        grandchild = fork();
        if (grandchild == 0) {
            record_pairs(6, 1);
            exit(0);
        }
        NEED(status_of(grandchild) == 0);
        return 0;
    default: /* of its own accord */ {
        struct rbwp_session_config config = test_config(1);
        struct rbwp_session *session;
        config.logfile = test_path("own.bin");
        NEED(rbwp_session_start(&config, &session, NULL) == RBWP_OK);
        record_pairs(8, 1);
        NEED(rbwp_session_stop(session, NULL) == RBWP_OK);
        return 0;
    }
    }
}

static char *path_of_child(pid_t pid)
{
    static char path[4096];
    snprintf(path, sizeof path, "%.*s.%ld.bin", (int)strlen(test_path("family.bin")) - 4,
             test_path("family.bin"), (long)pid);
    return path;
}

static int64_t parent_told(const struct recorded *recorded)
{
    for (uint32_t i = 0; i < recorded->trailer->job_fact_count; i++)
        if (recorded->trailer->job_facts[i].what == RBWP_JOB_PARENT)
            return recorded->trailer->job_facts[i].number;
    return -1;
}

static void assert_child(pid_t pid, const char *expected, uint64_t records)
{
    struct recorded recorded = read_back(path_of_child(pid));
    if (expected) {
        char *calls = calls_of(&recorded, 0);
        assert_string_equal(calls, expected);
        free(calls);
    }
    assert_int_equal(recorded.events, records);
    assert_int_equal(all_losses(&recorded), 0);
    assert_int_equal(parent_told(&recorded), getpid());
    recorded_free(&recorded);
}

static void test_children_record(void **state)
{
    (void)state;
    enum { KINDS = 5 };
    struct rbwp_session_config config = test_config(2);
    pid_t pids[KINDS];
    config.logfile = test_path("family.bin");
    config.children = true;
    assert_int_equal(rbwp_thread_attach("parent"), RBWP_OK);
    struct rbwp_session *session = start(&config);
    record_pairs(3, 1);
    for (int kind = 0; kind < KINDS; kind++) {
        fflush(NULL);
        if ((pids[kind] = fork()) == 0) {
            alarm(HANG_S);
            exit(family(kind));
        }
        assert_int_equal(status_of(pids[kind]), 0);
    }
    record_pairs(3, 1);
    (void)stop(session);
    assert_int_equal(rbwp_thread_detach(), RBWP_OK);
    assert_int_not_equal(access(path_of_child(pids[0]), F_OK), 0);
    assert_child(pids[1], "B4 F7 f E", 4);
    assert_child(pids[2], NULL, 600);
    assert_int_not_equal(access(path_of_child(pids[3]), F_OK), 0);
    assert_int_not_equal(access(path_of_child(pids[4]), F_OK), 0);
    struct recorded recorded = read_back(config.logfile), own = read_back(test_path("own.bin"));
    assert_int_equal(recorded.events, 4);
    assert_int_equal(own.events, 2);
    recorded_free(&recorded);
    recorded_free(&own);
}

/* A child's session begins with a row of a thread that is not attached, and by the settings has
 * rows to write itself. */
static void test_child_begins_by_a_stray_row(void **state)
{
    (void)state;
    struct rbwp_session_config config = test_config(2);
    unsigned slot, counter;
    FILE *settings = fopen(test_path("settings"), "w");
    assert_true(settings && fchmod(fileno(settings), 0600) == 0);
    assert_true(fputs("disable \"stray item\"\n", settings) > 0 && fclose(settings) == 0);
    assert_int_equal(rbwp_work_item_register("stray item", &slot), RBWP_OK);
    assert_int_equal(rbwp_counter_register("depth", "", &counter), RBWP_OK);
    config.logfile = test_path("family.bin");
    config.settings = test_path("settings");
    config.children = true;
    struct rbwp_session *session = start(&config);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        alarm(HANG_S);
        rbwp_counter(counter, 5);
        exit(0);
    }
    assert_int_equal(status_of(child), 0);
    (void)stop(session);
    struct recorded recorded = read_back(path_of_child(child));
    assert_int_equal(all_losses(&recorded), 0);
    recorded_free(&recorded);
}

static void *state_after_a_call(void *state_out)
{
    NEED(rbwp_thread_attach("cancelled") == RBWP_OK);
    errno = ERANGE;
    record_pairs(3, 1);
    NEED(errno == ERANGE);
    NEED(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, state_out) == 0);
    return NULL;
}

/* Where a child's session cannot start its threads can be cancelled as before. */
static void test_child_without_file(void **state)
{
    (void)state;
    struct rbwp_session_config config = test_config(1);
    config.logfile = test_path("family.bin");
    config.children = true;
    struct rbwp_session *session = start(&config);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        int before = -1;
        pthread_t thread;
        NEED(mkdir(path_of_child(getpid()), 0700) == 0);
        NEED(pthread_create(&thread, NULL, state_after_a_call, &before) == 0);
        NEED(pthread_join(thread, NULL) == 0);
        NEED(before == PTHREAD_CANCEL_ENABLE);
        NEED(rmdir(path_of_child(getpid())) == 0);
        _exit(0);
    }
    assert_int_equal(status_of(child), 0);
    (void)stop(session);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_handler_that_records),
        cmocka_unit_test(test_fork_while_interning),
        cmocka_unit_test(test_daemon),
        cmocka_unit_test(test_bare_fork),
        cmocka_unit_test(test_vfork),
        cmocka_unit_test(test_children_record),
        cmocka_unit_test(test_child_begins_by_a_stray_row),
        cmocka_unit_test(test_child_without_file),
    };
    pthread_atfork(handler_before_fork, NULL, handler_in_child);
    return cmocka_run_group_tests_name("record_child", tests, NULL, NULL);
}
