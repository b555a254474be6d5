/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unit.h - cmocka, with the headers that it wants before itself. A program of which a test was
 * skipped, and none failed, ends with 77: ctest shows it as skipped, not as passed.
 */
#ifndef UNIT_H
#define UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static bool unit_skipped;

static inline int unit_result(int failures)
{
    return failures == 0 && unit_skipped ? 77 : failures;
}

#undef skip
#define skip() (unit_skipped = true, _skip(__FILE__, __LINE__))
#undef cmocka_run_group_tests_name
#define cmocka_run_group_tests_name(name, tests, setup, teardown)                                  \
    unit_result(                                                                                   \
        _cmocka_run_group_tests(name, tests, sizeof(tests) / sizeof((tests)[0]), setup, teardown))
#undef cmocka_run_group_tests
#define cmocka_run_group_tests(tests, setup, teardown)                                             \
    cmocka_run_group_tests_name(#tests, tests, setup, teardown)

#endif /* UNIT_H */
