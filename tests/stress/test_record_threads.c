/* SPDX-License-Identifier: Apache-2.0 */
/* Many threads, in turn and at once: each has its own id, name and records in the file. */
#include "record_support.h"

#include "unit.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_barrier_t together;

static void record_number(unsigned number)
{
    char name[20];
    snprintf(name, sizeof name, "number %u", number);
    assert_int_equal(rbwp_thread_attach(name), RBWP_OK);
    for (unsigned i = 0; i <= number % 7; i++) {
        rbwp_begin(number % 256);
        rbwp_fine_begin(number);
        rbwp_fine_end();
        rbwp_end();
        rbwp_begin(1);
        rbwp_discard();
    }
}

static void *in_turn(void *number)
{
    record_number((unsigned)(uintptr_t)number);
    if ((uintptr_t)number % 2)
        assert_int_equal(rbwp_thread_detach(), RBWP_OK);
    return NULL; /* every second one without a detach */
}

static void *at_once(void *number)
{
    pthread_barrier_wait(&together); /* nobody ends before all have begun */
    record_number((unsigned)(uintptr_t)number);
    pthread_barrier_wait(&together);
    return NULL;
}

static int by_id(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

static void check_threads(const char *path, unsigned count)
{
    struct recorded recorded = read_back(path);
    const struct rbwp_trailer *trailer = recorded.trailer;
    assert_int_equal(trailer->thread_count, count);
    assert_int_equal(all_losses(&recorded), 0);
    uint64_t *ids = calloc(count, sizeof *ids), expected = 0;
    for (unsigned i = 0; i < count; i++)
        ids[i] = trailer->threads[i].thread_id;
    qsort(ids, count, sizeof *ids, by_id);
    for (unsigned i = 1; i < count; i++)
        assert_true(ids[i] != ids[i - 1]);
    free(ids);

    /* The name has the number, the number has the records. */
    for (unsigned i = 0; i < count; i++) {
        char name[20] = "";
        unsigned number;
        memcpy(name, trailer->threads[i].name, trailer->threads[i].name_bytes);
        assert_int_equal(sscanf(name, "number %u", &number), 1);
        assert_int_equal(trailer->threads[i].records, 4 * (number % 7 + 1));
        assert_true(trailer->threads[i].detached_ns >= trailer->threads[i].attached_ns);
        expected += trailer->threads[i].records;
    }
    assert_int_equal(recorded.events, expected);
    for (size_t i = 0; i < recorded.events; i += 4) {
        assert_int_equal(recorded.event[i].record.kind, RBWP_COARSE_BEGIN);
        assert_int_equal(recorded.event[i].record.slot,
                         recorded.event[i + 1].record.sub_item % 256);
        assert_int_equal(recorded.event[i].thread_id, recorded.event[i + 3].thread_id);
    }
    assert_matched(&recorded);
    recorded_free(&recorded);
}

static void test_in_turn(void **state)
{
    (void)state;
    enum { COUNT = 1000 };
    struct rbwp_session_config config = test_config(2);
    config.cap_bytes = 1 << 20;
    struct rbwp_session *session = start(&config);
    for (uintptr_t i = 0; i < COUNT; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, in_turn, (void *)i), 0);
        pthread_join(thread, NULL);
    }
    (void)stop(session);
    check_threads(config.logfile, COUNT);
}

static void test_at_once(void **state)
{
    (void)state;
    enum { COUNT = 200 };
    pthread_t threads[COUNT];
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 256 << 10);
    pthread_barrier_init(&together, NULL, COUNT);
    struct rbwp_session_config config = test_config(2);
    config.cap_bytes = 1 << 20; /* far less than each thread's own two chunks */
    struct rbwp_session *session = start(&config);
    for (uintptr_t i = 0; i < COUNT; i++)
        assert_int_equal(pthread_create(&threads[i], &small, at_once, (void *)i), 0);
    for (int i = 0; i < COUNT; i++)
        pthread_join(threads[i], NULL);
    (void)stop(session);
    check_threads(config.logfile, COUNT);
    pthread_barrier_destroy(&together);
    pthread_attr_destroy(&small);
}

/* ---- threads that are moved about --------------------------------------------------------------
 */

enum { MOVED = 3, MOVED_PAIRS = 20000 };

static _Atomic unsigned still_record;

static void *record_while_moved(void *unused)
{
    assert_int_equal(rbwp_thread_attach("moved"), RBWP_OK);
    for (int i = 0; i < MOVED_PAIRS; i++) {
        rbwp_begin(1);
        rbwp_end();
    }
    atomic_fetch_sub(&still_record, 1);
    return unused;
}

/* Gives each thread of the process, the session's own ones too, one of the CPUs in turn. */
static void move_all(const cpu_set_t *cpus, unsigned turn)
{
    DIR *tasks = opendir("/proc/self/task");
    assert_non_null(tasks);
    for (struct dirent *task; (task = readdir(tasks)) != NULL; turn++) {
        int cpu = 0;
        for (unsigned nth = turn % (unsigned)CPU_COUNT(cpus) + 1; nth > 0; cpu++)
            nth -= CPU_ISSET((size_t)cpu, cpus) ? 1 : 0;
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET((size_t)cpu - 1, &one);
        if (atoi(task->d_name) > 0) /* one that has just ended cannot be moved */
            (void)sched_setaffinity(atoi(task->d_name), sizeof one, &one);
    }
    closedir(tasks);
}

/* Threads that change CPUs all the time: all is there, and time never runs backwards on a thread.
 */
static void test_moved(void **state)
{
    (void)state;
    cpu_set_t cpus;
    assert_int_equal(sched_getaffinity(0, sizeof cpus, &cpus), 0);
    pthread_t threads[MOVED];
    struct rbwp_session_config config = test_config(1);
    config.cap_bytes = 1 << 18;
    config.stall_ns = UINT64_C(300) * 1000000000;
    struct rbwp_session *session = start(&config);
    atomic_store(&still_record, MOVED);
    for (int i = 0; i < MOVED; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, record_while_moved, NULL), 0);
    for (unsigned turn = 0; atomic_load(&still_record) > 0; turn++)
        move_all(&cpus, turn);
    for (int i = 0; i < MOVED; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(stop(session).records, 2 * MOVED * MOVED_PAIRS);
    assert_int_equal(sched_setaffinity(0, sizeof cpus, &cpus), 0);
    struct recorded recorded = read_back(config.logfile);
    assert_int_equal(recorded.events, 2 * MOVED * MOVED_PAIRS);
    assert_int_equal(all_losses(&recorded), 0);
    assert_matched(&recorded);
    recorded_free(&recorded);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_in_turn),
        cmocka_unit_test(test_at_once),
        cmocka_unit_test(test_moved),
    };
    return cmocka_run_group_tests_name("record_threads", tests, NULL, NULL);
}
