/* SPDX-License-Identifier: Apache-2.0 */
#include "partition_support.h"
#include "unit.h"

#include <string.h>

uint32_t random_below(uint32_t limit)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)((state >> 32) % limit);
}

int cube_cell(unsigned dimensions, const int64_t *point)
{
    int cell = 0;
    for (unsigned d = 3; d-- > 0;)
        cell = cell * CUBE_SIDE + (int)((d < dimensions ? point[d] : 0) - CUBE_LOW);
    return cell;
}

bool cube_next(unsigned dimensions, int *cell, int64_t point_out[3])
{
    while (++*cell < CUBE_CELLS) {
        int rest = *cell;
        bool lies_in = true;
        for (unsigned d = 0; d < 3; d++) {
            point_out[d] = rest % CUBE_SIDE + CUBE_LOW;
            rest /= CUBE_SIDE;
            lies_in &= d < dimensions || point_out[d] == 0;
        }
        if (lies_in)
            return true;
    }
    return false;
}

bool rectangle_has(const struct rbwp_rectangle *rectangle, unsigned dimensions,
                   const int64_t *point)
{
    for (unsigned d = 0; d < dimensions; d++)
        if (point[d] < rectangle->low[d] || point[d] >= rectangle->high[d])
            return false;
    return true;
}

void cube_add(struct cube *cube, const struct rbwp_rectangle *rectangle)
{
    int64_t point[3];
    for (int cell = -1; cube_next(cube->dimensions, &cell, point);)
        cube->has[cell] |= rectangle_has(rectangle, cube->dimensions, point);
}

struct rbwp_rectangle random_rectangle(unsigned dimensions)
{
    struct rbwp_rectangle rectangle;
    memset(&rectangle, 0x55, sizeof rectangle);
    const uint32_t kind = random_below(8);
    for (unsigned d = 0; d < dimensions; d++) {
        const uint32_t inner = CUBE_SIDE - 2;
        rectangle.low[d] = CUBE_LOW + 1 + (int64_t)random_below(inner);
        const uint32_t room = (uint32_t)(CUBE_LOW + CUBE_SIDE - 1 - rectangle.low[d]);
        rectangle.high[d] = rectangle.low[d] + (kind < 3 ? 1 : random_below(room + 1));
        if (kind == 7) {
            rectangle.low[d] = CUBE_LOW + 1;
            rectangle.high[d] = rectangle.low[d] + (int64_t)inner - random_below(3);
        }
    }
    return rectangle;
}

struct rbwp_space *random_space(unsigned dimensions, unsigned rectangles, struct cube *cube_out)
{
    struct rbwp_rectangle rectangle[64];
    struct rbwp_space *space;
    struct rbwp_error error;
    const unsigned count = random_below(rectangles + 1);
    *cube_out = (struct cube){.dimensions = dimensions};
    for (unsigned i = 0; i < count; i++) {
        rectangle[i] = random_rectangle(dimensions);
        cube_add(cube_out, &rectangle[i]);
    }
    if (rbwp_space_new(dimensions, rectangle, count, &space, &error) != RBWP_OK)
        fail_msg("%s", error.text);
    return space;
}

/* The same set out of its cells, one rectangle each. */
static struct rbwp_space *space_of_cells(const struct cube *cube)
{
    static struct rbwp_rectangle cells[CUBE_CELLS];
    struct rbwp_space *space;
    size_t count = 0;
    int64_t point[3];
    for (int cell = -1; cube_next(cube->dimensions, &cell, point);) {
        if (!cube->has[cell])
            continue;
        for (unsigned d = 0; d < 3; d++) {
            cells[count].low[d] = point[d];
            cells[count].high[d] = point[d] + 1;
        }
        count++;
    }
    assert_int_equal(rbwp_space_new(cube->dimensions, cells, count, &space, NULL), RBWP_OK);
    return space;
}

static void check_rectangles(const struct rbwp_space *space, const struct cube *cube)
{
    unsigned covered[CUBE_CELLS] = {0};
    const struct rbwp_rectangle bounds = rbwp_space_bounds(space);
    struct rbwp_rectangle around = {.low = {INT64_MAX, INT64_MAX, INT64_MAX},
                                    .high = {INT64_MIN, INT64_MIN, INT64_MIN}};
    int64_t point[3];
    for (size_t i = 0; i < rbwp_space_rectangles(space); i++) {
        const struct rbwp_rectangle r = rbwp_space_rectangle(space, i);
        for (unsigned d = 0; d < 3; d++) {
            around.low[d] = r.low[d] < around.low[d] ? r.low[d] : around.low[d];
            around.high[d] = r.high[d] > around.high[d] ? r.high[d] : around.high[d];
            if (d >= cube->dimensions)
                assert_true(r.low[d] == 0 && r.high[d] == 1);
        }
        for (int cell = -1; cube_next(cube->dimensions, &cell, point);)
            covered[cell] += rectangle_has(&r, cube->dimensions, point);
    }
    for (int cell = -1; cube_next(cube->dimensions, &cell, point);)
        assert_int_equal(covered[cell], cube->has[cell]);
    if (rbwp_space_rectangles(space) > 0)
        assert_memory_equal(&bounds, &around, sizeof bounds);
}

void check_space(const struct rbwp_space *space, const struct cube *cube)
{
    uint64_t points = 0;
    int64_t point[3];
    assert_int_equal(rbwp_space_status(space), RBWP_OK);
    assert_int_equal(rbwp_space_dimensions(space), cube->dimensions);
    for (int cell = -1; cube_next(cube->dimensions, &cell, point);) {
        assert_int_equal(rbwp_space_contains(space, point), cube->has[cell]);
        points += cube->has[cell];
    }
    assert_int_equal(rbwp_space_points(space), points);
    check_rectangles(space, cube);
    struct rbwp_space *same = space_of_cells(cube);
    assert_true(rbwp_space_equal(space, same));
    rbwp_space_release(same);
}
