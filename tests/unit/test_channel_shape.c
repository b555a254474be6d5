/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of channel_shape.c: what is refused, and how loops become fewer. */
#include "channel_transfer.h"
#include "unit.h"

#include <string.h>

static uint8_t memory[4096];

static struct rbwp_transfer good_copy(void)
{
    return (struct rbwp_transfer){.size = sizeof(struct rbwp_transfer),
                                  .kind = RBWP_TRANSFER_COPY,
                                  .dimensions = 3,
                                  .element_bytes = 4,
                                  .extent = {4, 3, 2},
                                  .source.memory = memory,
                                  .target.memory = memory + 2048};
}

static struct rbwp_transfer_shape shape_of(const struct rbwp_transfer *t)
{
    struct rbwp_transfer_shape shape;
    const char *reason = NULL;
    assert_int_equal(channel_shape_make(t, &shape, &reason), RBWP_OK);
    assert_null(reason);
    return shape;
}

static void assert_refused(const struct rbwp_transfer *t, const char *word)
{
    struct rbwp_transfer_shape shape;
    const char *reason = NULL;
    assert_int_equal(channel_shape_make(t, &shape, &reason), RBWP_E_INVALID);
    assert_non_null(reason);
    if (!strstr(reason, word))
        fail_msg("\"%s\" does not say \"%s\"", reason, word);
}

/* Guards: each field outside its range is named, nothing is guessed. */
static void fields_out_of_range_are_refused(void **state)
{
    (void)state;
    struct rbwp_transfer t = good_copy();
    (void)shape_of(&t);
    t = good_copy(), t.kind = (enum rbwp_transfer_kind)0, assert_refused(&t, "kind");
    t = good_copy(), t.kind = (enum rbwp_transfer_kind)5, assert_refused(&t, "kind");
    t = good_copy(), t.dimensions = 0, assert_refused(&t, "dimensions");
    t = good_copy(), t.dimensions = 4, assert_refused(&t, "dimensions");
    t = good_copy(), t.element_bytes = 0, assert_refused(&t, "element_bytes");
    t = good_copy(), t.element_bytes = 65537, assert_refused(&t, "element_bytes");
    t = good_copy(), t.source.memory = NULL, assert_refused(&t, "memory");
    t = good_copy(), t.target.memory = NULL, assert_refused(&t, "memory");
    t = good_copy(), t.kind = RBWP_TRANSFER_FILL, assert_refused(&t, "fill");
    t = good_copy(), t.target.stride_bytes[0] = 3, assert_refused(&t, "smaller");
    t = good_copy(), t.target.stride_bytes[0] = -3, assert_refused(&t, "smaller");
    t = good_copy(), t.target.stride_bytes[1] = RBWP_STRIDE_FIXED, assert_refused(&t, "smaller");
}

/* Guards: an order that names a dimension twice or not at all would read beyond the extents. */
static void order_must_be_a_permutation(void **state)
{
    (void)state;
    struct rbwp_transfer t = good_copy();
    t.kind = RBWP_TRANSFER_TRANSPOSE;
    (void)shape_of(&t);
    t.order[0] = 1, t.order[1] = 1, assert_refused(&t, "order");
    t.order[0] = 0, t.order[1] = 1, t.order[2] = 3, assert_refused(&t, "order");
    t.order[0] = 255, t.order[1] = 1, t.order[2] = 2, assert_refused(&t, "order");
    t.dimensions = 2, t.order[0] = 1, t.order[1] = 2, assert_refused(&t, "order");
}

/* Guards: reductions know their operation, type and size. */
static void reductions_are_checked(void **state)
{
    (void)state;
    struct rbwp_transfer t = good_copy();
    t.kind = RBWP_TRANSFER_REDUCE;
    assert_refused(&t, "reduce_type");
    t.reduce_type = RBWP_REDUCE_F64, t.element_bytes = 0;
    assert_refused(&t, "reduce_op");
    t.reduce_op = RBWP_REDUCE_MAX;
    assert_int_equal(shape_of(&t).element_bytes, 8);
    t.element_bytes = 4, assert_refused(&t, "element_bytes");
    t.reduce_type = (enum rbwp_reduce_type)7, assert_refused(&t, "reduce_type");
}

