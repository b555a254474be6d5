/* SPDX-License-Identifier: Apache-2.0 */
/* What of a GPU's idle time hangs on launches, and for how much of that a thread was on a CPU. */
#include "gpu_use.h"
#include "trace_span.h"
#include "unit.h"

#define US INT64_C(1000)

static void add(struct gpu_use *use, uint32_t thread, int64_t launch, int64_t launched,
                int64_t start, int64_t stop)
{
    const struct trace_detail detail = {.flags = TRACE_HAS_LAUNCH, .launch_ns = launch};
    const struct trace_span span = {.start_ns = start, .stop_ns = stop};
    assert_true(gpu_use_add(use, &span, &detail, thread, launched));
}

static void gaps(void **state)
{
    struct gpu_use use = {0};
    (void)state;
    add(&use, 7, 0, 2 * US, 2 * US, 10 * US);
    add(&use, 7, 5 * US, 7 * US, 10 * US, 20 * US); /* it was launched in time */
    assert_int_equal(use.gap_ns, 0);
    add(&use, 7, 26 * US, 28 * US, 30 * US, 40 * US); /* 8 us not launched, 2 us on its way */
    assert_int_equal(use.gap_ns, 8 * US);
    assert_int_equal(use.inside_ns, 2 * US);
    assert_int_equal(use.used_ns, 38 * US);
    assert_int_equal(use.busy.busy_ns, 28 * US);
    assert_int_equal(use.paces, 2);
    assert_int_equal(use.pace_ns, 5 * US + 21 * US);
    gpu_use_free(&use);
}

/* A pause is no use; 2 ms between two launches are something else, but for a call that takes them.
 */
static void what_is_no_gap(void **state)
{
    struct gpu_use use = {0};
    (void)state;
    add(&use, 7, 0, US, US, 2 * US);
    add(&use, 7, 2001 * US, 2002 * US, 2002 * US, 2003 * US);
    assert_int_equal(use.gap_ns, 0);
    assert_int_equal(use.used_ns, 2002 * US);
    add(&use, 7, 2100 * US, 4003 * US, 4003 * US, 4004 * US);
    assert_int_equal(use.gap_ns, 2000 * US);
    assert_int_equal(use.inside_ns, 1903 * US);
    add(&use, 7, 99003 * US, 99004 * US, 99004 * US, 99005 * US);
    assert_int_equal(use.used_ns, 4004 * US);
    gpu_use_free(&use);
}

static void most_gaps_are_anothers(void **state)
{
    struct gpu_use use = {0};
    (void)state;
    for (int64_t i = 0; i < 30; i++)
        add(&use, i % 3 ? 4 : 9, 100 * i * US, 100 * i * US + US, 100 * i * US + US,
            100 * i * US + 20 * US);
    assert_int_equal(use.thread, 4);
    gpu_use_free(&use);
}

/* Waits count where they are: those of times without gaps take nothing off. */
static void on_the_cpu(void **state)
{
    struct gpu_use use = {0};
    struct busy_cells waits = {0};
    (void)state;
    for (int64_t i = 0; i < 1000; i++)
        add(&use, 7, 100 * i * US, 100 * i * US + US, 100 * i * US + US, 100 * i * US + 51 * US);
    const uint64_t gaps_ns = 999 * 50 * US;
    assert_int_equal(use.gap_ns, gaps_ns);
    assert_int_equal(gpu_use_running_ns(&use, NULL), use.inside_ns);
    assert_true(busy_cells_add(&waits, 300000 * US, 900000 * US, 600000 * US));
    assert_in_range(gpu_use_running_ns(&use, &waits), gaps_ns - 256, gaps_ns);
    assert_true(busy_cells_add(&waits, 0, 50000 * US, 50000 * US));
    assert_in_range(gpu_use_running_ns(&use, &waits), gaps_ns / 2 - 600 * US,
                    gaps_ns / 2 + 600 * US);
    busy_cells_free(&waits);
    gpu_use_free(&use);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(gaps), cmocka_unit_test(what_is_no_gap),
                                       cmocka_unit_test(most_gaps_are_anothers),
                                       cmocka_unit_test(on_the_cpu)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
