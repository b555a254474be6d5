/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of channel_transfer.c: the arithmetic of reductions, number by number. */
#include "channel_transfer.h"
#include "test_channel_reference.h"
#include "unit.h"

#include <math.h>

/* Bytes of count numbers: any for integers, small whole ones for floating point. */
static void numbers_make(struct dice *dice, enum rbwp_reduce_op op, enum rbwp_reduce_type type,
                         uint8_t *bytes, size_t size)
{
    const struct rbwp_transfer t = {
        .kind = RBWP_TRANSFER_REDUCE, .reduce_op = op, .reduce_type = type};
    random_bytes(dice, &t, bytes, size, 0);
}

/*
 * Guards: each operation on each type, for every count around the vector and lane widths, at
 * addresses that are not aligned, contiguous, strided and folded, overflowing included.
 */
static void rows_equal_naive_loops(void **state)
{
    (void)state;
    enum { COUNT_MAX = 70, SLACK = 8 };
    uint8_t source[COUNT_MAX * 24 + SLACK], target[COUNT_MAX * 16 + SLACK], expected[sizeof target];
    struct dice dice = {77};
    for (enum rbwp_reduce_op op = RBWP_REDUCE_SUM; op <= RBWP_REDUCE_MAX; op++)
        for (enum rbwp_reduce_type type = RBWP_REDUCE_I32; type <= RBWP_REDUCE_F64; type++)
            for (unsigned round = 0; round < 4 * COUNT_MAX; round++) {
                const int64_t bytes = reference_number_bytes(type);
                const size_t count = round / 4, shift = round % 2 ? 3 : 0;
                const int64_t to = round % 4 == 0 ? 0 : round % 4 == 1 ? 2 * bytes : bytes;
                const int64_t from = round % 4 == 2 ? 3 * bytes : bytes;
                numbers_make(&dice, op, type, source + shift, sizeof source - SLACK);
                numbers_make(&dice, op, type, target + shift, sizeof target - SLACK);
                memcpy(expected, target, sizeof target);
                for (size_t i = 0; i < count; i++)
                    reference_reduce(op, type, expected + shift + (int64_t)i * to,
                                     source + shift + (int64_t)i * from);
                channel_reduce_find(op, type)(target + shift, to, source + shift, from, count);
                assert_memory_equal(target, expected, sizeof target);
            }
}

/* Guards: the stated rule for NaN, in the vector part, the rest and a fold alike. */
static void nan_in_the_source_is_passed_over(void **state)
{
    (void)state;
    double target[40], source[40];
    for (unsigned i = 0; i < 40; i++) {
        target[i] = i == 5 || i == 39 ? (double)NAN : 1;
        source[i] = i == 7 || i == 38 ? (double)NAN : 2;
    }
    channel_reduce_find(RBWP_REDUCE_MAX, RBWP_REDUCE_F64)((uint8_t *)target, 8, (uint8_t *)source,
                                                          8, 40);
    for (unsigned i = 0; i < 40; i++)
        if (i == 5 || i == 39)
            assert_true(isnan(target[i]));
        else
            assert_true(target[i] == (i == 7 || i == 38 ? 1 : 2));
    double fold = -1;
    channel_reduce_find(RBWP_REDUCE_MAX, RBWP_REDUCE_F64)((uint8_t *)&fold, 0, (uint8_t *)source, 8,
                                                          40);
    assert_true(fold == 2);
}

/* Guards: a fold adds nothing of its own, not even the sign of a zero. */
static void folding_minus_zero_gives_minus_zero(void **state)
{
    (void)state;
    const float source[3] = {-0.0f, -0.0f, -0.0f};
    float target = -0.0f;
    channel_reduce_find(RBWP_REDUCE_SUM, RBWP_REDUCE_F32)((uint8_t *)&target, 0,
                                                          (const uint8_t *)source, 4, 3);
    assert_true(target == 0 && signbit(target));
}

/* Guards: an enum value from a newer caller is no index into the table. */
static void unknown_ones_are_not_found(void **state)
{
    (void)state;
    assert_null(channel_reduce_find((enum rbwp_reduce_op)5, RBWP_REDUCE_I32));
    assert_null(channel_reduce_find(RBWP_REDUCE_SUM, (enum rbwp_reduce_type)7));
    assert_null(channel_reduce_find((enum rbwp_reduce_op)0, (enum rbwp_reduce_type)0));
    assert_null(channel_reduce_find((enum rbwp_reduce_op) - 1, (enum rbwp_reduce_type) - 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_equal_naive_loops),
        cmocka_unit_test(nan_in_the_source_is_passed_over),
        cmocka_unit_test(folding_minus_zero_gives_minus_zero),
        cmocka_unit_test(unknown_ones_are_not_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
