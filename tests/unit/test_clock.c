/* SPDX-License-Identifier: Apache-2.0 */
/* Ticks and the time line: rates, anchoring, and a line that holds whatever the clock does. */
#include "clock.h"

#include "rbwp_record.h"
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

static uint64_t now;
static int64_t step;

static uint64_t fake(void)
{
    now += (uint64_t)step;
    return now;
}

static int64_t system_ns(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static void use_fake(uint64_t start, int64_t by)
{
    now = start;
    step = by;
    clock_replace(fake);
}

/* Ticks never decrease on a thread, and their rate is the one reported. */
static void test_rate(void **state)
{
    (void)state;
    clock_prepare();
    uint64_t hz = rbwp_ticks_per_second(), first = rbwp_now_ticks(), last = first;
    int64_t begin_ns = system_ns(CLOCK_MONOTONIC);
    for (int i = 0; i < 300000; i++) {
        uint64_t ticks = rbwp_now_ticks();
        assert_true(ticks >= last);
        last = ticks;
    }
    double by_rate = (double)(last - first) / (double)hz;
    assert_true(fabs((double)clock_ns_from_ticks(last - first) / 1e9 - by_rate) < by_rate / 100);
    double real = (double)(system_ns(CLOCK_MONOTONIC) - begin_ns) / 1e9;
    assert_true(by_rate > real / 2 && by_rate < real * 1.1 + 0.001);
    assert_true(clock_kind() == RBWP_CLOCK_TSC || clock_kind() == RBWP_CLOCK_MONOTONIC);
}

static void test_durations(void **state)
{
    (void)state;
    use_fake(0, 1); /* 1 GHz */
    assert_int_equal(rbwp_ticks_per_second(), 1000000000);
    assert_int_equal(rbwp_ticks_from_ns(12345), 12345);
    assert_int_equal(rbwp_ns_from_ticks(12345), 12345);
    assert_int_equal(clock_ns_from_ticks(12345), 12345);
    assert_true(rbwp_ticks_from_ns(UINT64_MAX) >=
                UINT64_MAX / 4); /* the largest, not a wrapped one */
    assert_true(rbwp_ns_from_ticks(UINT64_MAX) >= UINT64_MAX / 4);
    assert_int_equal(clock_kind(), RBWP_CLOCK_USER);
    clock_replace(NULL);
    assert_int_not_equal(clock_kind(), RBWP_CLOCK_USER);
    int64_t ns = (int64_t)rbwp_ns_from_ticks(rbwp_ticks_from_ns(1000000000));
    assert_true(llabs(ns - 1000000000) < 1000000);
}

/* The line begins at the wall clock and goes on with the monotonic one. */
static void test_anchor(void **state)
{
    (void)state;
    static struct timeline line;
    int64_t before = system_ns(CLOCK_REALTIME);
    timeline_begin(&line);
    int64_t after = system_ns(CLOCK_REALTIME);
    const int64_t slack = 1000;
    assert_true(line.sample[0].time_ns >= before - slack &&
                line.sample[0].time_ns <= after + slack);
    for (int i = 0; i < 20; i++) {
        uint64_t ticks = rbwp_now_ticks();
        int64_t monotonic = system_ns(CLOCK_MONOTONIC);
        uint64_t later = rbwp_now_ticks();
        timeline_sample(&line);
        int64_t bound = (int64_t)line.error_ns + slack;
        assert_true(timeline_ns(&line, ticks) <= monotonic + line.offset_ns + bound);
        assert_true(timeline_ns(&line, later) >= monotonic + line.offset_ns - bound);
    }
    clock_set_line(&line);
    assert_true(llabs(rbwp_now_ns() - clock_now_ns(line.offset_ns)) < 1000000000);
    clock_set_line(NULL);
    assert_true(llabs(rbwp_now_ns() - system_ns(CLOCK_REALTIME)) < 1000000000);
}

/* Each moment is in the piece that holds it, pieces meet, and times ascend through all of them. */
static void test_pieces(void **state)
{
    (void)state;
    static struct timeline line;
    use_fake(1000, 10);
    timeline_begin(&line);
    for (int i = 0; i < 100; i++)
        timeline_sample(&line);
    clock_replace(NULL);
    uint32_t epoch = line.epoch[0];
    assert_int_equal(line.samples, 101);
    int64_t last_ns = INT64_MIN;
    for (uint64_t ticks = line.sample[0].ticks; ticks < line.sample[100].ticks; ticks++) {
        struct timeline_piece piece = timeline_find(&line, epoch, ticks);
        assert_true(ticks >= piece.base_ticks && ticks < piece.end_ticks);
        int64_t time_ns = timeline_piece_ns(&piece, ticks);
        assert_true(time_ns >= last_ns);
        assert_int_equal(time_ns, timeline_ns(&line, ticks));
        last_ns = time_ns;
    }
    for (int i = 0; i < 100; i++)
        assert_int_equal(timeline_ns(&line, line.sample[i].ticks), line.sample[i].time_ns);
    int64_t end_ns = timeline_ns(&line, line.sample[100].ticks); /* by the piece before: rounded */
    assert_in_range(line.sample[100].time_ns - end_ns, 0, 1);
}

/* More samples than there is room for: the line stays ascending, and keeps its ends. */
static void test_thinning(void **state)
{
    (void)state;
    static struct timeline line;
    use_fake(1, 3);
    timeline_begin(&line);
    struct rbwp_clock_sample first = line.sample[0];
    for (int i = 0; i < 3 * TIMELINE_SAMPLES_MAX; i++)
        timeline_sample(&line);
    uint64_t last = now;
    clock_replace(NULL);
    assert_in_range(line.samples, 2, TIMELINE_SAMPLES_MAX); /* evenly in time: see test_month */
    assert_memory_equal(&line.sample[0], &first, sizeof first);
    assert_true(last - line.sample[line.samples - 1].ticks < 100);
    for (uint32_t i = 1; i < line.samples; i++) {
        assert_true(line.sample[i].ticks > line.sample[i - 1].ticks);
        assert_true(line.sample[i].time_ns >= line.sample[i - 1].time_ns);
    }
}

/* A clock that stands, runs back or leaps: no overflow, and the samples still ascend. */
static void test_bad_clocks(void **state)
{
    (void)state;
    static const int64_t steps[] = {0, -1, -1000000, INT64_MAX / 4, INT64_MIN / 4};
    static const uint64_t ticks[] = {0, 1, 1000, UINT64_MAX / 2, UINT64_MAX / 2 + 1, UINT64_MAX};
    static struct timeline line;
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        use_fake(UINT64_C(1) << 62, steps[i]);
        timeline_begin(&line);
        int64_t start_ns = line.sample[0].time_ns;
        assert_true(llabs(start_ns - system_ns(CLOCK_REALTIME)) < INT64_C(60) * 1000000000);
        for (int j = 0; j < 50; j++)
            timeline_sample(&line);
        for (uint32_t j = 1; j < line.samples; j++)
            assert_true(line.epoch[j] > line.epoch[j - 1] ||
                        (line.epoch[j] == line.epoch[j - 1] &&
                         line.sample[j].ticks > line.sample[j - 1].ticks));
        for (size_t j = 0; j < sizeof ticks / sizeof ticks[0]; j++) {
            int64_t time_ns = timeline_ns(&line, ticks[j]);
            assert_true(time_ns > 0 && time_ns < INT64_C(1) << 62); /* fits a record */
        }
        clock_replace(NULL);
    }
}

