/* SPDX-License-Identifier: Apache-2.0 */
/* space.c - index spaces: a set of points with references and a status. */
#include "operation.h"

#include "failure.h"

#include <stdlib.h>

_Static_assert(BANDS_LEVELS == RBWP_SPACE_DIMENSIONS_MAX, "a level for each dimension");

struct rbwp_space *space_pending(unsigned dimensions, const void *maker)
{
    struct rbwp_space *space = calloc(1, sizeof *space);
    if (!space)
        return NULL;
    atomic_init(&space->references, 1);
    atomic_init(&space->status, RBWP_AGAIN);
    space->dimensions = dimensions;
    space->maker = maker;
    return space;
}

void space_settle(struct rbwp_space *space, enum rbwp_status status, struct bands *bands)
{
    if (status == RBWP_OK) {
        space->bands = *bands;
        *bands = (struct bands){.borrowed = false};
    }
    atomic_store_explicit(&space->status, status, memory_order_release);
}

void space_box(const struct rbwp_rectangle *rectangle, unsigned dimensions,
               struct span box_out[BANDS_LEVELS])
{
    for (unsigned d = 0; d < BANDS_LEVELS; d++)
        box_out[d] = d < dimensions ? (struct span){rectangle->low[d], rectangle->high[d]}
                                    : (struct span){0, 1};
}

static bool is_in_range(const struct span box[BANDS_LEVELS])
{
    for (unsigned d = 0; d < BANDS_LEVELS; d++)
        if (box[d].low < -RBWP_SPACE_COORDINATE_MAX || box[d].high > RBWP_SPACE_COORDINATE_MAX)
            return false;
    return true;
}

/* ---- the public calls ------------------------------------------------------------ */

enum rbwp_status partition_refuse(struct rbwp_error *error, enum rbwp_status status,
                                  const char *reason)
{
    return failure(error, status, 0, "partition: %s", reason);
}

static enum rbwp_status make_bands(unsigned dimensions, const struct rbwp_rectangle *rectangles,
                                   size_t count, struct bands *bands_out, struct rbwp_error *error)
{
    struct span(*boxes)[BANDS_LEVELS] = count > 0 ? calloc(count, sizeof *boxes) : NULL;
    if (count > 0 && !boxes)
        return partition_refuse(error, RBWP_E_MEMORY, "no memory for a space");
    for (size_t i = 0; i < count; i++) {
        space_box(&rectangles[i], dimensions, boxes[i]);
        if (is_in_range(boxes[i]))
            continue;
        free(boxes);
        return partition_refuse(error, RBWP_E_INVALID,
                                "a coordinate is beyond RBWP_SPACE_COORDINATE_MAX");
    }
    const bool good = bands_of_boxes(boxes, count, bands_out);
    free(boxes);
    return good ? RBWP_OK : partition_refuse(error, RBWP_E_MEMORY, "no memory for a space");
}

enum rbwp_status rbwp_space_new(unsigned dimensions, const struct rbwp_rectangle *rectangles,
                                size_t count, struct rbwp_space **space_out,
                                struct rbwp_error *error)
{
    struct bands bands = {.borrowed = false};
    *space_out = NULL;
    if (dimensions < 1 || dimensions > RBWP_SPACE_DIMENSIONS_MAX)
        return partition_refuse(error, RBWP_E_INVALID, "dimensions is not 1, 2 or 3");
    if (!rectangles && count > 0)
        return partition_refuse(error, RBWP_E_INVALID, "rectangles is NULL");
    const enum rbwp_status status = make_bands(dimensions, rectangles, count, &bands, error);
    if (status != RBWP_OK)
        return status;
    struct rbwp_space *space = space_pending(dimensions, NULL);
    if (!space) {
        bands_free(&bands);
        return partition_refuse(error, RBWP_E_MEMORY, "no memory for a space");
    }
    space_settle(space, RBWP_OK, &bands);
    *space_out = space;
    return RBWP_OK;
}

struct rbwp_space *rbwp_space_keep(const struct rbwp_space *space)
{
    struct rbwp_space *kept = (struct rbwp_space *)(uintptr_t)space;
    atomic_fetch_add_explicit(&kept->references, 1, memory_order_relaxed);
    return kept;
}

void rbwp_space_release(struct rbwp_space *space)
{
    if (!space || atomic_fetch_sub_explicit(&space->references, 1, memory_order_acq_rel) > 1)
        return;
    bands_free(&space->bands);
    free(space);
}

enum rbwp_status rbwp_space_status(const struct rbwp_space *space)
{
    return (enum rbwp_status)atomic_load_explicit(&space->status, memory_order_acquire);
}

unsigned rbwp_space_dimensions(const struct rbwp_space *space)
{
    return space->dimensions;
}

static bool is_ready(const struct rbwp_space *space)
{
    return rbwp_space_status(space) == RBWP_OK;
}

uint64_t rbwp_space_points(const struct rbwp_space *space)
{
    return is_ready(space) ? bands_points(&space->bands) : 0;
}

size_t rbwp_space_rectangles(const struct rbwp_space *space)
{
    return is_ready(space) ? space->bands.level[0].count : 0;
}

static struct rbwp_rectangle rectangle_of(const struct span box[BANDS_LEVELS])
{
    struct rbwp_rectangle rectangle;
    for (unsigned d = 0; d < BANDS_LEVELS; d++) {
        rectangle.low[d] = box[d].low;
        rectangle.high[d] = box[d].high;
    }
    return rectangle;
}

struct rbwp_rectangle rbwp_space_rectangle(const struct rbwp_space *space, size_t index)
{
    struct span box[BANDS_LEVELS] = {{0, 0}, {0, 0}, {0, 0}};
    if (index < rbwp_space_rectangles(space))
        bands_box(&space->bands, index, box);
    return rectangle_of(box);
}

struct rbwp_rectangle rbwp_space_bounds(const struct rbwp_space *space)
{
    static const struct span nothing[BANDS_LEVELS] = {{0, 0}, {0, 0}, {0, 0}};
    return rectangle_of(rbwp_space_rectangles(space) > 0 ? space->bands.bounds : nothing);
}

bool rbwp_space_contains(const struct rbwp_space *space, const int64_t *point)
{
    int64_t at[BANDS_LEVELS] = {0, 0, 0};
    for (unsigned d = 0; d < space->dimensions; d++)
        at[d] = point[d];
    return is_ready(space) && bands_contain(&space->bands, at);
}

bool rbwp_space_equal(const struct rbwp_space *a, const struct rbwp_space *b)
{
    return is_ready(a) && is_ready(b) && a->dimensions == b->dimensions &&
           bands_equal(&a->bands, &b->bands);
}
