/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session of months, in seconds: counter and clocks in fast motion. Threads come and go, a slot
 * is used again and again under new names, samples of the clock thin out, the live file's log is
 * written anew, the counter is set back, runs while the machine sleeps, and the wall clock is set.
 *
 * Guards: the session ends in a good file, whatever it saw; memory and disk stay bounded; all
 * records are in the file, each with its slot's name or none; and each time is as near to the
 * truth, which this program keeps, as the file says.
 *
 * usage: test_months [DAYS [rotated]]; see tests/long/README.md. rotated: a file a day instead,
 * each whole by itself, that have all records together.
 */
#include "record_support.h"
#include "sanitized.h"

#include "clock.h"
#include "thread_registry.h"
#include "unit.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#ifdef SANITIZED
enum { IS_SANITIZED = 1, STEP_S = 864, EACH_STEP = 4 };
#else
enum { IS_SANITIZED = 0, STEP_S = 216, EACH_STEP = 10 };
#endif
enum { STEPS_A_DAY = 86400 / STEP_S, SLOT = 5 };

static unsigned days = 8;
static const int64_t second_ns = 1000000000;

/* ---- the world -------------------------------------------------------------------------- */

/* A moment: what the clocks say, all of it at once. */
struct moment {
    int64_t monotonic_ns, wall_ns;
    uint64_t ticks;
};
static struct moment *moments;      /* two of each step */
static _Atomic uint32_t moment_now; /* 0: the world's own clocks */

int __real_clock_gettime(clockid_t clock, struct timespec *time);
int __real_pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                                  const struct timespec *until);
/* Visible: some linkers have shared libraries refer to them too. */
#pragma GCC visibility push(default)
int __wrap_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
    uint32_t now = moment_now;
    if (now == 0 || (clock != CLOCK_MONOTONIC && clock != CLOCK_REALTIME))
        return __real_clock_gettime(clock, time);
    int64_t ns = clock == CLOCK_REALTIME ? moments[now].wall_ns : moments[now].monotonic_ns;
    *time = (struct timespec){ns / second_ns, ns % second_ns};
    return 0;
}

/* A moment of this world may never come in the other one: who waits looks again soon. */
int __wrap_pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                                  const struct timespec *until);
int __wrap_pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                                  const struct timespec *until)
{
    struct timespec soon = *until;
    __real_clock_gettime(CLOCK_MONOTONIC, &soon);
    soon.tv_nsec += 500000;
    soon.tv_sec += soon.tv_nsec / second_ns;
    soon.tv_nsec %= second_ns;
    return __real_pthread_cond_timedwait(condition, mutex, &soon);
}
#pragma GCC visibility pop

static uint64_t read_counter(void)
{
    uint32_t now = moment_now; /* as an index, gcc reads it without order */
    return moments[now].ticks;
}

/* Time passes, with a counter that is so far off its rate; then counter and wall clock are moved.
 */
static void pass(int64_t ns, double off, int64_t moved_ticks, int64_t set_ns)
{
    uint32_t now = moment_now;
    moments[now + 1] = (struct moment){
        moments[now].monotonic_ns + ns,
        moments[now].wall_ns + ns + set_ns,
        moments[now].ticks + (uint64_t)((double)ns * (1 + off)) + (uint64_t)moved_ticks,
    };
    moment_now = now + 1;
}

static void begin_world(void)
{
    moments = calloc(2 * (size_t)days * STEPS_A_DAY + 2, sizeof *moments);
    assert_non_null(moments);
    moments[1] = (struct moment){1000 * second_ns, 1700000000 * second_ns, UINT64_C(1) << 50};
    moment_now = 1;
    clock_replace(read_counter);
}

static void end_world(void)
{
    moment_now = 0;
    clock_replace(NULL);
    free(moments);
}

/* ---- what happens in it ------------------------------------------------------------------ */

