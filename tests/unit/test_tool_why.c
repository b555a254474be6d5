/* SPDX-License-Identifier: Apache-2.0 */
/* What is far from the ordinary, what is chance, and what has a period. */
#include "unit.h"
#include "why_stack.h"
#include "why_view.h"

static void add(struct histogram *values, uint64_t value, unsigned times)
{
    for (unsigned i = 0; i < times; i++)
        assert_true(histogram_add(values, value));
}

static void a_few_among_many(void **state)
{
    struct histogram values = {0};
    struct why_bounds bounds;
    (void)state;
    for (unsigned i = 0; i < 1000; i++)
        add(&values, 200000 + i * 10, 1);
    assert_false(why_bounds_find(&values, 0, 0, &bounds));
    add(&values, 20000000, 5);
    assert_true(why_bounds_find(&values, 0, 0, &bounds));
    assert_int_equal(bounds.slow, 5);
    assert_int_equal(bounds.ordinary, 1000);
    assert_in_range(bounds.median_ns, 202000, 208000);
    assert_in_range(bounds.excess_ns, 5 * 19500000ull, 5 * 20100000ull);
    histogram_free(&values);
}

/* A busy machine's: half of the calls are late, each by a little more. */
static void lateness_is_ordinary(void **state)
{
    struct histogram values = {0};
    struct why_bounds bounds;
    (void)state;
    add(&values, 200000, 800);
    for (unsigned i = 0; i < 200; i++)
        add(&values, 250000 + i * 5000, 1);
    assert_false(why_bounds_find(&values, 0, 0, &bounds));
    add(&values, 30000000, 3);
    assert_true(why_bounds_find(&values, 0, 0, &bounds));
    assert_int_equal(bounds.slow, 3);
    histogram_free(&values);
}

/* Lengths that differ by themselves, as of exponential chance: no gap, nobody far from it. */
static void wide_is_ordinary(void **state)
{
    struct histogram values = {0};
    struct why_bounds bounds;
    (void)state;
    for (unsigned i = 1; i < 4096; i++) { /* the ranks of an exponential distribution, mean 1 ms */
        double left = i / 4096.0, value = 0;
        for (; left < 0.5; left *= 2)
            value += 0.693147;
        value += 2 * (1 - left) / (1 + left);
        add(&values, (uint64_t)(value * 1e6), 1);
    }
    assert_false(why_bounds_find(&values, 0, 0, &bounds));
    histogram_free(&values);
}

/* Some hardly take any time, most do: their ratio alone would make nothing far. */
static void two_kinds_of_ordinary(void **state)
{
    struct histogram values = {0};
    struct why_bounds bounds;
    (void)state;
    add(&values, 10000, 70);
    for (unsigned i = 0; i < 130; i++)
        add(&values, 3000000 + i * 20000, 1);
    assert_false(why_bounds_find(&values, 0, 0, &bounds));
    add(&values, 400000000, 4);
    assert_true(why_bounds_find(&values, 0, 0, &bounds));
    assert_int_equal(bounds.slow, 4);
    histogram_free(&values);
}

static void a_third_behind_a_gap(void **state)
{
    struct histogram values = {0};
    struct why_bounds bounds;
    (void)state;
    for (unsigned i = 0; i < 70; i++)
        add(&values, 1000000 + i * 1000, 1);
    for (unsigned i = 0; i < 30; i++)
        add(&values, 50000000 + i * 100000, 1);
    assert_true(why_bounds_find(&values, 0, 0, &bounds));
    assert_int_equal(bounds.slow, 30);
    histogram_free(&values);
}

/* Waits of a busy machine, of 10 us to 20 ms: four of 65 ms are far from them, two are not. */
static void few_behind_a_gap(void **state)
{
    struct histogram values = {0};
    struct why_bounds bounds;
    (void)state;
    for (unsigned i = 0; i < 400; i++)
        add(&values, 10000 + i * (uint64_t)i * 120, 1);
    add(&values, 120000000, 2);
    assert_false(why_bounds_find(&values, 0, 0, &bounds));
    add(&values, 120000000, 2);
    assert_true(why_bounds_find(&values, 0, 0, &bounds));
    assert_int_equal(bounds.slow, 4);
    add(&values, 70000000, 4); /* no gap */
    assert_false(why_bounds_find(&values, 0, 0, &bounds));
    histogram_free(&values);
}

