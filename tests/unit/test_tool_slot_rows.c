/* SPDX-License-Identifier: Apache-2.0 */
/* slot_rows.h: a row for each name and slot, found by time. */
#include "slot_rows.h"
#include "unit.h"

#define NAME(slot, from, literal)                                                                  \
    {                                                                                              \
        .id = (slot), .from_ns = (from), .text = (literal), .bytes = sizeof(literal) - 1           \
    }

/* Guards: the row is that of the name in use at that time, for slots with no name, one, and
 * several; a name that comes back to its slot keeps its row, one that is the beginning of another,
 * holds a zero byte or is another slot's has its own. */
static void rows_are_found_by_slot_and_time(void **state)
{
    (void)state;
    struct name names[] = {
        NAME(3, INT64_MIN, "copy"), NAME(7, 0, "a"),     NAME(7, 10, "ab"), NAME(7, 20, "a"),
        NAME(7, 30, "a\0b"),        NAME(7, 40, "a\0c"), NAME(255, 0, "a"),
    };
    static const struct {
        uint8_t slot;
        int64_t time_ns;
        int name; /* whose row is expected, -1: a row without a name */
    } cases[] = {
        {0, 5, -1}, {3, INT64_MIN, 0}, {3, INT64_MAX, 0}, {7, -5, 1}, {7, 9, 1},
        {7, 10, 2}, {7, 20, 1},        {7, 29, 1},        {7, 30, 4}, {7, 40, 5},
        {8, 0, -1}, {254, 0, -1},      {255, 0, 6},
    };
    struct name_set set = {names, sizeof names / sizeof names[0]};
    struct slot_rows rows;
    assert_true(slot_rows_make(&rows, &set));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct slot_row *row = slot_rows_find(&rows, cases[i].slot, cases[i].time_ns);
        assert_int_equal(row->slot, cases[i].slot);
        assert_ptr_equal(row->name, cases[i].name < 0 ? NULL : &names[cases[i].name]);
    }
    slot_rows_free(&rows);
}

/* Guards: every slot and every name has one row, in order of slots, those of wrong tables too. */
static void rows_are_complete_and_in_order(void **state)
{
    (void)state;
    struct name names[] = {NAME(0, 0, ""), NAME(9, 0, "x"), NAME(9, 1, "y"), NAME(256, 0, "z"),
                           NAME(65535, 0, "z")};
    struct name_set set = {names, sizeof names / sizeof names[0]};
    struct slot_rows rows;
    assert_true(slot_rows_make(&rows, &set));
    assert_int_equal(rows.count, RBWP_SLOTS_MAX + 3);
    unsigned named = 0;
    for (uint32_t i = 0; i < rows.count; i++) {
        assert_true(i == 0 || rows.rows[i - 1].slot <= rows.rows[i].slot);
        if (rows.rows[i].name)
            assert_ptr_equal(rows.rows[i].name, &names[named++]);
    }
    assert_int_equal(named, 5);
    slot_rows_free(&rows);
}

/* Guards: a file without any name. */
static void no_names_make_a_row_for_each_slot(void **state)
{
    (void)state;
    struct name_set none = {0};
    struct slot_rows rows;
    assert_true(slot_rows_make(&rows, &none));
    assert_int_equal(rows.count, RBWP_SLOTS_MAX);
    assert_int_equal(slot_rows_find(&rows, 255, 0)->slot, 255);
    slot_rows_free(&rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_found_by_slot_and_time),
        cmocka_unit_test(rows_are_complete_and_in_order),
        cmocka_unit_test(no_names_make_a_row_for_each_slot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