static void *visit(void *unused)
{
    (void)unused;
    for (int i = 0; i < EACH_STEP; i++) {
        assert_int_equal(rbwp_thread_attach(NULL), RBWP_OK);
        rbwp_begin(1);
        rbwp_end();
        assert_int_equal(rbwp_thread_detach(), RBWP_OK);
    }
    return NULL;
}

/* Threads come and go, and the writer has seen the moment when this returns. */
static void let_threads_visit(void)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, visit, NULL), 0);
    pthread_join(thread, NULL);
    while (thread_registry_orphans() > 0)
        sched_yield();
}

static void rename_slot(unsigned step)
{
    char name[40];
    for (int i = 0; i < EACH_STEP; i++) {
        snprintf(name, sizeof name, "use %d of step %u", i, step);
        if (step > 0 || i > 0)
            assert_int_equal(rbwp_work_item_release(SLOT), RBWP_OK);
        assert_int_equal(rbwp_work_item_register_at(SLOT, name), RBWP_OK);
    }
}

/* How far the counter is moved in a step's first half. */
static int64_t jump(unsigned step)
{
    static const int64_t jumps[] = {-(INT64_C(1) << 40), INT64_C(3600) * 1000000000,
                                    -(INT64_C(1) << 49), INT64_C(1) << 45};
    return step % 1000 == 700 ? jumps[step / 1000 % 4] : 0;
}

static struct rbwp_session_summary live_through(const struct rbwp_session_config *config,
                                                bool jumps)
{
    char live[200];
    struct stat status;
    snprintf(live, sizeof live, "%s.live", config->logfile);
    begin_world();
    struct rbwp_session *session = start(config);
    assert_int_equal(rbwp_thread_attach("slow"), RBWP_OK);
    for (unsigned step = 0; step < days * STEPS_A_DAY; step++) {
        double off = step / 300 % 2 ? 4e-7 : -4e-7;
        rename_slot(step);
        pass(STEP_S * second_ns / 2, off, jumps ? jump(step) : 0, 0);
        rbwp_begin(SLOT);
        rbwp_end();
        pass(STEP_S * second_ns / 2, off, 0, step % 1000 == 300 ? -7200 * second_ns : 0);
        let_threads_visit();
        if (step % 1000 == 999 && !config->rotate_ns) {
            assert_int_equal(stat(live, &status), 0);
            assert_true(status.st_blocks < (40 << 20) / 512);
        }
    }
    assert_int_equal(rbwp_work_item_release(SLOT), RBWP_OK);
    assert_int_equal(rbwp_thread_detach(), RBWP_OK);
    struct rbwp_session_summary summary = stop(session);
    /* Of both only the first tells; who makes a file out of a ring has both for a while. */
    const long most_kb = config->rotate_ns ? 192 << 10 : 64 << 10;
    assert_true(IS_SANITIZED || jumps || most_memory_kb() < most_kb);
    return summary;
}

/* ---- what the file says of it -------------------------------------------------------------- */

/* The uses of the slot are in order of time, as the records are. */
static void check_name(const struct rbwp_trailer *trailer, uint32_t *use, unsigned step,
                       int64_t time_ns)
{
    char name[40];
    int bytes = snprintf(name, sizeof name, "use %d of step %u", EACH_STEP - 1, step);
    while (*use + 1 < trailer->slot_use_count && trailer->slot_uses[*use].to_ns <= time_ns)
        ++*use;
    const struct rbwp_slot_use *at = &trailer->slot_uses[*use];
    bool same = at->name_bytes == bytes && memcmp(at->name, name, at->name_bytes) == 0;
    assert_true(same || memcmp(at->name, "(name not kept)", 15) == 0);
}