/* ---- months, with a system's clock of the test ---------------------------------------- */

static const int64_t second_ns = 1000000000;

/* Ticks at about 1 GHz. */
static uint64_t sim_ticks;
static int64_t sim_ns; /* CLOCK_MONOTONIC and CLOCK_REALTIME; 0: the real ones */

int __real_clock_gettime(clockid_t clock, struct timespec *time);
/* Visible: some linkers have shared libraries refer to it too. */
__attribute__((visibility("default"))) int __wrap_clock_gettime(clockid_t clock,
                                                                struct timespec *time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
    if (sim_ns == 0)
        return __real_clock_gettime(clock, time);
    *time = (struct timespec){sim_ns / second_ns, sim_ns % second_ns};
    return 0;
}

static uint64_t sim_clock(void)
{
    return sim_ticks;
}

static void sim_start(struct timeline *line)
{
    sim_ticks = UINT64_C(1) << 40;
    sim_ns = 1000 * second_ns;
    clock_replace(sim_clock);
    timeline_begin(line);
}

static void sim_end(void)
{
    sim_ns = 0;
    clock_replace(NULL);
}

static uint64_t distance(int64_t a, int64_t b)
{
    return (uint64_t)(a > b ? a - b : b - a);
}

/* Time passes, and the counter with it: this far off its rate. */
static void pass(int64_t ns, double off)
{
    sim_ns += ns;
    sim_ticks += (uint64_t)((double)ns * (1 + off));
}

