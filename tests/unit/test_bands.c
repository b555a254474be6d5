/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of how sets of points are kept (bands.c) and of index spaces
 * (space.c), against a flag for each cell. */
#include "bands.h"
#include "partition_support.h"
#include "operation.h"
#include "unit.h"

#include <stdlib.h>

/* Guards: a space is the union of its rectangles, in whatever order they come, overlapping or not,
 * and its form depends on its points alone. */
static void spaces_are_their_rectangles(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 240; round++) {
        struct cube cube;
        struct rbwp_space *space = random_space(1 + round % 3, 1 + round % 40, &cube);
        check_space(space, &cube);
        rbwp_space_release(space);
    }
}

/* Guards: slabs whose rows and runs are alike, each counted for itself, but whose runs lie in other
 * rows, stay apart. */
static void runs_belong_to_their_rows(void **state)
{
    (void)state;
    static const struct rbwp_rectangle rectangles[] = {
        {{1, 0, 0}, {2, 1, 1}}, {{3, 1, 0}, {4, 2, 1}}, {{5, 1, 0}, {6, 2, 1}},
        {{1, 0, 1}, {2, 1, 2}}, {{3, 0, 1}, {4, 1, 2}}, {{5, 1, 1}, {6, 2, 2}},
    };
    struct cube cube = {.dimensions = 3};
    struct rbwp_space *space;
    for (size_t i = 0; i < 6; i++)
        cube_add(&cube, &rectangles[i]);
    assert_int_equal(rbwp_space_new(3, rectangles, 6, &space, NULL), RBWP_OK);
    check_space(space, &cube);
    rbwp_space_release(space);
}

/* Guards: a box meets a set just when they share a point, boxes that are empty or lie beyond
 * included. */
static void boxes_meet_what_they_share(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 600; round++) {
        struct cube cube;
        const unsigned dimensions = 1 + round % 3;
        struct rbwp_space *space = random_space(dimensions, 6, &cube);
        const struct rbwp_rectangle rectangle = random_rectangle(dimensions);
        struct span box[BANDS_LEVELS];
        int64_t point[3];
        bool shared = false;
        for (int cell = -1; cube_next(dimensions, &cell, point);)
            shared |= cube.has[cell] && rectangle_has(&rectangle, dimensions, point);
        space_box(&rectangle, dimensions, box);
        assert_int_equal(bands_meet(&space->bands, box), shared);
        rbwp_space_release(space);
    }
}

/* Guards: a walk comes to every point once, in order, in pieces no longer than asked. */
static void a_walk_comes_to_every_point(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 120; round++) {
        struct cube cube;
        struct rbwp_space *space = random_space(1 + round % 3, 12, &cube);
        struct bands_walk walk;
        struct bands_piece piece;
        int last = -1;
        bands_walk_begin(&walk, &space->bands);
        while (bands_walk_next(&walk, 1 + round % 4, &piece)) {
            assert_in_range(piece.count, 1, 1 + round % 4);
            for (size_t i = 0; i < piece.count; i++, piece.point[0]++) {
                const int cell = cube_cell(3, piece.point);
                assert_true(cell > last && cube.has[cell]);
                cube.has[cell] = false;
                last = cell;
            }
        }
        for (int cell = 0; cell < CUBE_CELLS; cell++)
            assert_false(cube.has[cell]);
        rbwp_space_release(space);
    }
}

/* Guards: coordinates up to the limits are kept whole, more points than can be counted are said to
 * be as many as can, and what lies beyond the limits is refused. */
static void the_limits_hold(void **state)
{
    (void)state;
    const int64_t most = RBWP_SPACE_COORDINATE_MAX;
    struct rbwp_rectangle r = {.low = {-most, -most, -most}, .high = {most, most, most}};
    struct rbwp_space *space;
    struct rbwp_error error;
    assert_int_equal(rbwp_space_new(1, &r, 1, &space, NULL), RBWP_OK);
    assert_true(rbwp_space_points(space) == UINT64_C(1) << 63);
    assert_true(rbwp_space_contains(space, &(int64_t){-most}));
    assert_false(rbwp_space_contains(space, &most));
    assert_false(rbwp_space_contains(space, &(int64_t){INT64_MAX}));
    assert_false(rbwp_space_contains(space, &(int64_t){INT64_MIN}));
    rbwp_space_release(space);
    assert_int_equal(rbwp_space_new(3, &r, 1, &space, NULL), RBWP_OK);
    assert_true(rbwp_space_points(space) == UINT64_MAX);
    rbwp_space_release(space);
    r.high[1]++;
    assert_int_equal(rbwp_space_new(2, &r, 1, &space, &error), RBWP_E_INVALID);
    assert_string_equal(error.text, "partition: a coordinate is beyond RBWP_SPACE_COORDINATE_MAX");
    assert_null(space);
    assert_int_equal(rbwp_space_new(0, &r, 1, &space, &error), RBWP_E_INVALID);
    assert_int_equal(rbwp_space_new(4, &r, 1, &space, &error), RBWP_E_INVALID);
    assert_int_equal(rbwp_space_new(1, NULL, 1, &space, &error), RBWP_E_INVALID);
}

/* Guards: the empty space has nothing in it, whatever is asked. */
static void the_empty_space_is_empty(void **state)
{
    (void)state;
    const struct rbwp_rectangle nothing = {.low = {0}};
    struct rbwp_space *space;
    assert_int_equal(rbwp_space_new(2, NULL, 0, &space, NULL), RBWP_OK);
    assert_int_equal(rbwp_space_points(space), 0);
    assert_int_equal(rbwp_space_rectangles(space), 0);
    const struct rbwp_rectangle bounds = rbwp_space_bounds(space);
    const struct rbwp_rectangle first = rbwp_space_rectangle(space, 0);
    assert_memory_equal(&bounds, &nothing, sizeof nothing);
    assert_memory_equal(&first, &nothing, sizeof nothing);
    assert_false(rbwp_space_contains(space, (int64_t[]){0, 0}));
    rbwp_space_release(rbwp_space_keep(space));
    rbwp_space_release(space);
    rbwp_space_release(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spaces_are_their_rectangles),
        cmocka_unit_test(runs_belong_to_their_rows),
        cmocka_unit_test(boxes_meet_what_they_share),
        cmocka_unit_test(a_walk_comes_to_every_point),
        cmocka_unit_test(the_limits_hold),
        cmocka_unit_test(the_empty_space_is_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
