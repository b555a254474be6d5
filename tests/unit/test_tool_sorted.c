/* SPDX-License-Identifier: Apache-2.0 */
/* sorted.h: places in lists of any length, with equal ones among them; heaps give their least
 * first; orders by several members. grow.h: an array has room for elements of its own size. */
#include "grow.h"
#include "sorted.h"
#include "unit.h"

#include <stdlib.h>

enum { MOST = 9 };

struct pair {
    int first, second;
};

static int compare(const void *left, const void *right)
{
    const struct pair *a = left, *b = right;
    SORTED_BY(a, b, first);
    SORTED_BY(b, a, second); /* the greater one first */
    return 0;
}

static void test_order(void **state)
{
    const struct pair low = {1, 1}, high = {2, 0}, same_first = {1, 3};
    (void)state;
    assert_int_equal(compare(&low, &high), -1);
    assert_int_equal(compare(&high, &low), 1);
    assert_int_equal(compare(&same_first, &low), -1);
    assert_int_equal(compare(&low, &same_first), 1);
    assert_int_equal(compare(&low, &low), 0);
}

/* Of 0, 0, 2, 2, 4, ...: as many as are less than each value, also below the first and behind the
 * last one. */
static void test_find(void **state)
{
    (void)state;
    for (uint32_t count = 0; count <= MOST; count++)
        for (int value = -1; value <= MOST + 1; value++) {
            uint32_t at, expected = 0;
            int list[MOST];
            for (uint32_t i = 0; i < count; i++)
                list[i] = (int)(i & ~1u);
            while (expected < count && list[expected] < value)
                expected++;
            SORTED_FIND(at, count, list[at] < value);
            assert_int_equal(at, expected);
        }
}

static void sift(struct pair *heap, size_t count, size_t at)
{
    HEAP_SIFT(heap, count, at, compare(a, b) < 0);
}

/* Heaps of all lengths, of numbers in no order with equal ones among them. */
static void test_heap(void **state)
{
    (void)state;
    for (size_t count = 0; count <= MOST; count++) {
        struct pair heap[MOST], last = {-1, 0};
        for (size_t i = 0; i < count; i++)
            heap[i] = (struct pair){(int)(i * 7 % 4), (int)i};
        for (size_t at = count / 2; at-- > 0;)
            sift(heap, count, at);
        for (size_t left = count; left > 0; sift(heap, left, 0)) {
            assert_true(compare(&last, &heap[0]) < 0);
            last = heap[0];
            heap[0] = heap[--left];
        }
    }
}

static void test_grow(void **state)
{
    struct pair *list = NULL;
    uint32_t room = 0;
    (void)state;
    assert_true(GROW_ZEROED(list, room, 3));
    assert_true(room >= 3);
    for (uint32_t i = 0; i < room; i++) /* a sanitizer sees what is not there */
        assert_int_equal(list[i].first + list[i].second, 0);
    const uint32_t more = room + 1;
    assert_true(GROW_ARRAY(list, room, more));
    list[room - 1] = (struct pair){1, 2};
    assert_true(room >= more);
    free(list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_order), cmocka_unit_test(test_find),
                                       cmocka_unit_test(test_heap), cmocka_unit_test(test_grow)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
