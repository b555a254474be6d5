/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of channel_transfer.c: each element is moved once, whatever the shape, wherever one stops.
 */
#include "channel_transfer.h"
#include "test_channel_reference.h"
#include "unit.h"

#include <stdio.h>

static struct channel_action action_of(const struct rbwp_transfer *t)
{
    bool same = true;
    for (uint32_t i = 1; t->kind == RBWP_TRANSFER_FILL && i < t->element_bytes; i++)
        same &= ((const uint8_t *)t->fill)[i] == *(const uint8_t *)t->fill;
    return (struct channel_action){.kind = t->kind,
                                   .reduce = channel_reduce_find(t->reduce_op, t->reduce_type),
                                   .fill = t->fill,
                                   .fill_is_byte = same};
}

/* Runs a transfer in steps of the given cost (0: a new random one each) against the reference. */
static void run_against_reference(struct random_transfer *random, struct dice *dice, uint64_t cost)
{
    struct rbwp_transfer *const t = &random->transfer;
    uint8_t *expected = malloc(random->target_bytes);
    memcpy(expected, random->target, random->target_bytes);
    reference_transfer(t, expected + random->target_first, t->source.memory);

    struct rbwp_transfer_shape shape;
    struct channel_walk walk;
    const char *reason;
    assert_int_equal(channel_shape_make(t, &shape, &reason), RBWP_OK);
    assert_int_equal(shape.elements, random->elements);
    const struct channel_action action = action_of(t);
    const struct channel_side target = {.base = t->target.memory};
    const struct channel_side source = {.base = t->source.memory};
    uint64_t moved = 0;
    channel_walk_begin(&walk, &shape);
    while (walk.left > 0) {
        const struct channel_walk before = walk; /* all the state there is */
        memset(&walk, 0xee, sizeof walk);
        walk = before;
        const uint64_t now = channel_walk_step(&walk, &shape, &action, target, source, UINT64_MAX,
                                               cost ? cost : 1 + roll_below(dice, 2000));
        assert_true(now > 0);
        moved += now;
    }
    assert_int_equal(moved, random->elements);
    assert_memory_equal(random->target, expected, random->target_bytes);
    free(expected);
}

static void check_kind(enum rbwp_transfer_kind kind, uint64_t seed)
{
    static const uint64_t costs[] = {1, 40, 0, CHANNEL_PIECE_COST, UINT64_MAX};
    for (unsigned round = 0; round < 1500; round++) {
        struct dice dice = {seed + round};
        struct random_transfer random;
        random_transfer_make(&dice, kind, 70, &random);
        run_against_reference(&random, &dice, costs[round % 5]);
        random_transfer_free(&random);
    }
}

/* Guards: strides, directions, joins, tiles and element sizes of copies; seeds 1000 on. */
static void copies_equal_naive_loops(void **state)
{
    (void)state;
    check_kind(RBWP_TRANSFER_COPY, 1000);
}

/* Guards: patterns of odd sizes and strided targets; nothing outside the elements is touched. */
static void fills_equal_naive_loops(void **state)
{
    (void)state;
    check_kind(RBWP_TRANSFER_FILL, 20000);
}

/* Guards: every permutation, edges of tiles, both loops strided. */
static void transposes_equal_naive_loops(void **state)
{
    (void)state;
    check_kind(RBWP_TRANSFER_TRANSPOSE, 30000);
}

/* Guards: folds along any dimension, with the target's other dimensions in any layout. */
static void reductions_equal_naive_loops(void **state)
{
    (void)state;
    check_kind(RBWP_TRANSFER_REDUCE, 40000);
}

