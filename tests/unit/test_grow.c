/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Guards: an array that grows keeps what is in it, is 0 where that was asked for, and a count whose
 * bytes have no number is refused instead of getting too little memory.
 */
#include "grow.h"

#include "unit.h"

#include <stdlib.h>

static void test_keeps(void **state)
{
    (void)state;
    uint32_t *array = NULL;
    size_t room = 0;
    for (uint32_t i = 0; i < 5000; i++) {
        assert_true(grow_array(&array, &room, i + 1, sizeof *array));
        assert_true(room > i);
        array[i] = i;
    }
    for (uint32_t i = 0; i < 5000; i++)
        assert_int_equal(array[i], i);
    free(array);
}

static void test_zeroed(void **state)
{
    (void)state;
    uint64_t *array = NULL;
    uint32_t room = 0;
    for (uint32_t count = 1; count < 3000; count += count / 2 + 1) {
        uint32_t before = room;
        assert_true(grow_zeroed32(&array, &room, count, sizeof *array));
        for (uint32_t i = before; i < room; i++) {
            assert_true(array[i] == 0);
            array[i] = UINT64_MAX;
        }
    }
    free(array);
}

static void test_too_many(void **state)
{
    (void)state;
    char(*array)[4096] = NULL;
    size_t room = 0;
    assert_true(grow_array(&array, &room, 3, sizeof *array));
    void *before = array;
    size_t room_before = room;
    static const size_t counts[] = {SIZE_MAX, SIZE_MAX / 2 + 2, SIZE_MAX / 4096 + 2};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        assert_false(grow_array(&array, &room, counts[i], sizeof *array));
    assert_ptr_equal(array, before);
    assert_int_equal(room, room_before);
    free(array);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keeps),
        cmocka_unit_test(test_zeroed),
        cmocka_unit_test(test_too_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
