/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is read of a program while it goes on. Guards: of each thread a recovery of FILE and
 * FILE.live has all records up to some moment, none missing in the middle and none twice, while
 * chunks are filled, written, used again and elided; and no later recovery has less.
 */
#include "record_support.h"
#include "rbwp_recover.h"
#include "sanitized.h"
#include "test_point.h"
#include "unit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

_Atomic(test_point_fn) test_point_hook;

enum { THREADS = 3, ROUNDS = PART_UNDER_TSAN(8, 20), RECORDS_A_ROUND = 2000 };

static _Atomic uint64_t allowed; /* records a thread may make by now; UINT64_MAX: it ends */

/* Each GPU_WORK record has its number as its start; those of empty calls are elided. */
static void *record_numbers(void *argument)
{
    unsigned slot = *(unsigned *)argument;
    uint64_t number = 0;
    assert_int_equal(rbwp_thread_attach("numbers"), RBWP_OK);
    for (uint64_t call = 0; atomic_load(&allowed) != UINT64_MAX; call++) {
        if (number >= atomic_load(&allowed)) {
            sched_yield();
            continue;
        }
        bool empty = call % 3 == 1;
        rbwp_begin(slot);
        for (int i = 0; i < 5; i++)
            rbwp_gpu_work(7, slot, empty ? INT64_MAX / 2 : (int64_t)number++, INT64_MAX);
        rbwp_set_worked(!empty);
        rbwp_end();
    }
    rbwp_thread_detach();
    return NULL;
}

struct seen {
    uint64_t thread_id, next;
};

static struct seen *seen_of(struct seen *seen, uint64_t thread_id)
{
    int i = 0;
    while (i < THREADS && seen[i].thread_id && seen[i].thread_id != thread_id)
        i++;
    assert_true(i < THREADS);
    seen[i].thread_id = thread_id;
    return &seen[i];
}

/* Empty calls that were still open when it was looked may be in a file, at the very end only. */
static void follow_numbers(const struct rbwp_block *block, struct seen *seen)
{
    struct rbwp_record_iterator iterator;
    struct rbwp_record record;
    rbwp_record_first(block, &iterator);
    while (rbwp_record_next(&iterator, &record)) {
        if (record.kind != RBWP_GPU_WORK)
            continue;
        if (record.start_ns == INT64_MAX / 2)
            continue;
        assert_int_equal(record.start_ns, seen->next);
        seen->next++;
    }
}

static void recover_and_follow(const char *path, const char *live, struct seen *seen)
{
    FILE *file = tmpfile();
    int fd = fileno(file);
    struct rbwp_sink sink = rbwp_sink_fd(&fd);
    struct rbwp_recover_result result;
    struct rbwp_error error = {0};
    struct rbwp_reader *reader;
    struct rbwp_block block;
    assert_int_equal(rbwp_recover(path, live, &sink, NULL, NULL, &result, &error), RBWP_OK);
    assert_true(result.is_written);
    assert_int_equal(result.moved_chunks + result.damaged_chunks + result.missing_bytes, 0);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    assert_int_equal(rbwp_reader_open_fd(fd, NULL, &reader, NULL), RBWP_OK);
    while (rbwp_reader_next_block(reader, &block) == RBWP_OK)
        if (block.header.records)
            follow_numbers(&block, seen_of(seen, block.header.thread_id));
    assert_int_equal(rbwp_reader_problem_count(reader), 0);
    rbwp_reader_close(reader);
    fclose(file);
}

static void no_gap_and_none_twice(void **state)
{
    (void)state;
    struct rbwp_session_config config = small_chunks(1);
    struct rbwp_session *session = start(&config);
    pthread_t threads[THREADS];
    unsigned slot;
    char *live;
    uint64_t before = 0;
    assert_true(asprintf(&live, "%s.live", config.logfile) > 0);
    assert_int_equal(rbwp_work_item_register("numbered", &slot), RBWP_OK);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, record_numbers, &slot), 0);
    for (int round = 0; round < ROUNDS; round++) {
        atomic_fetch_add(&allowed, RECORDS_A_ROUND);
        struct seen seen[THREADS] = {0};
        recover_and_follow(config.logfile, live, seen);
        uint64_t all = seen[0].next + seen[1].next + seen[2].next;
        assert_true(all >= before);
        before = all;
    }
    atomic_store(&allowed, UINT64_MAX);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_true(before > 0);
    (void)stop(session);
    free(live);
}

/* ---- calls that are elided ------------------------------------------------------------ */

static struct rbwp_session_config held_config;
static unsigned looks;

static void look_while_words_are_cleared(const char *place)
{
    if (strcmp(place, "take back: a word cleared") != 0)
        return;
    char live[300];
    struct seen seen[THREADS] = {0};
    snprintf(live, sizeof live, "%s.live", held_config.logfile);
    recover_and_follow(held_config.logfile, live, seen);
    assert_int_equal(seen[0].next, 3); /* what was kept, and nothing that has lost a part */
    looks++;
}

/* A call that is elided loses its words one by one. Whenever it is looked, or the program dies,
 * no event is seen that has its first word but not the others. */
static void half_taken_back(void **state)
{
    (void)state;
    unsigned slot;
    held_config = small_chunks(1);
    struct rbwp_session *session = start(&held_config);
    assert_int_equal(rbwp_work_item_register("numbered", &slot), RBWP_OK);
    assert_int_equal(rbwp_thread_attach("numbers"), RBWP_OK);
    rbwp_begin(slot);
    for (int64_t number = 0; number < 3; number++)
        rbwp_gpu_work(7, slot, number, INT64_MAX);
    rbwp_end();
    rbwp_begin(slot);
    for (int i = 0; i < 3; i++)
        rbwp_gpu_work(7, slot, INT64_MAX / 2, INT64_MAX);
    rbwp_set_worked(false);
    atomic_store(&test_point_hook, look_while_words_are_cleared);
    rbwp_end();
    atomic_store(&test_point_hook, NULL);
    assert_int_equal(looks, 1 + 3 * 4);
    assert_int_equal(rbwp_thread_detach(), RBWP_OK);
    (void)stop(session);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_gap_and_none_twice),
                                       cmocka_unit_test(half_taken_back)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