/* Returns how many times are further off than the bound of a clock that was not moved. */
static unsigned check_times(const struct recorded *recorded, uint64_t usual_ns)
{
    const uint64_t thread_id = thread_named(recorded, "slow")->thread_id;
    const uint64_t bound_ns = recorded->trailer->clock_error_ns;
    unsigned step = 0, far = 0;
    uint32_t use = 0;
    for (size_t i = 0; i < recorded->events; i++) {
        const struct rbwp_record *record = &recorded->event[i].record;
        if (recorded->event[i].thread_id != thread_id || record->kind != RBWP_COARSE_BEGIN)
            continue;
        int64_t true_ns =
            moments[2 * step + 2].monotonic_ns + moments[1].wall_ns - moments[1].monotonic_ns;
        int64_t off_ns = record->time_ns - true_ns;
        uint64_t off = (uint64_t)(off_ns < 0 ? -off_ns : off_ns);
        assert_true(off <= bound_ns + 2);
        far += off > usual_ns;
        if (off <= usual_ns) /* names are known by time */
            check_name(recorded->trailer, &use, step, record->time_ns);
        step++;
    }
    assert_int_equal(step, days * STEPS_A_DAY);
    return far;
}

static uint64_t threads_told(const struct rbwp_trailer *trailer)
{
    uint64_t threads = trailer->thread_count;
    for (uint32_t i = 0; i < trailer->left_count; i++)
        if (trailer->left[i].kind == RBWP_LEFT_THREADS)
            threads += trailer->left[i].entries;
    return threads;
}

static void check_months(bool jumps)
{
    struct rbwp_session_config config = test_config(1);
    config.stall_ns =
        3600 * second_ns; /* waits end early here, so a stop looks at the disk often */
    uint64_t steps = (uint64_t)days * STEPS_A_DAY;
    struct rbwp_session_summary summary = live_through(&config, jumps);
    assert_int_equal(summary.lost_records, 0);
    assert_int_equal(summary.records, 2 * steps * (1 + EACH_STEP));
    struct recorded recorded = read_back(config.logfile); /* the verifier is content */
    assert_int_equal(threads_told(recorded.trailer), steps * EACH_STEP + 1);
    const uint64_t usual_ns = 11 * 1000 * 1000;
    unsigned far = check_times(&recorded, usual_ns);
    if (jumps)
        assert_true(far <= steps / 1000 + 1); /* the one record near each jump */
    else
        assert_true(recorded.trailer->clock_error_ns <= usual_ns);
    recorded_free(&recorded);
    end_world();
}

static void test_months(void **state)
{
    (void)state;
    check_months(false);
}

static void test_months_with_jumps(void **state)
{
    (void)state;
    check_months(true);
}

static void test_months_in_files(void **state)
{
    (void)state;
    char name[200], path[200];
    struct rbwp_session_config config = test_config(1);
    snprintf(name, sizeof name, "%s.%%t", config.logfile);
    config.logfile = name;
    config.rotate_ns = 86400 * (uint64_t)second_ns;
    struct rbwp_session_summary summary = live_through(&config, false);
    assert_int_equal(summary.lost_records, 0);
    uint64_t ends = 0;
    unsigned files = 0;
    for (;; files++) {
        snprintf(path, sizeof path, "%.*s%u", (int)strlen(name) - 2, name, files + 1);
        if (access(path, F_OK) != 0)
            break;
        struct recorded recorded = read_back(path);
        for (size_t i = 0; i < recorded.events; i++) /* what is open at a cut begins twice */
            ends += recorded.event[i].record.kind == RBWP_COARSE_END;
        recorded_free(&recorded);
        assert_int_equal(unlink(path), 0);
    }
    print_message("%u files of %u days\n", files, days);
    assert_true(files > 1 && files <= days + 1);
    assert_int_equal(ends, (uint64_t)days * STEPS_A_DAY * (1 + EACH_STEP));
    end_world();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_months),
        cmocka_unit_test(test_months_with_jumps),
    };
    const struct CMUnitTest rotated[] = {cmocka_unit_test(test_months_in_files)};
    if (argc > 1)
        days = (unsigned)strtoul(argv[1], NULL, 10);
    if (argc > 2)
        return cmocka_run_group_tests_name("months in files", rotated, NULL, NULL);
    return cmocka_run_group_tests_name("months", tests, NULL, NULL);
}
