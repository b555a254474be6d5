/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A whole session, and one that its process leaves without end, on each clock that the recorder may
 * use: as the machine has it, and without a time-stamp counter (RBWP_CLOCK=monotonic, as ctest runs
 * this a second time). The wall clock is set forth and back meanwhile: the records' times follow
 * the monotonic clock and stay between start and stop.
 */
#include "record_support.h"

#include "clock.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PAIRS = 5000, STEPS = 4 };

/* ---- a wall clock that is set -------------------------------------------------------------------
 */

static _Atomic time_t set_forth_s;

int __real_clock_gettime(clockid_t clock, struct timespec *time);
/* Visible: some linkers have shared libraries refer to it too. */
__attribute__((visibility("default"))) int __wrap_clock_gettime(clockid_t clock,
                                                                struct timespec *time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
    int result = __real_clock_gettime(clock, time);
    if (clock == CLOCK_REALTIME)
        time->tv_sec += set_forth_s;
    return result;
}

static int64_t now_ns(clockid_t clock)
{
    struct timespec now;
    __real_clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void record(unsigned slot)
{
    for (int i = 0; i < PAIRS; i++) {
        rbwp_begin(slot);
        rbwp_end();
    }
}

static enum rbwp_clock_kind expected_kind(void)
{
    const char *choice = getenv("RBWP_CLOCK");
    if (choice && strcmp(choice, "monotonic") == 0) {
        assert_int_equal(rbwp_clock_tsc_, 0);
        assert_int_equal(rbwp_ticks_per_second(), 1000000000);
        return RBWP_CLOCK_MONOTONIC;
    }
    return rbwp_clock_tsc_ ? RBWP_CLOCK_TSC : RBWP_CLOCK_MONOTONIC;
}

/* All times lie in a span that is no longer than what passed, beginning at the start's wall time.
 * The file's reader has seen that none runs backwards on its thread. */
static void assert_times(const struct recorded *recorded, int64_t start_ns, int64_t passed_ns)
{
    const int64_t slack_ns = 1000000; /* of the counter against the system's clock */
    for (size_t i = 0; i < recorded->events; i++) {
        int64_t since_ns = recorded->event[i].record.time_ns - start_ns;
        assert_true(since_ns >= -slack_ns && since_ns <= passed_ns + slack_ns);
    }
}

static void test_wall_clock_is_set(void **state)
{
    (void)state;
    static const time_t steps_s[STEPS] = {3600, -7200, 0, 86400};
    struct rbwp_session_config config = small_chunks(1);
    set_forth_s = 0;
    int64_t wall_ns = now_ns(CLOCK_REALTIME), begin_ns = now_ns(CLOCK_MONOTONIC);
    struct rbwp_session *session = start(&config);
    for (unsigned i = 0; i < STEPS; i++) {
        set_forth_s = steps_s[i];
        record(i);
    }
    stop(session);
    int64_t passed_ns = now_ns(CLOCK_MONOTONIC) - begin_ns;
    set_forth_s = 0;
    struct recorded recorded = read_back(config.logfile);
    assert_int_equal(recorded.events, 2 * PAIRS * STEPS);
    assert_times(&recorded, wall_ns, passed_ns);
    const struct rbwp_trailer *trailer = recorded.trailer;
    assert_int_equal(trailer->clock_kind, expected_kind());
    assert_true(trailer->stop_ns - trailer->start_ns <= passed_ns);
    const struct rbwp_clock_sample *last = &trailer->samples[trailer->sample_count - 1];
    int64_t told_ns = last->realtime_ns - last->time_ns; /* the samples say where the clock went */
    assert_true(llabs(told_ns - INT64_C(86400) * 1000000000) < 1000000000);
    recorded_free(&recorded);
}

/* A counter that the system takes off its list meanwhile: the file says so, and its bound is large.
 */
static void test_counter_is_doubted(void **state)
{
    (void)state;
    for (int doubted = 0; doubted < 2; doubted++) {
        struct rbwp_session_config config = small_chunks(1);
        const char *list = test_path("sources");
        FILE *file = fopen(list, "w");
        assert_non_null(file);
        fputs(doubted ? "hpet acpi_pm \n" : "tsc hpet acpi_pm \n", file);
        fclose(file);
        struct rbwp_session *session = start(&config);
        record(1);
        clock_replace_list(list);
        stop(session);
        clock_replace_list(NULL);
        struct recorded recorded = read_back(config.logfile);
        const bool noted = doubted && expected_kind() == RBWP_CLOCK_TSC;
        assert_int_equal(recorded.trailer->clock_flags, noted ? RBWP_CLOCK_DOUBTED : 0);
        assert_true(!noted || recorded.trailer->clock_error_ns >= CLOCK_DOUBT_NS);
        recorded_free(&recorded);
    }
}

/* What is recovered is timed by the samples in the live file. */
static void test_recovered(void **state)
{
    (void)state;
    const char *path = test_path("left.bin");
    int64_t wall_ns = now_ns(CLOCK_REALTIME), begin_ns = now_ns(CLOCK_MONOTONIC);
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct rbwp_session_config config = small_chunks(1);
        struct rbwp_session *session;
        config.logfile = path;
        if (rbwp_session_start(&config, &session, NULL) != RBWP_OK)
            _exit(20);
        record(1);
        set_forth_s = 3600;
        record(2);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    int64_t passed_ns = now_ns(CLOCK_MONOTONIC) - begin_ns;
    struct recorded recorded = read_recovered(path);
    assert_int_equal(recorded.events, 4 * PAIRS);
    assert_int_equal(recorded.trailer->clock_kind, expected_kind());
    /* The rate was known for as long as the child lived: a hundredth is more than it can err. */
    assert_times(&recorded, wall_ns, passed_ns + passed_ns / 100);
    recorded_free(&recorded);
    char live[200];
    snprintf(live, sizeof live, "%s.live", path);
    assert_int_equal(unlink(live), 0);
}

static int attach(void **state)
{
    (void)state;
    return rbwp_thread_attach("main") == RBWP_OK ? 0 : 1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wall_clock_is_set),
        cmocka_unit_test(test_counter_is_doubted),
        cmocka_unit_test(test_recovered),
    };
    return cmocka_run_group_tests_name("record_clock", tests, attach, NULL);
}
