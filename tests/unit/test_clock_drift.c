/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An hour of a machine's clocks in fast motion, as a session follows them: a counter that warms up,
 * a system's clock that a time service slews, sets, and stops, a counter that jumps. Guards: a time
 * is never further from the system's clock than the line says in the end; in an hour in which
 * nothing but the usual happens that is a microsecond at most; and what was set or slept shows in
 * the samples.
 *
 * usage: test_clock_drift [show]
 */
#include "chunk_encoder.h"
#include "clock.h"
#include "rbwp_record.h"
#include "sanitized.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const int64_t second_ns = 1000000000;
static bool show;

/* ---- the machine -------------------------------------------------------------------------------
 */

/* What may happen in the hour, by what its clocks do in each step. */
struct step {
    double counter_ppm; /* off its rate */
    double slew_ppm;    /* of the system's clock, beside the counter */
    int64_t set_ns;     /* the wall clock is set by so much */
    int64_t sleep_ns;   /* the machine sleeps: the monotonic clock stands */
    int64_t jump_ticks;
};

static struct {
    double ticks, monotonic_ns, wall_ns; /* since the beginning */
    struct step now;
    unsigned reads;
} machine;

#define TICKS_BEGIN 1e12
#define MONOTONIC_BEGIN 1e12
#define WALL_BEGIN INT64_C(1700000000000000000)

static void pass(double ns)
{
    const double ticks = ns * (1 + machine.now.counter_ppm * 1e-6);
    machine.ticks += ticks;
    machine.monotonic_ns += ns * (1 + machine.now.slew_ppm * 1e-6);
    machine.wall_ns += ns * (1 + machine.now.slew_ppm * 1e-6);
}

/* Reading a clock takes a while, and now and then the thread loses its CPU there. */
static void read_one(void)
{
    pass(++machine.reads % 701 == 0 ? 40000 : 20);
}

int __real_clock_gettime(clockid_t clock, struct timespec *time);
/* Visible: some linkers have shared libraries refer to it too. */
__attribute__((visibility("default"))) int __wrap_clock_gettime(clockid_t clock,
                                                                struct timespec *time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
    if (machine.reads == 0)
        return __real_clock_gettime(clock, time);
    int64_t ns = clock == CLOCK_REALTIME ? WALL_BEGIN + (int64_t)machine.wall_ns
                                         : (int64_t)(MONOTONIC_BEGIN + machine.monotonic_ns);
    *time = (struct timespec){ns / second_ns, ns % second_ns};
    read_one();
    return 0;
}

static uint64_t read_counter(void)
{
    uint64_t ticks = (uint64_t)(TICKS_BEGIN + machine.ticks);
    read_one();
    return ticks;
}

/* ---- an hour -----------------------------------------------------------------------------------
 */

#ifdef SANITIZED
enum { STEPS_A_SECOND = 20 };
#else
enum { STEPS_A_SECOND = 100 };
#endif
enum { SECONDS = 3600, STEPS = SECONDS * STEPS_A_SECOND, SELDOM = STEPS_A_SECOND / 2 };

typedef void (*course_fn)(double second, bool begins, struct step *step);

/* A call of some thread, and what the system's clock said then. */
struct moment {
    uint64_t ticks;
    uint32_t epoch;
    int64_t true_ns;
};

struct hour {
    struct shared_timeline timeline;
    struct moment seldom[STEPS / SELDOM + 1]; /* converted at the end */
    struct moment often[STEPS_A_SECOND * 2];  /* when there are enough */
    unsigned seldom_count, often_count;
    int64_t next_look_ns;
    /* Each time, and how far off it was. */
    unsigned times;
    double most_ns;
    uint64_t off_ns[STEPS + STEPS / SELDOM + 2];
};

static void convert(struct hour *hour, struct moment *moments, unsigned *count)
{
    for (unsigned i = 0; i < *count; i++) {
        int64_t told_ns = shared_timeline_ns(&hour->timeline, moments[i].epoch, moments[i].ticks);
        int64_t off_ns = told_ns - hour->timeline.line.offset_ns - moments[i].true_ns;
        hour->off_ns[hour->times++] = (uint64_t)(off_ns < 0 ? -off_ns : off_ns);
    }
    *count = 0;
}

static struct moment call_now(void)
{
    struct moment moment = {.epoch = clock_epoch(),
                            .true_ns = (int64_t)(MONOTONIC_BEGIN + machine.monotonic_ns)};
    moment.ticks = read_counter();
    return moment;
}

