/* SPDX-License-Identifier: Apache-2.0 */
/* Two samples: the chance is that of all choices, counted one by one; equal programs differ as
 * seldom as it says, and a change that is larger than the noise is found. */
#include "permutation_test.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static double uniform(void);

static int compare_doubles(const void *a, const void *b)
{
    const double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* Of the same values in each choice of m of them: as many have at most some chance as it says. */
static void of_all_choices(const uint64_t *values, unsigned m, unsigned n)
{
    double chances[1 << 10];
    unsigned count = 0;
    for (unsigned choice = 0; choice < 1u << (m + n); choice++) {
        uint64_t less[10], more[10];
        unsigned a = 0, b = 0;
        if ((unsigned)__builtin_popcount(choice) != m)
            continue;
        for (unsigned i = 0; i < m + n; i++)
            *(choice >> i & 1 ? &less[a++] : &more[b++]) = values[i];
        chances[count++] = permutation_test_chance(less, m, more, n, 1);
    }
    qsort(chances, count, sizeof *chances, compare_doubles);
    for (unsigned i = 0; i < count; i++) {
        unsigned as_low = i + 1;
        while (as_low < count && chances[as_low] <= chances[i] * (1 + 1e-9))
            as_low++;
        assert_true(fabs(chances[i] * count - as_low) < 1e-6);
    }
}

static void as_counted_one_by_one(void **state)
{
    (void)state;
    for (unsigned m = 1; m <= 5; m++)
        for (unsigned n = 1; n <= 5; n++)
            for (unsigned distinct = 2; distinct <= 1000; distinct *= 5) {
                uint64_t values[10];
                for (unsigned i = 0; i < m + n; i++)
                    values[i] = 1000 + (uint64_t)(uniform() * distinct) * (i == 3 ? 50 : 1);
                of_all_choices(values, m, n);
            }
}

static void so_many_values_are_needed(void **state)
{
    (void)state;
    assert_int_equal(permutation_test_values(1), 1);
    assert_int_equal(permutation_test_values(0.05), 3);
    assert_int_equal(permutation_test_values(0.01), 5);
    assert_int_equal(permutation_test_values(0.001), 7);
    assert_int_equal(permutation_test_values(1e-37), 64);
    assert_int_equal(permutation_test_values(1e-38), PERMUTATION_TEST_MAX + 1);
}

/* All of one side below all of the other have the least chance, wherever they are. */
static void sides_that_are_apart(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= PERMUTATION_TEST_MAX; n++) {
        uint64_t less[PERMUTATION_TEST_MAX], more[PERMUTATION_TEST_MAX];
        for (uint32_t i = 0; i < n; i++) {
            less[i] = 1000 + (uint64_t)(100 * uniform());
            more[i] = 1100 + (uint64_t)(i % 3 ? 5 * uniform() : 9000 * uniform());
        }
        const double best = permutation_test_best(n, n),
                     chance = permutation_test_chance(less, n, more, n, 1);
        assert_true(fabs(chance / best - 1) < 1e-9);
        assert_true(permutation_test_chance(more, n, less, n, 1) > 0.5);
    }
    assert_true(permutation_test_best(0, 5) >= 1 &&
                permutation_test_best(PERMUTATION_TEST_MAX + 1, 5) >= 1);
}

static void a_disturbed_run_says_little(void **state)
{
    (void)state;
    const uint64_t less[] = {100, 101, 102, 103, 180}, more[] = {107, 108, 109, 110, 111};
    const uint64_t far[] = {100, 101, 102, 103, 900}, near[] = {100, 101, 102, 103, 112};
    const double chance = permutation_test_chance(less, 5, more, 5, 1);
    assert_true(chance < 0.02);
    assert_true(permutation_test_chance(far, 5, more, 5, 1) <= chance);
    assert_true(permutation_test_chance(near, 5, more, 5, 1) > chance);
}

static void equal_values_and_none(void **state)
{
    (void)state;
    const uint64_t same[] = {7, 7, 7, 7, 7, 7}, less[] = {5, 7, 9}, doubled[] = {10, 14, 18};
    const uint64_t more[] = {8, 10, 15};
    assert_true(permutation_test_chance(same, 3, same + 3, 3, 1) >= 1);
    assert_true(permutation_test_chance(same, 0, same, 3, 1) >= 1);
    assert_true(permutation_test_chance(less, 3, more, 3, 2) >=
                permutation_test_chance(doubled, 3, more, 3, 1));
    assert_true(permutation_test_chance(less, 3, more, 3, 2) <=
                permutation_test_chance(doubled, 3, more, 3, 1));
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
    enum { COMPARISONS = 300, ROWS = 20, RUNS = 10 };
    unsigned count = 0, others = 0;
    for (int i = 0; i < COMPARISONS; i++) {
        bool other = false;
        for (int row = 0; row < ROWS; row++) {
            uint64_t a[RUNS], b[RUNS];
            make_runs(a, RUNS, 1, bursts);
            make_runs(b, RUNS, row ? 1 : factor, bursts);
            bool seen = permutation_test_chance(a, RUNS, b, RUNS, 1) <= 0.01 / ROWS;
            count += seen && row == 0;
            other |= seen && row != 0;
        }
        others += other;
    }
    *equal_too = others > 10; /* 3 are expected */
    return count;
}

static void equal_programs_differ_in_one_of_a_hundred(void **state)
{
    bool too_many;
    (void)state;
    assert_in_range(found(1, 0.1, &too_many), 0, 3); /* one row of twenty */
    assert_false(too_many);
    assert_in_range(found(1.05, 0, &too_many), 285, 300);
    assert_false(too_many);
}

/* The sum of ranks finds it in half, that of squares of ranks in three quarters. */
static void a_change_is_found_beside_bursts(void **state)
{
    bool too_many;
    (void)state;
    assert_in_range(found(1.05, 0.1, &too_many), 236, 300);
    assert_false(too_many);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_counted_one_by_one),
        cmocka_unit_test(so_many_values_are_needed),
        cmocka_unit_test(sides_that_are_apart),
        cmocka_unit_test(a_disturbed_run_says_little),
        cmocka_unit_test(equal_values_and_none),
        cmocka_unit_test(equal_programs_differ_in_one_of_a_hundred),
        cmocka_unit_test(a_change_is_found_beside_bursts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
