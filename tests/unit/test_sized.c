/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Guards: structs of callers that were compiled with another version are neither read nor written
 * behind their end, and nothing that they ask for is passed over in silence.
 */
#include "failure.h"

#include "unit.h"

#include <string.h>

struct small {
    size_t size;
    uint32_t old;
};
struct large {
    size_t size;
    uint32_t old;
    uint32_t late;
    uint64_t later;
};

/* A caller of before: what it does not know is 0, whatever lies behind it. */
static void test_smaller(void **state)
{
    (void)state;
    struct large own = {.late = 9};
    struct {
        struct small given;
        unsigned char behind[32];
    } memory = {{.size = offsetof(struct large, late), .old = 5}, {0}};
    memset(memory.behind, 0xff, sizeof memory.behind);
    assert_int_equal(sized_take(&own, sizeof own, &memory.given, "large", NULL), RBWP_OK);
    assert_int_equal(own.old, 5);
    assert_int_equal(own.late, 0);
    assert_int_equal(own.later, 0);
}

/* A later caller: its new fields have to be 0. */
static void test_larger(void **state)
{
    (void)state;
    struct small own;
    struct rbwp_error error;
    struct large given = {.size = sizeof given, .old = 5};
    assert_int_equal(sized_take(&own, offsetof(struct large, late), &given, "small", &error),
                     RBWP_OK);
    assert_int_equal(own.old, 5);
    given.later = UINT64_C(1) << 63;
    assert_int_equal(sized_take(&own, offsetof(struct large, late), &given, "small", &error),
                     RBWP_E_UNSUPPORTED);
    assert_non_null(strstr(error.text, "small"));
    assert_non_null(strstr(error.text, RBWP_VERSION_STRING));
}

/* A size that was never set. */
static void test_unset(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, sizeof(size_t) - 1, SIZED_BYTES_MAX + 1, SIZE_MAX};
    struct small own;
    struct rbwp_error error;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct small given = {.size = sizes[i]};
        assert_int_equal(sized_take(&own, sizeof own, &given, "small", &error), RBWP_E_INVALID);
        assert_int_equal(error.status, RBWP_E_INVALID);
        assert_non_null(strstr(error.text, "sizeof"));
    }
}

static void test_give(void **state)
{
    (void)state;
    const struct large own = {1, 2, 3, 4};
    struct {
        struct large given;
        uint64_t behind;
    } memory;
    memset(&memory, 0xff, sizeof memory);
    sized_give(&memory.given, offsetof(struct large, later), &own, sizeof own);
    assert_int_equal(memory.given.late, 3);
    assert_int_equal(memory.given.later, UINT64_MAX); /* not the caller's: not touched */
    sized_give(&memory.given, sizeof memory.given, &own, offsetof(struct large, later));
    assert_int_equal(memory.given.late, 3);
    assert_int_equal(memory.given.later, 0); /* the caller's, and not known here */
    assert_true(memory.behind == UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_smaller),
        cmocka_unit_test(test_larger),
        cmocka_unit_test(test_unset),
        cmocka_unit_test(test_give),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
