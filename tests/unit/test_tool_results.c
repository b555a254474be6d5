/* SPDX-License-Identifier: Apache-2.0 */
/* result_table.h and result_bytes.h: rows come back from their bytes as they were, and from no
 * others; merging neither overflows nor mixes up the least and the greatest; order. */
#include "histogram.h"
#include "result_bytes.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

struct part {
    uint64_t count;
};
struct row {
    uint8_t choice;
    bool flag;
    uint32_t index;
    uint64_t sum, least, most;
    int64_t time_ns;
    double real;
    struct trace_text text;
    struct part *part;
    struct histogram histogram;
};

#define ROW(field) RESULT_FIELD(struct row, field)
static const struct result_column part_columns[] = {
    {"count", NULL, 0, RESULT_COUNT, RESULT_FIELD(struct part, count)}, {.unit = RESULT_END}};
static const struct result_column columns[] = {
    {"choice", NULL, 0, RESULT_CHOICE, ROW(choice), .what = 3},
    {"flag", NULL, 0, RESULT_BOOL, ROW(flag)},
    {"index", NULL, 0, RESULT_INDEX, ROW(index), .what = 1, .optional = true},
    {"sum", "sum", 9, RESULT_COUNT, RESULT_SUM, ROW(sum)},
    {"least", NULL, 0, RESULT_NS, RESULT_MIN, ROW(least)},
    {"most", NULL, 0, RESULT_NS, RESULT_MAX, ROW(most)},
    {"time", NULL, 0, RESULT_TIME, ROW(time_ns)},
    {"real", NULL, 0, RESULT_REAL, RESULT_SUM, ROW(real)},
    {"text", "text", 0, RESULT_TEXT, ROW(text)},
    {"part", NULL, 0, RESULT_PART_AT, RESULT_POINTER(struct row, part), .part = part_columns},
    {NULL, NULL, 0, RESULT_HISTOGRAM, ROW(histogram)},
    {.unit = RESULT_END}};

static void free_row(struct row *row)
{
    free((char *)(uintptr_t)row->text.text);
    free(row->part);
    histogram_free(&row->histogram);
}

static bool read_back(const uint8_t *bytes, size_t count, uint32_t things, struct row *row_out)
{
    struct result_bytes in = {.in = {bytes, count}, .things = {0, things}};
    *row_out = (struct row){0};
    result_bytes_row(&in, columns, row_out);
    return !in.broken && in.in.left == 0;
}

static void rows_come_back(void **state)
{
    (void)state;
    struct part part = {77};
    struct row row = {.choice = 2,
                      .flag = true,
                      .index = 4,
                      .sum = UINT64_MAX,
                      .least = 1,
                      .most = 300,
                      .time_ns = -5,
                      .real = 0.25,
                      .text = {"abc", 3},
                      .part = &part},
               back;
    struct buffer buffer = {0};
    struct result_bytes out = {.out = &buffer, .things = {0, 5}};
    for (uint64_t value = 1; value < 100000; value *= 7)
        assert_true(histogram_add(&row.histogram, value));
    result_bytes_row(&out, columns, &row);
    assert_true(read_back(buffer.bytes, buffer.count, 5, &back));
    assert_true(back.choice == 2 && back.flag && back.index == 4 && back.sum == UINT64_MAX &&
                back.time_ns == -5 && back.real > 0.2 && back.part->count == 77);
    assert_memory_equal(back.text.text, "abc", 4);
    assert_int_equal(histogram_quantile(&back.histogram, 500),
                     histogram_quantile(&row.histogram, 500));
    free_row(&back);
    /* An index of a thing that is not there, and bytes that end too early. */
    assert_false(read_back(buffer.bytes, buffer.count, 4, &back));
    free_row(&back);
    for (size_t count = 0; count < buffer.count; count++) {
        assert_false(read_back(buffer.bytes, count, 5, &back));
        free_row(&back);
    }
    histogram_free(&row.histogram);
    buffer_free(&buffer);
}

static void merge_keeps_bounds(void **state)
{
    (void)state;
    struct row all = {.least = 0, .most = 0, .real = 1, .sum = 5};
    const struct row low = {.least = 3, .most = 8, .real = 0.5, .sum = 1},
                     high = {.least = 7, .most = 9, .real = 0.5, .sum = UINT64_MAX};
    assert_true(result_merge(columns, &all, &high, true));
    assert_true(all.least == 7 && all.most == 9 && all.sum == UINT64_MAX);
    assert_true(result_merge(columns, &all, &low, false));
    assert_true(all.least == 3 && all.most == 9 && all.sum == UINT64_MAX);
    assert_true(all.real > 1.99 && all.real < 2.01);
}

static int by_address(const void *left, const void *right)
{
    return (left > right) - (left < right);
}

static void sorted_by_any_column(void **state)
{
    (void)state;
    const struct row list[] = {
        {.sum = 1, .text = {"b", 1}}, {.sum = 2, .text = {"ba", 2}}, {.sum = 2, .text = {"a", 1}}};
    struct result_rows rows = result_ordered(list, sizeof list[0], 3);
    struct result_place sum, text;
    assert_true(result_find(columns, "sum", 3, &sum) && result_find(columns, "text", 4, &text));
    assert_false(result_find(columns, "su", 2, &sum));
    assert_true(result_sort(&rows, sum.column, NULL, by_address));
    assert_true(rows.order[0] == 1 && rows.order[1] == 2 && rows.order[2] == 0);
    assert_true(result_sort(&rows, text.column, NULL, by_address));
    assert_true(rows.order[0] == 2 && rows.order[1] == 0 && rows.order[2] == 1);
    free(rows.order);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_come_back),
                                       cmocka_unit_test(merge_keeps_bounds),
                                       cmocka_unit_test(sorted_by_any_column)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