static void few_zeros_and_given(void **state)
{
    struct histogram values = {0};
    struct why_bounds bounds;
    (void)state;
    add(&values, 1000, 6);
    add(&values, 90000000, 1);
    assert_false(why_bounds_find(&values, 0, 0, &bounds));
    assert_true(why_bounds_find(&values, 30, 0, &bounds)); /* with as many that did not wait */
    assert_int_equal(bounds.slow, 1);
    assert_int_equal(bounds.median_ns, 0);
    add(&values, 2000, 5);
    assert_true(why_bounds_find(&values, 0, 1500, &bounds));
    assert_int_equal(bounds.slow, 6);
    histogram_free(&values);
}

static void assert_near(double value, double wanted)
{
    assert_true(value > wanted * 0.999 && value < wanted * 1.001);
}

static void chance(void **state)
{
    (void)state;
    assert_near(why_chance(0, 10, 0.3), 1);
    assert_near(why_chance(10, 10, 0.5), 1.0 / 1024);
    assert_near(why_chance(9, 10, 0.5), 11.0 / 1024);
    assert_near(why_chance(2, 4, 0.25), 0.26171875);
    assert_true(why_chance(2500, 4000, 0.5) < 1e-50 && why_chance(2000, 4000, 0.5) > 0.5);
    assert_true(why_chance(1, 10, 0) == 0 && why_chance(3, 10, 1) == 1);
}

static void period(void **state)
{
    static const int64_t even[] = {0, 100, 201, 299, 400, 502}, uneven[] = {0, 10, 201, 299, 640};
    (void)state;
    assert_int_equal(why_period(even, 6), 100);
    assert_int_equal(why_period(uneven, 5), 0);
    assert_int_equal(why_period(even, 4), 0);
}

/* Of waits that have not ended those count whose holder is known; a lock is one cause. */
static void waits_without_an_end(void **state)
{
    const struct trace_stack look = {.kind = {"mutex", 5}, .since_ns = 1, .object = 16};
    struct stall list[5];
    const struct stalls stalls = {.list = list, .count = 5};
    struct why_split split = {0};
    (void)state;
    for (uint32_t i = 0; i < 5; i++) {
        list[i] = (struct stall){.stack = look, .open = true, .holder = 7};
        list[i].stack.track = i;
        list[i].stack.alive_ns = 20000001 + i * 10000000;
    }
    list[0].stack.alive_ns = 9000000; /* as a scheduler makes them */
    list[1].open = false;
    list[4].holder = TRACE_NONE;
    why_split_of_stalls(&split, &stalls);
    assert_int_equal(split.count, 1);
    assert_int_equal(split.slow, 2);
    assert_int_equal(split.excess_ns, 90000000);
    assert_int_equal(split.list[0].cause, WHY_CAUSE_LOCK);
    assert_int_equal(split.list[0].excess_ns, 90000000);
    assert_int_equal(split.list[0].bound_ns, 50000000); /* they lasted at the same time */
    assert_int_equal(split.list[0].by.thread, 7);
    why_split_free(&split);
}

static struct trace_frame frame(const char *function, const char *file)
{
    return (struct trace_frame){.function = trace_text(function), .file = trace_text(file)};
}

static const char own[] = "/usr/lib/librbwp-threads.so", libc[] = "/usr/lib/libc.so.6",
                  prog[] = "/p";

/* As looks find them, from the innermost frame on; behind whether the stack is whole what is left.
 */