/* The writer's part: nothing to do, so it looks at the clock. */
static void look(struct hour *hour)
{
    if ((int64_t)machine.monotonic_ns < hour->next_look_ns)
        return;
    timeline_sample(&hour->timeline.line);
    hour->next_look_ns = (int64_t)machine.monotonic_ns + timeline_pause_ns(&hour->timeline.line);
}

static void live(struct hour *hour, course_fn course, bool often)
{
    for (unsigned i = 0; i < STEPS; i++) {
        const double second = (double)i / STEPS_A_SECOND;
        struct step *step = &machine.now;
        step->set_ns = step->sleep_ns = step->jump_ticks = 0;
        course(second, i % STEPS_A_SECOND == 0, step);
        machine.wall_ns += (double)(step->set_ns + step->sleep_ns);
        machine.ticks += (double)(step->jump_ticks + step->sleep_ns);
        pass(1e9 / STEPS_A_SECOND * (0.3 + 0.4 * (i % 7) / 7.0));
        if (i % SELDOM == 0)
            hour->seldom[hour->seldom_count++] = call_now();
        if (often)
            hour->often[hour->often_count++] = call_now();
        pass(1e9 / STEPS_A_SECOND * (0.7 - 0.4 * (i % 7) / 7.0));
        look(hour);
        if (hour->often_count >= sizeof hour->often / sizeof hour->often[0] - i % 50)
            convert(hour, hour->often, &hour->often_count);
    }
    timeline_sample(&hour->timeline.line);
    convert(hour, hour->often, &hour->often_count);
    convert(hour, hour->seldom, &hour->seldom_count);
}

/* Lives it, and checks each time against the bound; returns that and leaves the furthest. */
static struct hour *live_hour(const char *what, course_fn course, bool often, uint64_t *bound_out)
{
    struct hour *hour = calloc(1, sizeof *hour);
    assert_non_null(hour);
    machine.ticks = machine.monotonic_ns = machine.wall_ns = 0;
    machine.now = (struct step){0};
    machine.reads = 1;
    pthread_mutex_init(&hour->timeline.lock, NULL);
    clock_replace(read_counter);
    timeline_begin(&hour->timeline.line);
    live(hour, course, often);
    machine.reads = 0;
    clock_replace(NULL);
    const struct timeline *line = &hour->timeline.line;
    const uint64_t bound_ns = line->error_ns + line->deviation_ns;
    unsigned held = 0;
    uint64_t most_ns = 0;
    for (unsigned i = 0; i < hour->times; i++) {
        held += hour->off_ns[i] <= bound_ns + 2;
        most_ns = hour->off_ns[i] > most_ns ? hour->off_ns[i] : most_ns;
    }
    hour->most_ns = (double)most_ns;
    if (show)
        printf("%-34s %s: furthest %.3f us, bound %.3f us, holds for %.2f %%, %u samples\n", what,
               often ? "often " : "seldom", (double)most_ns / 1e3, (double)bound_ns / 1e3,
               100.0 * held / hour->times, line->samples);
    *bound_out = bound_ns;
    assert_int_equal(held, hour->times);
    return hour;
}

/* ---- what happens ------------------------------------------------------------------------------
 */

/* A room's temperature, and a time service that corrects by a tenth of a ppm each minute or so. */
static void usual(double second, bool begins, struct step *step)
{
    if (begins)
        step->slew_ppm = -20.3 + 0.1 * (double)((unsigned)second / 64 * 7 % 5);
    step->counter_ppm = 20 + 0.5 * sin(second / 600 * 6.2832);
}

/* A load begins and ends: the crystal is 2 ppm off within a minute. */
static void warm(double second, bool begins, struct step *step)
{
    (void)begins;
    const double since = fmod(second, 600);
    const bool loaded = (unsigned)(second / 600) % 2 == 1;
    step->counter_ppm = 2 * (loaded ? 1 - exp(-since / 20) : second < 600 ? 0 : exp(-since / 20));
}

/* The kernel takes an offset of a millisecond out, a sixteenth of what is left each second. */
static void corrected(double second, bool begins, struct step *step)
{
    if (begins)
        step->slew_ppm = second < 1000 ? 0 : 62.5 * pow(15.0 / 16, floor(second) - 1000);
}

