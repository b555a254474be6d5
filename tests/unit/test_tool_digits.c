/* SPDX-License-Identifier: Apache-2.0 */
/* out.h: integers as decimal text. */
#include "out.h"
#include "unit.h"

#include <inttypes.h>
#include <stdio.h>

static void check_both(uint64_t value)
{
    char got[DIGITS_MAX + 1], want[DIGITS_MAX + 2];
    *put_u64(got, value) = '\0';
    snprintf(want, sizeof want, "%" PRIu64, value);
    assert_string_equal(got, want);
    *put_i64(got, (int64_t)value) = '\0';
    snprintf(want, sizeof want, "%" PRId64, (int64_t)value);
    assert_string_equal(got, want);
}

/* Every length of number is cut into pieces elsewhere: each power of ten and of two, and around. */
static void around_each_power(void **state)
{
    (void)state;
    for (uint64_t power = 1;; power *= 10) {
        check_both(power - 1);
        check_both(power);
        check_both(power + 1);
        check_both(0 - power);
        if (power > UINT64_MAX / 10)
            break;
    }
    for (int bit = 0; bit < 64; bit++) {
        check_both((UINT64_C(1) << bit) - 1);
        check_both(UINT64_C(1) << bit);
    }
    check_both(UINT64_MAX);
}

/* Zeros inside a number must not get lost between the pieces. */
static void inner_zeros(void **state)
{
    (void)state;
    for (uint64_t high = 1; high < 2000; high += 7)
        for (uint64_t scale = 10; scale < UINT64_MAX / 20000; scale *= 10)
            check_both(high * scale + high % 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(around_each_power),
                                       cmocka_unit_test(inner_zeros)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
