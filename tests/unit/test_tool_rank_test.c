/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks of two samples: the chance is that of all orders, counted one by one; equal programs differ
 * as seldom as it says, and a change that is larger than the noise is found. */
#include "rank_test.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

/* Of an order: a bit a value, 1: of the second sample. */
static uint32_t sum_of(unsigned order, unsigned values)
{
    uint64_t less[16], more[16];
    uint32_t m = 0, n = 0;
    for (unsigned i = 0; i < values; i++)
        if (order >> i & 1)
            more[n++] = 100 + i;
        else
            less[m++] = 100 + i;
    return rank_test_sum(less, m, more, n, 1);
}

static void as_counted_one_by_one(void **state)
{
    enum { SUMS = 1024 };
    (void)state;
    for (unsigned m = 1; m <= 7; m++)
        for (unsigned n = 1; n <= 7; n++) {
            unsigned at_least[SUMS] = {0}, all = 0, most = 0;
            for (unsigned order = 0; order < 1u << (m + n); order++)
                if ((unsigned)__builtin_popcount(order) == n) {
                    const uint32_t sum = sum_of(order, m + n);
                    assert_in_range(sum, 0, SUMS - 1);
                    all++;
                    most = sum > most ? sum : most;
                    for (unsigned k = 0; k <= sum; k++)
                        at_least[k]++;
                }
            assert_int_equal(rank_test_most(m, n), most);
            assert_int_equal(at_least[most], 1);
            for (double chance = 0.2; chance > 0.0003; chance /= 3) {
                unsigned wanted = most + 1;
                while (wanted > 0 && at_least[wanted - 1] <= chance * all)
                    wanted--;
                assert_int_equal(rank_test_least(m, n, chance), wanted);
            }
        }
    assert_int_equal(rank_test_least(0, 5, 0.5), 1);
    assert_int_equal(rank_test_least(3, 3, 0.049), rank_test_most(3, 3) + 1);
    assert_in_range(rank_test_least(3, 3, 0.051), 1, rank_test_most(3, 3));
    assert_in_range(rank_test_least(64, 64, 1e-6), 1, rank_test_most(64, 64));
}

static void so_many_values_are_needed(void **state)
{
    (void)state;
    assert_int_equal(rank_test_values(1), 1);
    assert_int_equal(rank_test_values(0.05), 3);
    assert_int_equal(rank_test_values(0.01), 5);
    assert_int_equal(rank_test_values(0.001), 7);
    assert_int_equal(rank_test_values(1e-37), 64);
    assert_int_equal(rank_test_values(1e-38), RANK_TEST_MAX + 1);
}

static void lowest_values_count_most(void **state)
{
    (void)state;
    const uint64_t less[] = {5, 6, 99}, also[] = {3, 20, 21}, more[] = {10, 11, 12};
    assert_true(rank_test_sum(less, 3, more, 3, 1) > rank_test_sum(also, 3, more, 3, 1));
    for (unsigned n = 1; n <= RANK_TEST_MAX; n++)
        assert_true(rank_test_most(n, n) > 0 && rank_test_most(1, n) > 0);
}

static void equal_values_are_not_less(void **state)
{
    (void)state;
    const uint64_t less[] = {5, 7, 9}, equal[] = {7, 9, 11}, greater[] = {6, 8, 11};
    const uint64_t more[] = {8, 10, 11}, doubled[] = {10, 14, 18};
    assert_int_equal(rank_test_sum(less, 3, equal, 3, 1), rank_test_sum(less, 3, greater, 3, 1));
    assert_true(rank_test_sum(less, 3, more, 3, 1) > rank_test_sum(less, 3, equal, 3, 1));
    assert_int_equal(rank_test_sum(less, 3, equal, 3, 2), rank_test_sum(doubled, 3, equal, 3, 1));
}

static double uniform(void)
{
    static uint64_t seed = 1;
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(seed >> 11) / 9007199254740992.0;
}

/* A run's mean: noise of 1.5 %, and some runs with a burst of up to 30 % on top. */
static void make_runs(uint64_t *runs, unsigned count, double factor, double bursts)
{
    for (unsigned i = 0; i < count; i++) {
        double gauss = -6; /* nearly */
        for (int k = 0; k < 12; k++)
            gauss += uniform();
        double burst = uniform() < bursts ? 0.3 * uniform() : 0;
        runs[i] = (uint64_t)(1e6 * factor * (1 + 0.015 * gauss + burst));
    }
}

/* Comparisons of so many rows in which some row was found; all rows but the first are equal. */
static unsigned found(double factor, double bursts, bool *equal_too)
{
    enum { COMPARISONS = 1000, ROWS = 20, RUNS = 10 };
    const uint32_t least = rank_test_least(RUNS, RUNS, 0.01 / ROWS);
    unsigned count = 0, others = 0;
    for (int i = 0; i < COMPARISONS; i++) {
        bool other = false;
        for (int row = 0; row < ROWS; row++) {
            uint64_t a[RUNS], b[RUNS];
            make_runs(a, RUNS, 1, bursts);
            make_runs(b, RUNS, row ? 1 : factor, bursts);
            bool seen = rank_test_sum(a, RUNS, b, RUNS, 1) >= least;
            count += seen && row == 0;
            other |= seen && row != 0;
        }
        others += other;
    }
    *equal_too = others > 20; /* 10 are expected */
    return count;
}

static void equal_programs_differ_in_one_of_a_hundred(void **state)
{
    bool too_many;
    (void)state;
    assert_in_range(found(1, 0.1, &too_many), 0, 3); /* one row of twenty */
    assert_false(too_many);
    assert_in_range(found(1.05, 0, &too_many), 900, 1000);
    assert_false(too_many);
}

/* The sum of ranks finds it in half. */
static void a_change_is_found_beside_bursts(void **state)
{
    bool too_many;
    (void)state;
    assert_in_range(found(1.05, 0.1, &too_many), 680, 1000);
    assert_false(too_many);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_counted_one_by_one),
        cmocka_unit_test(so_many_values_are_needed),
        cmocka_unit_test(lowest_values_count_most),
        cmocka_unit_test(equal_values_are_not_less),
        cmocka_unit_test(equal_programs_differ_in_one_of_a_hundred),
        cmocka_unit_test(a_change_is_found_beside_bursts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