/*
 * Guards: samples are thinned evenly, so that no age of a month is known worse than others, and
 * what was dropped is within the error that the pieces state. The counter wanders by half a part in
 * a million, up and down in some hours.
 */
static void test_month(void **state)
{
    (void)state;
    enum { DAYS = 30, STEP_S = 10, STEPS = DAYS * 86400 / STEP_S, EVERY = 97 };
    static struct timeline line;
    static struct rbwp_clock_sample truth[STEPS / EVERY + 1];
    uint32_t truths = 0;
    sim_start(&line);
    for (int i = 0; i < STEPS; i++) {
        pass(STEP_S * second_ns, i / 1500 % 2 ? 5e-7 : -5e-7);
        timeline_sample(&line);
        if (i % EVERY == 0)
            truth[truths++] =
                (struct rbwp_clock_sample){.ticks = sim_ticks, .monotonic_ns = sim_ns};
    }
    int64_t gap_ns = 0;
    for (uint32_t i = 1; i < line.samples; i++)
        if (line.sample[i].time_ns - line.sample[i - 1].time_ns > gap_ns)
            gap_ns = line.sample[i].time_ns - line.sample[i - 1].time_ns;
    assert_true(gap_ns <= (int64_t)DAYS * 86400 * second_ns / (TIMELINE_SAMPLES_MAX / 8));
    for (uint32_t i = 0; i < truths; i++) {
        struct timeline_piece piece = timeline_find(&line, line.epoch[0], truth[i].ticks);
        uint64_t off_ns = distance(timeline_piece_ns(&piece, truth[i].ticks),
                                   truth[i].monotonic_ns + line.offset_ns);
        assert_true(off_ns <= piece.error_ns + 2);
        assert_true(piece.error_ns < 5000000);
    }
    sim_end();
}

/* Guards: a counter that is set back begins an epoch, and times of both are right; where it
 * happened they are between the samples around it, and the piece says how far off they may be. */