/* Guards: large matrices take more than one tile each way and do use tiles. */
static void big_transpose_uses_tiles(void **state)
{
    (void)state;
    enum { ROWS = 301, COLUMNS = 517 };
    uint32_t *from = malloc(sizeof *from * ROWS * COLUMNS),
             *to = malloc(sizeof *to * ROWS * COLUMNS);
    for (uint32_t i = 0; i < ROWS * COLUMNS; i++)
        from[i] = i;
    const struct rbwp_transfer t = {.size = sizeof t,
                                    .kind = RBWP_TRANSFER_TRANSPOSE,
                                    .dimensions = 2,
                                    .element_bytes = 4,
                                    .extent = {COLUMNS, ROWS},
                                    .source.memory = from,
                                    .target.memory = to};
    struct rbwp_transfer_shape shape;
    struct channel_walk walk;
    const char *reason;
    assert_int_equal(channel_shape_make(&t, &shape, &reason), RBWP_OK);
    assert_true(shape.tiled);
    const struct channel_action action = action_of(&t);
    channel_walk_begin(&walk, &shape);
    while (walk.left > 0)
        (void)channel_walk_step(&walk, &shape, &action,
                                (struct channel_side){.base = t.target.memory},
                                (struct channel_side){.base = t.source.memory}, UINT64_MAX, 1);
    for (uint32_t r = 0; r < ROWS; r++)
        for (uint32_t c = 0; c < COLUMNS; c++)
            assert_int_equal(to[c * ROWS + r], r * COLUMNS + c);
    free(from);
    free(to);
}

/* Guards: a step's work is bounded by its cost, so that a slice can be kept. */
static void step_stays_near_its_cost(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 800; round++) {
        struct dice dice = {50000 + round};
        struct random_transfer random;
        random_transfer_make(&dice, (enum rbwp_transfer_kind)(1 + round % 4), 60, &random);
        struct rbwp_transfer_shape shape;
        struct channel_walk walk;
        const char *reason;
        const struct rbwp_transfer *t = &random.transfer;
        assert_int_equal(channel_shape_make(t, &shape, &reason), RBWP_OK);
        const struct channel_action action = action_of(t);
        channel_walk_begin(&walk, &shape);
        const uint64_t moved = channel_walk_step(
            &walk, &shape, &action, (struct channel_side){.base = t->target.memory},
            (struct channel_side){.base = t->source.memory}, UINT64_MAX, 4096);
        /* A tile of one-byte elements is the largest thing that is not cut: 64 by 64. */
        assert_true(moved * t->element_bytes <= 4096 + 64 * 64);
        random_transfer_free(&random);
    }
}

/* Elements of one byte that a step of this cost moves. */
static uint64_t moved_by_a_step(enum rbwp_transfer_kind kind, int64_t target_stride,
                                int64_t source_stride)
{
    static uint8_t target[40000], source[40000];
    const struct rbwp_transfer_shape shape = {.loops = 1,
                                              .element_bytes = 1,
                                              .extent = {10000, 1, 1},
                                              .target_stride = {target_stride},
                                              .source_stride = {source_stride},
                                              .elements = 10000};
    const struct channel_action action = {.kind = kind, .fill = source, .fill_is_byte = true};
    struct channel_walk walk;
    channel_walk_begin(&walk, &shape);
    return channel_walk_step(&walk, &shape, &action, (struct channel_side){.base = target},
                             (struct channel_side){.base = source}, UINT64_MAX, 2000);
}

/* Guards: elements that lie apart, on either side, are dear: fewer of them fit into a slice. */
static void elements_apart_cost_more(void **state)
{
    (void)state;
    const uint64_t runs = moved_by_a_step(RBWP_TRANSFER_COPY, 1, 1);
    assert_true(runs >= 2 * moved_by_a_step(RBWP_TRANSFER_COPY, 3, 1));
    assert_true(runs >= 2 * moved_by_a_step(RBWP_TRANSFER_COPY, 1, 3));
    assert_true(moved_by_a_step(RBWP_TRANSFER_FILL, 1, 3) == runs); /* it has no source */
    assert_true(runs >= 2 * moved_by_a_step(RBWP_TRANSFER_FILL, 3, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_equal_naive_loops),
        cmocka_unit_test(fills_equal_naive_loops),
        cmocka_unit_test(transposes_equal_naive_loops),
        cmocka_unit_test(reductions_equal_naive_loops),
        cmocka_unit_test(big_transpose_uses_tiles),
        cmocka_unit_test(step_stays_near_its_cost),
        cmocka_unit_test(elements_apart_cost_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
