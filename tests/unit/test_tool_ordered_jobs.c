/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs come back in the order in which they were submitted, each run once, whatever the number of
 * threads and queues; those of a serial queue run one after the other; what a job keeps is there
 * when it is used again; queues end with jobs untaken.
 */
#include "ordered_jobs.h"
#include "unit.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

enum { JOBS = 3000 };

struct job {
    uint64_t number, result;
    unsigned runs;
    char *kept;
};

static atomic_uint run_count, stop_count;

/* Some take much longer than others. */
static void run(void *context)
{
    struct job *job = context;
    uint64_t value = job->number;
    for (uint64_t i = 0; i < (job->number % 7 == 0 ? 20000u : 10u); i++)
        value = value * 6364136223846793005u + 1;
    if (!job->kept)
        job->kept = malloc(16);
    job->result = job->number * 3;
    job->runs += value != 1;
    atomic_fetch_add(&run_count, 1);
}

static void stop(void *context)
{
    struct job *job = context;
    free(job->kept);
    atomic_fetch_add(&stop_count, 1);
}

static void expect_result(const struct job *job, uint64_t number)
{
    assert_non_null(job);
    assert_int_equal(job->number, number);
    assert_int_equal(job->result, number * 3);
}

static uint64_t submit_all(struct ordered_jobs *jobs, uint64_t count)
{
    uint64_t taken = 0;
    for (uint64_t i = 0; i < count; i++) {
        struct job *job;
        while (!(job = ordered_jobs_next(jobs)))
            expect_result(ordered_jobs_take(jobs), taken++);
        job->number = i;
        job->result = 0;
        ordered_jobs_submit(jobs);
    }
    return taken;
}

static void test_order(void **state)
{
    (void)state;
    for (unsigned count = 1; count <= 9; count += 2) {
        struct job_threads *threads = job_threads_new(count);
        assert_non_null(threads);
        assert_in_range(job_threads_count(threads), 1, count);
        struct ordered_jobs *jobs = ordered_jobs_new(threads, sizeof(struct job), run);
        run_count = 0;
        uint64_t taken = submit_all(jobs, JOBS);
        for (struct job *job; (job = ordered_jobs_take(jobs));)
            expect_result(job, taken++);
        assert_int_equal(taken, JOBS);
        assert_int_equal(run_count, JOBS);
        assert_null(ordered_jobs_take(jobs));
        ordered_jobs_free(jobs, stop);
        job_threads_free(threads);
    }
}

/* What the jobs of a serial queue share, and what one of them has. */
struct counter {
    uint64_t next;      /* number of the job that is to run */
    atomic_uint inside; /* jobs */
    struct ordered_jobs *inner;
};
struct turn {
    struct counter *counter;
    uint64_t number, seen;
};

static void run_in_turn(void *context)
{
    struct turn *turn = context;
    struct counter *counter = turn->counter;
    assert_int_equal(atomic_fetch_add(&counter->inside, 1), 0);
    turn->seen = counter->next++;
    struct job *job = ordered_jobs_next(counter->inner);
    job->number = turn->number;
    ordered_jobs_submit(counter->inner);
    expect_result(ordered_jobs_take(counter->inner), turn->number);
    atomic_fetch_sub(&counter->inside, 1);
}

/* Guards: jobs of a serial queue run one at a time in their order, also those that wait for jobs of
 * another queue, and while a third one keeps the threads busy. */
static void test_serial(void **state)
{
    (void)state;
    for (unsigned count = 1; count <= 5; count += 2) {
        struct job_threads *threads = job_threads_new(count);
        struct ordered_jobs *serial =
            ordered_jobs_new_serial(threads, sizeof(struct turn), run_in_turn);
        struct ordered_jobs *other = ordered_jobs_new(threads, sizeof(struct job), run);
        struct counter counter = {.inner = ordered_jobs_new(threads, sizeof(struct job), run)};
        uint64_t taken = 0, others = 0;
        for (uint64_t i = 0; i < JOBS; i++) {
            struct turn *turn, *done;
            struct job *job = ordered_jobs_next(other);
            if (!job)
                expect_result(job = ordered_jobs_take(other), others++);
            job = ordered_jobs_next(other);
            job->number = i;
            ordered_jobs_submit(other);
            while (!(turn = ordered_jobs_next(serial))) {
                done = ordered_jobs_take(serial);
                assert_int_equal(done->number, taken);
                assert_int_equal(done->seen, taken++);
            }
            *turn = (struct turn){&counter, i, UINT64_MAX};
            ordered_jobs_submit(serial);
        }
        for (struct turn *turn; (turn = ordered_jobs_take(serial)); taken++)
            assert_int_equal(turn->seen, taken);
        assert_int_equal(taken, JOBS);
        ordered_jobs_free(serial, NULL);
        ordered_jobs_free(other, stop);
        ordered_jobs_free(counter.inner, stop);
        job_threads_free(threads);
    }
}

/* Two queues share the threads, and who waits for one runs jobs of the other. */
static void test_two_queues(void **state)
{
    (void)state;
    struct job_threads *threads = job_threads_new(3);
    struct ordered_jobs *first = ordered_jobs_new(threads, sizeof(struct job), run);
    struct ordered_jobs *second = ordered_jobs_new(threads, sizeof(struct job), run);
    for (uint64_t i = 0; i < JOBS; i++) {
        struct ordered_jobs *const both[] = {first, second};
        for (int q = 0; q < 2; q++) {
            struct job *job = ordered_jobs_next(both[q]);
            assert_non_null(job);
            job->number = i;
            ordered_jobs_submit(both[q]);
        }
        expect_result(ordered_jobs_take(second), i);
        expect_result(ordered_jobs_take(first), i);
    }
    ordered_jobs_free(second, stop);
    ordered_jobs_free(first, stop);
    job_threads_free(threads);
}

static void test_ends_untaken(void **state)
{
    (void)state;
    struct job_threads *threads = job_threads_new(2);
    struct ordered_jobs *jobs = ordered_jobs_new(threads, sizeof(struct job), run);
    uint64_t submitted = 0;
    run_count = stop_count = 0;
    for (struct job *job; (job = ordered_jobs_next(jobs)); submitted++) {
        job->number = submitted;
        ordered_jobs_submit(jobs);
    }
    assert_true(submitted >= 2);
    ordered_jobs_free(jobs, stop);
    assert_int_equal(run_count, submitted);
    assert_int_equal(stop_count, submitted);
    job_threads_free(threads);
    job_threads_free(NULL);
    ordered_jobs_free(NULL, stop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_serial),
        cmocka_unit_test(test_two_queues),
        cmocka_unit_test(test_ends_untaken),
    };
    return cmocka_run_group_tests_name("ordered_jobs", tests, NULL, NULL);
}