static void test_set_back(void **state)
{
    (void)state;
    static struct timeline line;
    sim_start(&line);
    uint32_t before = clock_epoch();
    for (int i = 0; i < 10; i++) {
        pass(second_ns, 0);
        timeline_sample(&line);
    }
    uint64_t old_ticks = sim_ticks;
    int64_t old_ns = sim_ns;
    pass(second_ns / 2, 0);
    sim_ticks = 12345;
    pass(second_ns / 2, 0);
    for (int i = 0; i < 10; i++) {
        timeline_sample(&line);
        pass(second_ns, 0);
    }
    uint32_t after = clock_epoch();
    assert_int_equal(after, before + 1);
    assert_int_equal(timeline_epoch_after(&line, before), after);
    assert_int_equal(timeline_epoch_after(&line, after), after);
    for (int64_t ns = -5 * second_ns; ns <= 5 * second_ns; ns += second_ns / 4) {
        bool old = ns < second_ns / 2;
        uint64_t ticks = old ? old_ticks + (uint64_t)ns : (uint64_t)(12345 + ns - second_ns / 2);
        struct timeline_piece piece = timeline_find(&line, old ? before : after, ticks);
        assert_true(distance(timeline_piece_ns(&piece, ticks), old_ns + ns + line.offset_ns) <= 2);
        assert_int_equal(piece.error_ns != 0, ns >= 0 && ns < second_ns);
    }
    /* What was never counted in that epoch is no later than its end. */
    struct timeline_piece piece = timeline_find(&line, before, old_ticks + (UINT64_C(1) << 50));
    assert_int_equal(timeline_piece_ns(&piece, old_ticks + (UINT64_C(1) << 50)),
                     old_ns + second_ns + line.offset_ns);
    sim_end();
}

/* Guards: a machine that sleeps, with a counter that runs on or a clock that does, leaves rate and
 * other times alone; between the samples around it the line says how little it knows. */
static void test_sleep(void **state)
{
    (void)state;
    static const int64_t counter_alone_ns[] = {3600 * INT64_C(1000000000), 0};
    for (int i = 0; i < 2; i++) {
        static struct timeline line;
        sim_start(&line);
        for (int j = 0; j < 3 * TIMELINE_SAMPLES_MAX; j++) {
            if (j == 2000)
                pass(second_ns, counter_alone_ns[i] ? 3600 : -0.9999);
            else
                pass(second_ns, 0);
            timeline_sample(&line);
        }
        unsigned doubtful = 0;
        for (uint32_t j = 0; j + 1 < line.samples; j++) {
            doubtful += line.piece_error_ns[j] >= (uint64_t)second_ns;
            double rate = (double)(line.sample[j + 1].ticks - line.sample[j].ticks) /
                          (double)(line.sample[j + 1].time_ns - line.sample[j].time_ns);
            assert_true((rate > 0.999999 && rate < 1.000001) ||
                        line.piece_error_ns[j] >= (uint64_t)second_ns);
        }
        assert_int_equal(doubtful, 1);
        sim_end();
    }
}

/* Guards: a clock that is moved all the time does not overflow the line. */
static void test_moved_all_the_time(void **state)
{
    (void)state;
    static struct timeline line;
    sim_start(&line);
    for (int i = 0; i < 5 * TIMELINE_SAMPLES_MAX; i++) {
        pass(second_ns, 0);
        if (i % 2)
            sim_ticks -= UINT64_C(1) << 35;
        else
            pass(second_ns, 100);
        timeline_sample(&line);
        assert_true(line.samples <= TIMELINE_SAMPLES_MAX);
    }
    assert_int_equal(line.sample[line.samples - 1].ticks, sim_ticks);
    for (uint32_t i = 1; i < line.samples; i++)
        assert_true(line.sample[i].time_ns > line.sample[i - 1].time_ns);
    sim_end();
}

/* Guards: a clock source is found by its whole name. */
static void test_list(void **state)
{
    (void)state;
    assert_true(clock_list_has("tsc\n", "tsc"));
    assert_true(clock_list_has("kvm-clock tsc acpi_pm \n", "tsc"));
    assert_false(clock_list_has("hyperv_clocksource_tsc_page acpi_pm\n", "tsc"));
    assert_false(clock_list_has("tsc_page ts xtsc", "tsc"));
    assert_false(clock_list_has("", "tsc"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rate),     cmocka_unit_test(test_durations),
        cmocka_unit_test(test_anchor),   cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_thinning), cmocka_unit_test(test_bad_clocks),
        cmocka_unit_test(test_month),    cmocka_unit_test(test_set_back),
        cmocka_unit_test(test_sleep),    cmocka_unit_test(test_moved_all_the_time),
        cmocka_unit_test(test_list),
    };
    return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
