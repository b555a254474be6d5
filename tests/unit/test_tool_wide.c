/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products and quotients of 128 bits are exact, by whichever way: where the compiler has a type of
 * that width both are compared with it.
 */
#include "unit.h"
#include "wide.h"

static uint64_t state = 88172645463325252u;

/* Of any width. */
static uint64_t next_number(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state >> (state >> 3 & 63);
}

static void test_known(void **unused)
{
    (void)unused;
    const struct wide most = wide_plus(wide_product(UINT64_MAX, UINT64_MAX), UINT64_MAX);
    assert_int_equal(most.high, UINT64_MAX);
    assert_int_equal(most.low, 0);
    assert_true(wide_less(wide_product(1, UINT64_MAX), wide_product(2, UINT64_C(1) << 63)));
    assert_int_equal(wide_quotient(most, 1), UINT64_MAX); /* more than fits */
    assert_int_equal(wide_quotient(wide_product(UINT64_MAX, 7), 7), UINT64_MAX);
    assert_int_equal(wide_long_division(wide_product(UINT64_MAX, UINT64_MAX - 1), UINT64_MAX),
                     UINT64_MAX - 1);
}

static void test_random(void **unused)
{
    (void)unused;
    for (int i = 0; i < 20000; i++) {
        const uint64_t a = next_number(), b = next_number(), more = next_number(),
                       divisor = next_number() | 1;
        const struct wide wide = wide_plus(wide_product(a, b), more);
        if (wide.high < divisor) {
            const uint64_t quotient = wide_long_division(wide, divisor);
            assert_int_equal(wide_quotient(wide, divisor), quotient);
            const struct wide least = wide_product(quotient, divisor);
            assert_false(wide_less(wide, least)); /* quotient * divisor <= wide < that + divisor */
            assert_true(wide_less(wide, wide_plus(least, divisor)));
        }
#ifdef __SIZEOF_INT128__
        __extension__ typedef unsigned __int128 whole;
        const whole expected = (whole)a * b + more;
        assert_int_equal(wide.high, (uint64_t)(expected >> 64));
        assert_int_equal(wide.low, (uint64_t)expected);
#endif
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known),
        cmocka_unit_test(test_random),
    };
    return cmocka_run_group_tests_name("wide", tests, NULL, NULL);
}
