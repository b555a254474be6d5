/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of flag_tables.c: each flag reaches its field in its unit, and 0 means none where it says
 * so. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "rbwp_work.h"

static struct rbwp_work_config parse(const char *flags, enum rbwp_status expected)
{
    struct rbwp_work_config config = {.size = sizeof config, .workers = 3, .slice_ns = 5};
    struct rbwp_work_config before = config;
    struct rbwp_error error = {0};
    setenv("RBWP_FLAGS", flags, 1);
    assert_int_equal(rbwp_work_parse(&config, NULL, NULL, &error), expected);
    if (expected != RBWP_OK) {
        assert_memory_equal(&config, &before, sizeof config);
        assert_true(strlen(error.text) > 0);
    }
    return config;
}

/* Each flag, and the units of the text against those of the config. */
static void test_fields(void **state)
{
    (void)state;
    struct rbwp_work_config config = parse("-bgwork 4 -bgnuma 1 -bgworkpin 1 -ll:bgnumapin 1 "
                                           "-bgstack 256 -bgspin 7 -ll:bgslice 250",
                                           RBWP_OK);
    assert_int_equal(config.workers, 4);
    assert_false(config.no_workers);
    assert_true(config.numa);
    assert_true(config.pin);
    assert_true(config.numa_pin);
    assert_int_equal(config.stack_bytes, 256 * 1024);
    assert_int_equal(config.spin_ns, 7000);
    assert_false(config.no_spin);
    assert_int_equal(config.slice_ns, 250000);
}

/* What no flag names stays as the caller set it. */
static void test_others_stay(void **state)
{
    (void)state;
    struct rbwp_work_config config = parse("-bgnuma 1", RBWP_OK);
    assert_int_equal(config.workers, 3);
    assert_int_equal(config.slice_ns, 5);
    assert_false(config.no_workers);
    assert_false(config.no_spin);
}

/* 0 workers and 0 spinning are not the defaults that 0 in the config stands for. */
static void test_zero_means_none(void **state)
{
    (void)state;
    struct rbwp_work_config config = parse("-bgwork 0 -bgspin 0", RBWP_OK);
    assert_true(config.no_workers);
    assert_true(config.no_spin);
    config = parse("-bgwork 0 -bgwork 2 -bgspin 0 -bgspin 1", RBWP_OK);
    assert_false(config.no_workers);
    assert_false(config.no_spin);
}

/* Values that no manager could be started with are refused here already. */
static void test_refused(void **state)
{
    (void)state;
    parse("-bgwork 1025", RBWP_E_USAGE);
    parse("-bgwork -1", RBWP_E_USAGE);
    parse("-bgstack 1", RBWP_E_USAGE);
    parse("-bgslice 0", RBWP_E_USAGE);
    parse("-bgslice 3600000001", RBWP_E_USAGE);
    parse("-bgnuma yes", RBWP_E_USAGE);
}

/* argv is read too, and what was recognised is gone from it. */
static void test_argv(void **state)
{
    (void)state;
    unsetenv("RBWP_FLAGS");
    char *argv[] = {"prog", "x", "-ll:bgwork", "9", "y", NULL};
    int argc = 5;
    struct rbwp_work_config config = {.size = sizeof config};
    assert_int_equal(rbwp_work_parse(&config, &argc, argv, NULL), RBWP_OK);
    assert_int_equal(config.workers, 9);
    assert_int_equal(argc, 3);
    assert_string_equal(argv[2], "y");
    assert_null(argv[3]);
}

/* A program built against an earlier, smaller config is not written or read behind its end. */
static void test_smaller_config(void **state)
{
    (void)state;
    const size_t small_bytes = offsetof(struct rbwp_work_config, stack_bytes);
    struct rbwp_work_config config = {.size = small_bytes, .stack_bytes = 77};
    setenv("RBWP_FLAGS", "-bgwork 2 -bgstack 256", 1);
    assert_int_equal(rbwp_work_parse(&config, NULL, NULL, NULL), RBWP_OK);
    assert_int_equal(config.workers, 2);
    assert_int_equal(config.size, small_bytes);
    assert_int_equal(config.stack_bytes, 77);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_others_stay),
        cmocka_unit_test(test_zero_means_none),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_argv),
        cmocka_unit_test(test_smaller_config),
    };
    return cmocka_run_group_tests_name("work_flags", tests, NULL, NULL);
}
