/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_channel_plan.c - properties of plans that a device which takes any address does not show:
 * every address that a kernel computes is a multiple of its unit, every index is done once, what a
 * launch is given fits, and partial results fit in scratch.
 */
#include "../unit/test_channel_reference.h"
#include "channel_plan.h"
#include "unit.h"

static u64 unit_of(const struct channel_plan *plan, const struct channel_stage *stage)
{
    if (stage->kernel < CHANNEL_KERNEL_TRANSPOSE)
        return UINT64_C(1) << (stage->kernel - CHANNEL_KERNEL_COPY);
    if (stage->kernel < CHANNEL_KERNEL_REDUCE)
        return UINT64_C(1) << (stage->kernel - CHANNEL_KERNEL_TRANSPOSE);
    return stage->piece.aligned ? plan->shape.element_bytes : 1;
}

static void check_stage(const struct channel_plan *plan, const struct channel_stage *stage,
                        const struct channel_sides *sides)
{
    const struct transfer_piece *piece = &stage->piece;
    const u64 unit = unit_of(plan, stage);
    assert_in_range(piece->loops, 1, TRANSFER_LOOPS);
    assert_int_equal(stage->from_scratch ? 0 : sides->source_address % unit, 0);
    assert_int_equal(stage->to_scratch ? 0 : sides->target_address % unit, 0);
    for (unsigned d = 0; d < TRANSFER_LOOPS; d++) {
        assert_true(piece->extent[d] >= 1);
        assert_int_equal(piece->source_stride[d] % (i64)unit, 0);
        assert_int_equal(piece->target_stride[d] % (i64)unit, 0);
        assert_true(d < piece->loops || piece->extent[d] == 1);
    }
}

/* The bytes of all units are the bytes of all elements. */
static void check_amount(const struct channel_plan *plan)
{
    const struct channel_stage *stage = &plan->stage[0];
    const struct transfer_piece *piece = &stage->piece;
    u64 indices = 1, folded = 1;
    for (unsigned d = 0; d < piece->loops; d++)
        indices *= piece->extent[d];
    for (unsigned d = 0; d < piece->folds; d++)
        folded *= piece->extent[d];
    switch (plan->way) {
    case CHANNEL_WAY_COPY:
    case CHANNEL_WAY_FILL:
        assert_int_equal(piece->count * unit_of(plan, stage), plan->bytes);
        assert_int_equal(piece->count, indices);
        break;
    case CHANNEL_WAY_REDUCE:
        assert_int_equal(indices, plan->shape.elements);
        if (piece->folds > 0) {
            assert_int_equal(piece->count, indices / folded * piece->chunks);
            assert_true(piece->chunks * piece->chunk_length >= folded);
            assert_true((piece->chunks - 1) * piece->chunk_length < folded);
        }
        break;
    case CHANNEL_WAY_NOTHING:
    case CHANNEL_WAY_ENGINE:
    case CHANNEL_WAY_PEER:
    case CHANNEL_WAY_TRANSPOSE:
    case CHANNEL_WAYS:
        break;
    }
    assert_int_equal(plan->stages == 2, stage->to_scratch);
    if (stage->to_scratch)
        assert_true(piece->count * plan->shape.element_bytes <= CHANNEL_SCRATCH_BYTES);
}

static void make_plan(const struct rbwp_transfer *transfer, const struct channel_sides *sides,
                      struct channel_plan *plan)
{
    struct rbwp_transfer_shape shape;
    struct rbwp_error error;
    const char *reason;
    if (rbwp_transfer_shape_make(transfer, &shape, &error) != RBWP_OK)
        fail_msg("%s", error.text);
    assert_int_equal(channel_plan_make(transfer, &shape, sides, plan, &reason), RBWP_OK);
}

/* What the engine copies within a device it copies between two, by one call as well. */
static bool goes_between_devices(const struct random_transfer *random)
{
    const struct channel_sides sides = {
        .source_on_device = true, .target_on_device = true, .on_two_devices = true};
    struct channel_plan plan;
    make_plan(&random->transfer, &sides, &plan);
    assert_int_equal(plan.way, CHANNEL_WAY_PEER);
    assert_int_equal(plan.stages, 0);
    assert_int_equal(plan.engine_calls, 1);
    return true;
}

