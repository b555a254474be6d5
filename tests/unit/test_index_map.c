/* SPDX-License-Identifier: Apache-2.0 */
/* index_map.h: elements are found by the hash of their key, however the hashes fall. */
#include "index_map.h"
#include "unit.h"

static uint32_t count_of(const struct index_map *map, uint64_t hash, uint32_t wanted)
{
    uint32_t found = 0;
    for (uint32_t step = 0, i; (i = index_map_next(map, hash, &step)) != INDEX_NONE;)
        found += i == wanted;
    return found;
}

/* Zeros: nothing is found, and there is nothing to free. */
static void empty(void **state)
{
    (void)state;
    struct index_map map = {0};
    assert_int_equal(count_of(&map, 0, 0), 0);
    assert_int_equal(count_of(&map, UINT64_MAX, 0), 0);
    index_map_free(&map);
}

/* Each is found once after many growths, 0 among the hashes. */
static void found_after_growth(void **state)
{
    (void)state;
    struct index_map map = {0};
    for (uint32_t i = 0; i < 10000; i++)
        assert_true(index_map_add(&map, (uint64_t)i << (i % 2 * 32), i));
    assert_int_equal(map.count, 10000);
    for (uint32_t i = 0; i < 10000; i++)
        assert_int_equal(count_of(&map, (uint64_t)i << (i % 2 * 32), i), 1);
    index_map_free(&map);
}

/* Keys with the same hash are all handed out, for the user to compare. */
static void same_hash(void **state)
{
    (void)state;
    struct index_map map = {0};
    for (uint32_t i = 0; i < 300; i++)
        assert_true(index_map_add(&map, 7, i));
    for (uint32_t i = 0; i < 300; i++)
        assert_int_equal(count_of(&map, 7, i), 1);
    assert_int_equal(count_of(&map, 8, 0), 0);
    index_map_free(&map);
}

/* At most half of the cells are taken, so that a search for what is not there ends soon. */
static void half_full(void **state)
{
    (void)state;
    struct index_map map = {0};
    for (uint32_t i = 0; i < 5000; i++) {
        assert_true(index_map_add(&map, i, i));
        assert_true(2 * map.count <= map.cell_count);
    }
    index_map_free(&map);
}

/* What stood behind an element that went is found, and it is not; hashes that lie close meet. */
static void removed(void **state)
{
    (void)state;
    struct index_map map = {0};
    for (uint32_t i = 0; i < 3000; i++)
        assert_true(index_map_add(&map, i / 3, i));
    for (uint32_t i = 0; i < 3000; i += 2)
        index_map_remove(&map, i / 3, i);
    assert_int_equal(map.count, 1500);
    for (uint32_t i = 0; i < 3000; i++)
        assert_int_equal(count_of(&map, i / 3, i), i % 2);
    index_map_free(&map);
}

/* Nothing is found then, and as many come in without another growth. */
static void cleared(void **state)
{
    (void)state;
    struct index_map map = {0};
    index_map_clear(&map);
    for (uint32_t round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < 100; i++)
            assert_true(index_map_add(&map, i, i));
        const uint32_t cells = map.cell_count;
        index_map_clear(&map);
        assert_int_equal(map.cell_count, cells);
        for (uint32_t i = 0; i < 100; i++)
            assert_int_equal(count_of(&map, i, i), 0);
    }
    assert_int_equal(map.cell_count, 256);
    index_map_free(&map);
}

/* What hash_pair makes of two keys differs from what it makes of them the other way round. */
static void pairs_have_an_order(void **state)
{
    (void)state;
    for (uint64_t a = 0; a < 40; a++)
        for (uint64_t b = 0; b < a; b++)
            assert_true(hash_pair(a, b) != hash_pair(b, a));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(empty),
                                       cmocka_unit_test(found_after_growth),
                                       cmocka_unit_test(same_hash),
                                       cmocka_unit_test(half_full),
                                       cmocka_unit_test(removed),
                                       cmocka_unit_test(cleared),
                                       cmocka_unit_test(pairs_have_an_order)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