/* Guards: sums and products of hostile extents, strides and offsets never wrap around. */
static void overflows_are_refused(void **state)
{
    (void)state;
    struct rbwp_transfer t = good_copy();
    t.extent[0] = UINT64_MAX, assert_refused(&t, "63 bits");
    t = good_copy(), t.extent[0] = t.extent[1] = 1u << 31, t.extent[2] = 4;
    assert_refused(&t, "63 bits");
    t = good_copy(), t.source.stride_bytes[2] = INT64_MAX, assert_refused(&t, "63 bits");
    t = good_copy(), t.source.stride_bytes[0] = INT64_MIN + 1, assert_refused(&t, "63 bits");
    t = good_copy(), t.source.stride_bytes[2] = INT64_MAX / 2;
    t.source.stride_bytes[1] = INT64_MAX / 3, assert_refused(&t, "63 bits");
    t = good_copy(), t.source.stride_bytes[1] = INT64_MAX / 3;
    t.source.stride_bytes[2] = INT64_MAX / 2 - 1000, assert_refused(&t, "63 bits");
    t = good_copy(), t.target.stride_bytes[2] = -(INT64_MAX / 2),
    assert_refused(&t, "address space");
    t = good_copy(), t.source.memory = (void *)(UINTPTR_MAX - 64),
    assert_refused(&t, "address space");
    t = good_copy(),
    t.target = (struct rbwp_transfer_place){.is_file = true, .offset_bytes = INT64_MAX - 50};
    assert_refused(&t, "offset_bytes");
    t.target.offset_bytes = UINT64_MAX - 50, assert_refused(&t, "offset_bytes");
}

/* Guards: files are packed, and not on both sides. */
static void files_are_checked(void **state)
{
    (void)state;
    struct rbwp_transfer t = good_copy();
    t.source = (struct rbwp_transfer_place){.is_file = true, .fd = -1};
    assert_refused(&t, "fd");
    t.source.fd = 0;
    (void)shape_of(&t);
    t.source.stride_bytes[1] = 64, assert_refused(&t, "packed");
    t.source.stride_bytes[1] = 0;
    t.target = (struct rbwp_transfer_place){.is_file = true};
    assert_refused(&t, "both");
}

/* Guards: an empty transfer is no error, whatever its pointers are. */
static void no_elements_is_fine(void **state)
{
    (void)state;
    struct rbwp_transfer t = good_copy();
    t.extent[1] = 0, t.source.memory = NULL, t.target.memory = NULL;
    assert_int_equal(shape_of(&t).elements, 0);
    t.extent[0] = UINT64_MAX / 2;
    struct rbwp_transfer_shape shape;
    const char *reason;
    (void)channel_shape_make(&t, &shape, &reason); /* refused or empty, but no crash */
}

/* Guards: packed arrays become one run; gaps leave as many loops as they must. */
static void loops_that_continue_are_joined(void **state)
{
    (void)state;
    struct rbwp_transfer t = good_copy();
    struct rbwp_transfer_shape shape = shape_of(&t);
    assert_int_equal(shape.loops, 1);
    assert_int_equal(shape.extent[0], 24);
    assert_true(channel_shape_is_run(&shape));
    t.source.stride_bytes[2] = 64; /* planes apart, rows together */
    shape = shape_of(&t);
    assert_int_equal(shape.loops, 2);
    assert_int_equal(shape.extent[0], 12);
    t.extent[2] = 1; /* one plane: its stride does not matter */
    shape = shape_of(&t);
    assert_int_equal(shape.loops, 1);
}

/* Guards: the order in which a caller names the dimensions does not decide the speed. */
static void loops_go_along_the_target(void **state)
{
    (void)state;
    struct rbwp_transfer t = good_copy();
    t.dimensions = 2, t.extent[0] = 8, t.extent[1] = 16;
    t.source.stride_bytes[0] = t.target.stride_bytes[0] = 64;
    t.source.stride_bytes[1] = t.target.stride_bytes[1] = 4;
    struct rbwp_transfer_shape shape = shape_of(&t);
    assert_true(channel_shape_is_run(&shape));
    assert_int_equal(shape.extent[0], 16 * 8);
    assert_false(shape.tiled);
    t.source.stride_bytes[0] = 0, t.source.stride_bytes[1] = 0; /* packed the other way round */
    shape = shape_of(&t);
    assert_true(shape.tiled);
    assert_int_equal(shape.target_stride[0], 4);
    assert_int_equal(shape.source_stride[1], 4);
}

/* Guards: with a file the loops keep the file's order, here the target's. */
static void a_file_keeps_its_order(void **state)
{
    (void)state;
    struct rbwp_transfer t = good_copy();
    t.kind = RBWP_TRANSFER_TRANSPOSE;
    t.dimensions = 2;
    t.target = (struct rbwp_transfer_place){.is_file = true};
    const struct rbwp_transfer_shape shape = shape_of(&t);
    assert_false(shape.tiled);
    assert_int_equal(shape.extent[0], 3);
    assert_int_equal(shape.target_stride[0], 4);
    assert_int_equal(shape.source_stride[0], 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_out_of_range_are_refused),
        cmocka_unit_test(order_must_be_a_permutation),
        cmocka_unit_test(reductions_are_checked),
        cmocka_unit_test(overflows_are_refused),
        cmocka_unit_test(files_are_checked),
        cmocka_unit_test(no_elements_is_fine),
        cmocka_unit_test(loops_that_continue_are_joined),
        cmocka_unit_test(loops_go_along_the_target),
        cmocka_unit_test(a_file_keeps_its_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
