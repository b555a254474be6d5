/* SPDX-License-Identifier: Apache-2.0 */
/* thread_map.h: small numbers for thread ids, bounded. */
#include "thread_map.h"
#include "unit.h"

#include <stdlib.h>

static uint64_t id_of(uint32_t number, int pattern)
{
    if (pattern == 0)
        return number;
    if (pattern == 1)
        return (uint64_t)number << 32;             /* all alike in the low bits */
    return (uint64_t)number * 0x9e3779b97f4a7c15u; /* all different everywhere, 0 among them */
}

/* Numbers count up in order of appearance and stay, also when the table grows. */
static void numbers_are_stable(void **state)
{
    (void)state;
    for (int pattern = 0; pattern < 3; pattern++) {
        struct thread_map map = {0};
        for (uint32_t i = 0; i < 5000; i++)
            assert_int_equal(thread_map_number(&map, id_of(i, pattern)), i);
        for (uint32_t i = 5000; i-- > 0;)
            assert_int_equal(thread_map_number(&map, id_of(i, pattern)), i);
        assert_int_equal(map.count, 5000);
        assert_false(map.full);
        thread_map_free(&map);
    }
}

/* At the bound new threads are turned away and known ones are still known. */
static void bounded(void **state)
{
    (void)state;
    struct thread_map map = {0};
    for (uint32_t i = 0; i < THREAD_MAP_MAX; i++)
        assert_int_equal(thread_map_number(&map, id_of(i, 2)), i);
    assert_int_equal(thread_map_number(&map, 12345), THREAD_NONE);
    assert_true(map.full);
    assert_int_equal(thread_map_number(&map, id_of(77, 2)), 77);
    thread_map_free(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(numbers_are_stable),
                                       cmocka_unit_test(bounded)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
