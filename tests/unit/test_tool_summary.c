/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cells of a summary hold the busy time and the begun spans of their times, exactly, however
 * often they were joined on the way; a kind that has most of a cell's time is its main kind; times
 * at the ends of what a number holds do no harm.
 */
#include "page_timeline.h"
#include "unit.h"

enum { SPANS = 3000, MOST = 256 };

static int64_t starts[SPANS], stops[SPANS];

static uint64_t overlap_ns(int64_t from_ns, int64_t to_ns, int i)
{
    int64_t first_ns = starts[i] > from_ns ? starts[i] : from_ns;
    int64_t last_ns = stops[i] < to_ns ? stops[i] : to_ns;
    return first_ns < last_ns ? (uint64_t)(last_ns - first_ns) : 0;
}

static void expect_cells(const struct summary_row *row)
{
    for (uint32_t c = 0; c < row->count; c++) {
        int64_t from_ns = (row->first + (int64_t)c) * ((int64_t)1 << row->shift);
        int64_t to_ns = from_ns + ((int64_t)1 << row->shift);
        uint64_t busy_ns = 0, begun = 0;
        for (int i = 0; i < SPANS; i++) {
            busy_ns += overlap_ns(from_ns, to_ns, i);
            begun += starts[i] >= from_ns && starts[i] < to_ns;
        }
        assert_int_equal(row->cells[c].busy_ns, busy_ns);
        assert_int_equal(row->cells[c].begun, begun);
    }
}

static void cells_are_exact(void **state)
{
    (void)state;
    struct summary_row row = {0};
    uint64_t random = 88172645463325252u;
    int64_t time_ns = -700001;
    for (int i = 0; i < SPANS; i++) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        starts[i] = time_ns + (int64_t)(random % 900);
        stops[i] = time_ns = starts[i] + (int64_t)(random >> 40 & (i % 100 ? 1023 : 0xffff));
        assert_true(summary_add(&row, MOST, starts[i], stops[i], (uint32_t)i % 7, 1));
        assert_true(row.count <= MOST && row.room <= MOST);
    }
    expect_cells(&row);
    summary_limit(&row, MOST / 8);
    assert_true(row.count <= MOST / 8);
    expect_cells(&row);
    summary_coarsen(&row, row.shift + 3);
    expect_cells(&row);
    summary_free(&row);
}

static void main_kind_is_found(void **state)
{
    (void)state;
    struct summary_row row = {0};
    assert_true(summary_add(&row, MOST, 0, 0, 9, 1)); /* an instant weighs nothing */
    assert_int_equal(summary_main_kind(&row.cells[0]), UINT32_MAX);
    for (uint32_t i = 0; i < 200; i++)
        assert_true(summary_add(&row, 1, i, i + 1, i % 2 ? 5 : 100 + i, 1));
    assert_int_equal(summary_main_kind(&row.cells[0]), 5);
    summary_free(&row);
}

static void blocked_time_is_not_busy(void **state)
{
    (void)state;
    struct summary_row row = {0};
    assert_true(summary_add(&row, MOST, 0, 1 << 20, 5, 0.25));
    uint64_t busy_ns = 0;
    for (uint32_t i = 0; i < row.count; i++)
        busy_ns += row.cells[i].busy_ns;
    assert_int_equal(busy_ns, 1 << 18);
    assert_int_equal(summary_main_kind(&row.cells[0]), 5); /* what it was in all the same */
    summary_free(&row);
}

static void far_times_do_no_harm(void **state)
{
    (void)state;
    struct summary_row row = {0};
    assert_true(summary_add(&row, MOST, 5, 8, 1, 1));
    assert_true(summary_add(&row, MOST, INT64_MIN, INT64_MAX, 2, 1));
    assert_true(summary_add(&row, MOST, INT64_MAX, INT64_MAX, 3, 1));
    assert_true(row.count <= MOST);
    uint64_t busy_ns = 0;
    for (uint32_t i = 0; i < row.count; i++)
        busy_ns += row.cells[i].busy_ns;
    assert_int_equal(busy_ns, 2); /* 2^64 - 1, and 3 */
    summary_free(&row);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cells_are_exact),
        cmocka_unit_test(main_kind_is_found),
        cmocka_unit_test(blocked_time_is_not_busy),
        cmocka_unit_test(far_times_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
