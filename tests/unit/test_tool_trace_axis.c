/* SPDX-License-Identifier: Apache-2.0 */
/* trace_axis.h: times keep their order on the way onto the axis, come back from it, and lie on the
 * straight lines between the points. */
#include "trace_axis.h"
#include "unit.h"

#include <stddef.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct trace_axis_point points[] = {
    {1000, 10}, {2000, 510}, {4000, -490}, {4003, -489}};
static const struct trace_axis line = {.shift_ns = -490, .points = points, .point_count = 4};

static void points_that_keep_the_order(void **state)
{
    (void)state;
    for (size_t i = 1; i < COUNT(points); i++)
        assert_true(trace_axis_follows(&points[i - 1], &points[i]));
    const struct trace_axis_point from = {0, 0}, huge = {INT64_MAX, 0}, far = {10, INT64_MIN};
    assert_false(trace_axis_follows(&from, &from));
    assert_false(trace_axis_follows(&points[1], &points[0]));
    assert_false(trace_axis_follows(&from, &(struct trace_axis_point){10, 6}));
    assert_false(trace_axis_follows(&from, &(struct trace_axis_point){10, -6}));
    assert_true(trace_axis_follows(&from, &(struct trace_axis_point){10, -5}));
    assert_false(trace_axis_follows(&from, &huge));
    assert_false(trace_axis_follows(&from, &far));
}

static void times_lie_on_the_lines(void **state)
{
    (void)state;
    static const int64_t times[][2] = {{-5, 5},      {1000, 1010}, {1500, 1760}, {2000, 2510},
                                       {3000, 3010}, {4000, 3510}, {4003, 3514}, {9000, 8511},
                                       {1001, 1011}, {2001, 2510}};
    for (size_t i = 0; i < COUNT(times); i++)
        assert_int_equal(trace_on_axis(&line, times[i][0]), times[i][1]);
    const struct trace_axis plain = {.shift_ns = 7};
    assert_int_equal(trace_on_axis(&plain, 5), 12);
    assert_int_equal(trace_off_axis(&plain, 12), 5);
}

static void order_is_kept_and_the_way_back_is_found(void **state)
{
    (void)state;
    for (int64_t time_ns = 900; time_ns < 5000; time_ns++) {
        int64_t on_ns = trace_on_axis(&line, time_ns);
        assert_true(trace_on_axis(&line, time_ns + 1) >= on_ns);
        int64_t back_ns = trace_off_axis(&line, on_ns);
        assert_in_range(back_ns - time_ns + 2, 0, 4); /* where time stands still it may differ */
    }
}

/* Times of strangers. */
static void no_time_leaves_the_range(void **state)
{
    (void)state;
    assert_true(trace_on_axis(&line, INT64_MIN) == INT64_MIN + 10);
    assert_true(trace_on_axis(&line, INT64_MAX) == INT64_MAX - 489);
    const struct trace_axis plain = {.shift_ns = 7};
    assert_true(trace_on_axis(&plain, INT64_MAX) == INT64_MAX);
    assert_true(trace_off_axis(&plain, INT64_MIN) == INT64_MIN);
    assert_true(trace_off_axis(&line, INT64_MIN) == INT64_MIN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_that_keep_the_order),
        cmocka_unit_test(times_lie_on_the_lines),
        cmocka_unit_test(order_is_kept_and_the_way_back_is_found),
        cmocka_unit_test(no_time_leaves_the_range),
    };
    return cmocka_run_group_tests_name("trace_axis", tests, NULL, NULL);
}