static void frames_of_the_program(void **state)
{
    static const struct {
        const char *frames[8][2];
        bool whole;
        const char *left[6];
    } stacks[] = {
        /* a wait in a thread, in the wrapper of its call */
        {{{"__futex_abstimed_wait_common", libc},
          {"pthread_cond_wait", libc},
          {"pthread_cond_wait", own},
          {"a::(anonymous namespace)::Put(int, b (*)(c)) const", prog},
          {"std::function<void (int)>::operator()(int)", prog},
          {"wrap_thread_run", own},
          {"start_thread", libc},
          {"__clone3", libc}},
         true,
         {"pthread_cond_wait", "a::(anonymous namespace)::Put",
          "std::function<void (int)>::operator()"}},
        /* libc calls the program */
        {{{"less", prog},
          {"msort", libc},
          {"qsort", libc},
          {"sort", prog},
          {"sort", prog},
          {"main", prog},
          {"__libc_start_main", libc},
          {"_start", prog}},
         true,
         {"less", "msort", "qsort", "sort", "main"}},
        /* cut: who began is not known */
        {{{"read", libc}, {"(", prog}, {"f(", prog}, {")", prog}, {"(g)", prog}, {"h", libc}},
         false,
         {"read", "(", "f(", ")", "(g)", "h"}},
        /* nothing of the program */
        {{{"__clone3", libc}}, true, {NULL}}};
    (void)state;
    for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++) {
        struct trace_frame frames[8], kept[WHY_FRAMES];
        struct trace_stack stack = {.frames = frames, .whole = stacks[i].whole};
        for (; stack.frame_count < 8 && stacks[i].frames[stack.frame_count][0]; stack.frame_count++)
            frames[stack.frame_count] = frame(stacks[i].frames[stack.frame_count][0],
                                              stacks[i].frames[stack.frame_count][1]);
        uint32_t count = why_stack_cut(&stack, kept), left = 0;
        for (; left < count && left < 6 && stacks[i].left[left]; left++)
            assert_true(trace_text_is(kept[left].function, stacks[i].left[left]));
        assert_int_equal(left, count);
        assert_true(left == 6 || !stacks[i].left[left]);
    }
}

/* By time, not by looks; half is not more than half. */
static void hot_path(void **state)
{
    static const struct {
        const char *frames[4];
        uint64_t ns[4];
        const char *hot;
    } cases[] = {
        {{"main;turn;free;clear", "main;turn;free;clear;put", "main;load", "main;turn;free"},
         {60, 30, 20, 10},
         "main;turn;free;clear"},
        {{"main;a", "main;b", "main;b"}, {60, 20, 20}, "main;a"},
        {{"main;a", "main;b"}, {50, 50}, "main"},
        {{"a;x", "b;x", "c;x"}, {40, 30, 30}, ""},
        {{"a;b;a;b"}, {1}, "a;b;a;b"},
        {{"a;b", "a"}, {0, 0}, ""},
        {{""}, {5}, ""}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct why_path paths[4];
        uint32_t count = 0;
        for (; count < 4 && cases[i].frames[count]; count++) {
            const struct trace_text frames = trace_text(cases[i].frames[count]);
            paths[count] = (struct why_path){frames, cases[i].ns[count], frames, {0}};
        }
        assert_true(trace_text_is(why_hot_path(paths, count), cases[i].hot));
    }
}

static void frames_of_a_path(void **state)
{
    static const struct {
        const char *path, *said;
    } cases[] = {
        {"main;a+0x1;loop;a+0x2;free", "free < loop < main"},
        {"main;a+0x1;a+0x2;b+0x3;free", "free < b+0x3 < a+0x2 < main"},
        {"a+0x1;a+0x2", "a+0x2"},
        {"g;f;e;d;c;b;a", "a < b < c < d < e < f"},
    };
    char buffer[OUT_BUFFER_BYTES];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct out out = {.fd = -1, .buffer = buffer};
        const struct trace_text path = {cases[i].path, (uint32_t)strlen(cases[i].path)};
        assert_int_equal(why_put_stack(&out, path, 200), strlen(cases[i].said));
        assert_int_equal(out.used, strlen(cases[i].said));
        assert_memory_equal(buffer, cases[i].said, out.used);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_few_among_many),
                                       cmocka_unit_test(lateness_is_ordinary),
                                       cmocka_unit_test(wide_is_ordinary),
                                       cmocka_unit_test(a_third_behind_a_gap),
                                       cmocka_unit_test(few_zeros_and_given),
                                       cmocka_unit_test(few_behind_a_gap),
                                       cmocka_unit_test(chance),
                                       cmocka_unit_test(period),
                                       cmocka_unit_test(waits_without_an_end),
                                       cmocka_unit_test(frames_of_the_program),
                                       cmocka_unit_test(hot_path),
                                       cmocka_unit_test(frames_of_a_path),
                                       cmocka_unit_test(two_kinds_of_ordinary)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