static void slewed(double second, bool begins, struct step *step)
{
    (void)begins;
    step->slew_ppm = second >= 1200.37 && second < 1300.71  ? 500
                     : second >= 2000.5 && second < 2000.61 ? -500
                                                            : 0;
}

static void set(double second, bool begins, struct step *step)
{
    usual(second, begins, step);
    if (begins && (second == 600 || second == 1800))
        step->set_ns = second == 600 ? -3600 * second_ns : 60 * second_ns;
}

static void slept(double second, bool begins, struct step *step)
{
    usual(second, begins, step);
    if (begins && second == 1000)
        step->sleep_ns = 120 * second_ns;
}

/* It lost its count while it slept. */
static void restarted(double second, bool begins, struct step *step)
{
    slept(second, begins, step);
    if (step->sleep_ns)
        step->jump_ticks = -step->sleep_ns - (int64_t)(machine.ticks + TICKS_BEGIN / 2);
}

/* What the kernel calls unstable: CPUs' counters apart by milliseconds. */
static void unstable(double second, bool begins, struct step *step)
{
    usual(second, begins, step);
    if (begins && (unsigned)second % 500 == 400)
        step->jump_ticks = (unsigned)second % 1000 < 500 ? 5000000 : -2000000;
}

/* ---- tests -------------------------------------------------------------------------------------
 */

#define NS_MOST 1000

static void check_quiet(const char *what, course_fn course)
{
    for (int often = 0; often < 2; often++) {
        uint64_t bound_ns;
        struct hour *hour = live_hour(what, course, often, &bound_ns);
        assert_true(hour->most_ns <= NS_MOST);
        free(hour);
    }
}

static void test_usual(void **state)
{
    (void)state;
    check_quiet("usual", usual);
    check_quiet("2 ppm of warmth", warm);
}

/* Rates that change: not in the line before the next sample, and the bound says so. */
static void test_rates_change(void **state)
{
    (void)state;
    for (int often = 0; often < 2; often++) {
        uint64_t bound_ns;
        free(live_hour("1 ms corrected, 62 ppm", corrected, often, &bound_ns));
        assert_true(bound_ns < 100000);
        struct hour *hour = live_hour("slewed by 500 ppm", slewed, often, &bound_ns);
        assert_true(hour->most_ns > 10000); /* else this asks nothing */
        assert_true(bound_ns < 1000000);
        free(hour);
    }
}

/* How far the wall clock is from the monotonic one, beyond what it was. */
static int64_t set_by(const struct timeline *line)
{
    const struct rbwp_clock_sample *first = &line->sample[0],
                                   *last = &line->sample[line->samples - 1];
    return last->realtime_ns - last->monotonic_ns - (first->realtime_ns - first->monotonic_ns);
}

static void test_set_and_slept(void **state)
{
    (void)state;
    for (int often = 0; often < 2; often++) {
        uint64_t bound_ns;
        struct hour *hour = live_hour("set by -1 h, +1 min", set, often, &bound_ns);
        assert_true(hour->most_ns <= NS_MOST && bound_ns <= 2 * NS_MOST);
        assert_true(llabs(set_by(&hour->timeline.line) + 3540 * second_ns) < 100000);
        free(hour);
        hour = live_hour("slept for 2 min", slept, often, &bound_ns);
        assert_true(bound_ns >= (uint64_t)second_ns / 50);
        assert_true(llabs(set_by(&hour->timeline.line) - 120 * second_ns) < 100000);
        free(hour);
        hour = live_hour("slept, counter restarted", restarted, often, &bound_ns);
        assert_true(bound_ns >= (uint64_t)second_ns / 50);
        assert_true(llabs(set_by(&hour->timeline.line) - 120 * second_ns) < 100000);
        free(hour);
    }
}

static void test_unstable(void **state)
{
    (void)state;
    for (int often = 0; often < 2; often++) {
        uint64_t bound_ns;
        struct hour *hour = live_hour("counter jumps by 2 and 5 ms", unstable, often, &bound_ns);
        assert_true(hour->most_ns > 100000); /* else this asks nothing */
        assert_true(bound_ns >= 4900000);
        free(hour);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_usual),
        cmocka_unit_test(test_rates_change),
        cmocka_unit_test(test_set_and_slept),
        cmocka_unit_test(test_unstable),
    };
    show = argc > 1 && strcmp(argv[1], "show") == 0;
    return cmocka_run_group_tests_name("clock_drift", tests, NULL, NULL);
}