static void random_plans_are_aligned_and_whole(void **state)
{
    (void)state;
    struct dice dice = {7};
    unsigned ways[CHANNEL_WAYS] = {0}, wide = 0;
    for (unsigned round = 0; round < 20000; round++) {
        struct random_transfer random;
        struct channel_plan plan;
        const enum rbwp_transfer_kind kind = (enum rbwp_transfer_kind)(1 + round % 4);
        random_transfer_make(&dice, kind, 12, &random);
        const bool tidy = roll_below(&dice, 2);
        const struct channel_sides sides = {.source_on_device = true,
                                            .target_on_device = true,
                                            .source_address = tidy ? 256 : roll_below(&dice, 64),
                                            .target_address = tidy ? 512 : roll_below(&dice, 64),
                                            .may_share = roll_below(&dice, 4) == 0};
        make_plan(&random.transfer, &sides, &plan);
        for (unsigned i = 0; i < plan.stages; i++)
            check_stage(&plan, &plan.stage[i], &sides);
        if (plan.stages > 0)
            check_amount(&plan);
        ways[plan.way]++;
        ways[CHANNEL_WAY_PEER] += plan.way == CHANNEL_WAY_ENGINE && goes_between_devices(&random);
        wide += plan.stages > 0 && plan.stage[0].kernel == CHANNEL_KERNEL_COPY + 4;
        random_transfer_free(&random);
    }
    for (unsigned way = CHANNEL_WAY_ENGINE; way < CHANNEL_WAYS; way++)
        assert_true(ways[way] > 10);
    assert_true(wide > 10);
}

static void large_folds_fit_in_scratch(void **state)
{
    (void)state;
    static double cell; /* a stack may lie where 32 bits end */
    struct dice dice = {8};
    const struct channel_sides sides = {.source_on_device = true, .target_on_device = true};
    unsigned in_two = 0;
    for (unsigned round = 0; round < 3000; round++) {
        struct rbwp_transfer t = {.size = sizeof t,
                                  .kind = RBWP_TRANSFER_REDUCE,
                                  .dimensions = 2,
                                  .reduce_op = RBWP_REDUCE_MAX,
                                  .reduce_type = RBWP_REDUCE_F64,
                                  .source.memory = &cell,
                                  .target.memory = &cell};
        t.extent[0] = UINT64_C(1) << roll_below(&dice, 25);
        t.extent[1] = UINT64_C(1) << roll_below(&dice, 16);
        t.extent[0] += roll_below(&dice, t.extent[0]);
        t.extent[1] += roll_below(&dice, t.extent[1]);
        t.target.stride_bytes[roll_below(&dice, 2)] = RBWP_STRIDE_FIXED;
        if (t.extent[0] * t.extent[1] > PTRDIFF_MAX / sizeof(double))
            continue; /* of 32 bits */
        struct channel_plan plan;
        make_plan(&t, &sides, &plan);
        for (unsigned i = 0; i < plan.stages; i++)
            check_stage(&plan, &plan.stage[i], &sides);
        check_amount(&plan);
        in_two += plan.stages == 2;
    }
    assert_in_range(in_two, 100, 2900);
}

/* Rows in slices that lie behind each other, with a gap, are one copy; rows in slices that reach
 * into the next one are as many copies as slices. */
static void slices_are_copied_at_once(void **state)
{
    (void)state;
    static char memory[4096], device[4096];
    const struct channel_sides sides = {.target_on_device = true, .target_address = 256};
    for (int64_t gap = -128; gap <= 128; gap += 256) {
        struct rbwp_transfer transfer = {
            .size = sizeof transfer,
            .kind = RBWP_TRANSFER_COPY,
            .dimensions = 3,
            .element_bytes = 4,
            .extent = {16, 8, 3},
            .source = {.memory = memory, .stride_bytes = {4, 128, 1024 + gap}},
            .target = {.memory = device, .stride_bytes = {4, 128, 1152}},
        };
        struct channel_plan plan;
        make_plan(&transfer, &sides, &plan);
        assert_int_equal(plan.way, CHANNEL_WAY_ENGINE);
        assert_int_equal(plan.engine_calls, gap > 0 ? 1 : 3);
    }
}

/* What every OpenCL device takes as arguments, with two pointers. */
static void a_launch_fits_in_the_arguments(void **state)
{
    (void)state;
    assert_true(sizeof(struct transfer_launch) + 2 * sizeof(void *) <= 1024);
    assert_int_equal(sizeof(struct transfer_piece), 160);
    assert_int_equal(offsetof(struct transfer_launch, piece), 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_plans_are_aligned_and_whole),
        cmocka_unit_test(large_folds_fit_in_scratch),
        cmocka_unit_test(slices_are_copied_at_once),
        cmocka_unit_test(a_launch_fits_in_the_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
