/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan.c - which cells are whose, and which cells of others each tile needs.
 *
 * All operations are submitted at once; results that are not ready yet go into
 * the next ones. The manager's workers carry them out in time slices.
 */
#include "plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Spaces on the way to a plan. Arrays of tiles: of all, or of this node's. */
struct drawing {
    struct plan *plan;
    struct rbwp_partitioner *partitioner;
    struct rbwp_error *error;
    bool failed;
    unsigned tiles, first, count;
    struct rbwp_space *grid, *interior;
    struct rbwp_space **tile, **active;                   /* all */
    struct rbwp_space **across, **along, **reach, **halo; /* this node's */
    struct rbwp_space **needs; /* count x all: cells of the second that the first needs */
    struct rbwp_space **gives_across, **gives_along, **gives; /* likewise, that it gives */
};

/* ---- fields ------------------------------------------------------------------------ */

/* Part number i of n of the side begins here. */
static int64_t border(int64_t side, unsigned n, unsigned i)
{
    return side * i / n;
}

static unsigned part_of(int64_t side, unsigned n, int64_t at)
{
    unsigned i = (unsigned)(at * n / side);
    while (border(side, n, i) > at)
        i--;
    while (border(side, n, i + 1) <= at)
        i++;
    return i;
}

static void fill_tile(void *argument, const int64_t *point, size_t count, void *values)
{
    const struct plan *plan = argument;
    int64_t *tile = values;
    const unsigned row = part_of(plan->side, plan->rows, point[1]);
    unsigned column = part_of(plan->side, plan->columns, point[0]);
    for (size_t i = 0; i < count; i++) {
        if (point[0] + (int64_t)i >= border(plan->side, plan->columns, column + 1))
            column++;
        tile[i] = (int64_t)row * plan->columns + column;
    }
}

/* One arm of the star around each cell, with the cell. */
static void fill_arm(int64_t across, int64_t along, const int64_t *point, size_t count,
                     struct rbwp_rectangle *arm)
{
    for (size_t i = 0; i < count; i++) {
        const int64_t x = point[0] + (int64_t)i, y = point[1];
        arm[i] = (struct rbwp_rectangle){.low = {x - across, y - along},
                                         .high = {x + across + 1, y + along + 1}};
    }
}

static void fill_across(void *argument, const int64_t *point, size_t count, void *values)
{
    (void)argument;
    fill_arm(RADIUS, 0, point, count, values);
}

static void fill_along(void *argument, const int64_t *point, size_t count, void *values)
{
    (void)argument;
    fill_arm(0, RADIUS, point, count, values);
}

/* ---- operations ---------------------------------------------------------------------- */

static void plan_submit(struct drawing *drawing, struct rbwp_partition partition,
                        struct rbwp_space **results)
{
    partition.size = sizeof partition;
    if (!drawing->failed)
        drawing->failed = rbwp_partition_submit(drawing->partitioner, &partition, results, NULL,
                                                drawing->error) != RBWP_OK;
}

static void submit_pair(struct drawing *drawing, enum rbwp_partition_kind kind, size_t count,
                        struct rbwp_space **sources, struct rbwp_space **others,
                        size_t others_count, struct rbwp_space **results)
{
    plan_submit(drawing,
                (struct rbwp_partition){.kind = kind,
                                        .count = count,
                                        .sources = (const struct rbwp_space *const *)sources,
                                        .others = (const struct rbwp_space *const *)others,
                                        .others_count = others_count},
                results);
}

static void cut_into_tiles(struct drawing *drawing)
{
    int64_t *colors = calloc(drawing->tiles, sizeof *colors);
    drawing->failed |= !colors;
    for (unsigned i = 0; colors && i < drawing->tiles; i++)
        colors[i] = i;
    plan_submit(drawing,
                (struct rbwp_partition){.kind = RBWP_PARTITION_BY_FIELD,
                                        .count = drawing->tiles,
                                        .domain = drawing->grid,
                                        .colors = colors,
                                        .field = {.fill = fill_tile, .argument = drawing->plan}},
                drawing->tile);
    free(colors);
    submit_pair(drawing, RBWP_PARTITION_INTERSECTION, drawing->tiles, drawing->tile,
                &drawing->interior, 1, drawing->active);
}

static void submit_arm(struct drawing *drawing, enum rbwp_partition_kind kind, size_t count,
                       struct rbwp_space *domain, struct rbwp_space **sources, rbwp_field_fn arm,
                       struct rbwp_space **results)
{
    plan_submit(drawing,
                (struct rbwp_partition){.kind = kind,
                                        .count = count,
                                        .domain = domain,
                                        .sources = (const struct rbwp_space *const *)sources,
                                        .field = {.fill = arm, .rectangles = true}},
                results);
}

static void find_what_tiles_need(struct drawing *drawing)
{
    const unsigned count = drawing->count;
    struct rbwp_space **mine = drawing->tile + drawing->first;
    struct rbwp_space **active = drawing->active + drawing->first;
    submit_arm(drawing, RBWP_PARTITION_IMAGE, count, drawing->grid, active, fill_across,
               drawing->across);
    submit_arm(drawing, RBWP_PARTITION_IMAGE, count, drawing->grid, active, fill_along,
               drawing->along);
    submit_pair(drawing, RBWP_PARTITION_UNION, count, drawing->across, drawing->along, count,
                drawing->reach);
    submit_pair(drawing, RBWP_PARTITION_DIFFERENCE, count, drawing->reach, mine, count,
                drawing->halo);
    for (unsigned i = 0; i < count; i++)
        submit_pair(drawing, RBWP_PARTITION_INTERSECTION, drawing->tiles, drawing->tile,
                    &drawing->halo[i], 1, &drawing->needs[i * drawing->tiles]);
}

static void find_what_tiles_give(struct drawing *drawing)
{
    for (unsigned i = 0; i < drawing->count; i++) {
        struct rbwp_space *mine = drawing->tile[drawing->first + i];
        const size_t at = (size_t)i * drawing->tiles;
        submit_arm(drawing, RBWP_PARTITION_PREIMAGE, drawing->tiles, mine, drawing->active,
                   fill_across, &drawing->gives_across[at]);
        submit_arm(drawing, RBWP_PARTITION_PREIMAGE, drawing->tiles, mine, drawing->active,
                   fill_along, &drawing->gives_along[at]);
        submit_pair(drawing, RBWP_PARTITION_UNION, drawing->tiles, &drawing->gives_across[at],
                    &drawing->gives_along[at], drawing->tiles, &drawing->gives[at]);
    }
}

/* ---- the plan --------------------------------------------------------------------------- */

/* The pieces between a tile and all others. */
static bool take_pieces(struct rbwp_space **spaces, unsigned tiles, unsigned own,
                        struct plan_piece **pieces_out, size_t *count_out)
{
    size_t count = 0;
    for (unsigned t = 0; t < tiles; t++)
        count += t == own ? 0 : rbwp_space_rectangles(spaces[t]);
    *pieces_out = calloc(count + 1, sizeof **pieces_out);
    *count_out = 0;
    if (!*pieces_out)
        return false;
    for (unsigned t = 0; t < tiles; t++)
        for (size_t i = 0; t != own && i < rbwp_space_rectangles(spaces[t]); i++)
            (*pieces_out)[(*count_out)++] =
                (struct plan_piece){t, (unsigned)i, rbwp_space_rectangle(spaces[t], i)};
    return true;
}

static bool take_tile(struct drawing *drawing, unsigned i)
{
    struct plan_tile *tile = &drawing->plan->tiles[i];
    tile->id = drawing->first + i;
    tile->cells = rbwp_space_bounds(drawing->tile[tile->id]);
    tile->active = rbwp_space_bounds(drawing->active[tile->id]);
    return take_pieces(&drawing->needs[(size_t)i * drawing->tiles], drawing->tiles, tile->id,
                       &tile->needs, &tile->needs_count) &&
           take_pieces(&drawing->gives[(size_t)i * drawing->tiles], drawing->tiles, tile->id,
                       &tile->gives, &tile->gives_count);
}

/* The last results are ready only if all before them are. */
static bool is_ready(const struct drawing *drawing)
{
    const size_t last = (size_t)drawing->count * drawing->tiles - 1;
    return rbwp_space_status(drawing->needs[last]) == RBWP_OK &&
           rbwp_space_status(drawing->gives[last]) == RBWP_OK;
}

static bool take_plan(struct drawing *drawing)
{
    struct plan *plan = drawing->plan;
    plan->tiles = calloc(drawing->count, sizeof *plan->tiles);
    if (!plan->tiles || !is_ready(drawing))
        return false;
    plan->tiles_count = drawing->count;
    for (unsigned i = 0; i < drawing->count; i++)
        if (!take_tile(drawing, i))
            return false;
    return true;
}

static bool make_arrays(struct drawing *drawing)
{
    const size_t all = drawing->tiles, own = drawing->count;
    struct rbwp_space ***const arrays[] = {
        &drawing->tile,        &drawing->active, &drawing->across, &drawing->along,
        &drawing->reach,       &drawing->halo,   &drawing->needs,  &drawing->gives_across,
        &drawing->gives_along, &drawing->gives};
    const size_t counts[] = {all, all,       own,       own,       own,
                             own, own * all, own * all, own * all, own * all};
    bool good = true;
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        *arrays[i] = calloc(counts[i], sizeof **arrays[i]);
        good = good && *arrays[i];
    }
    return good;
}

static void release(struct rbwp_space **spaces, size_t count)
{
    for (size_t i = 0; spaces && i < count; i++)
        rbwp_space_release(spaces[i]);
    free(spaces);
}

static void drawing_free(struct drawing *drawing)
{
    const size_t all = drawing->tiles, own = drawing->count;
    release(drawing->tile, all);
    release(drawing->active, all);
    release(drawing->across, own);
    release(drawing->along, own);
    release(drawing->reach, own);
    release(drawing->halo, own);
    release(drawing->needs, own * all);
    release(drawing->gives_across, own * all);
    release(drawing->gives_along, own * all);
    release(drawing->gives, own * all);
    rbwp_space_release(drawing->grid);
    rbwp_space_release(drawing->interior);
}

static bool draw(struct drawing *drawing, struct rbwp_work_manager *manager)
{
    const int64_t side = drawing->plan->side;
    const struct rbwp_rectangle whole = {.high = {side, side}};
    const struct rbwp_rectangle inner = {.low = {RADIUS, RADIUS},
                                         .high = {side - RADIUS, side - RADIUS}};
    if (rbwp_space_new(2, &whole, 1, &drawing->grid, drawing->error) != RBWP_OK ||
        rbwp_space_new(2, &inner, 1, &drawing->interior, drawing->error) != RBWP_OK ||
        rbwp_partitioner_new(manager, "stencil partition", -1, &drawing->partitioner,
                             drawing->error) != RBWP_OK)
        return false;
    cut_into_tiles(drawing);
    find_what_tiles_need(drawing);
    find_what_tiles_give(drawing);
    rbwp_work_drain(manager);
    (void)rbwp_partitioner_free(drawing->partitioner);
    return !drawing->failed && take_plan(drawing);
}

bool plan_make(struct plan *plan, struct rbwp_work_manager *manager, int64_t side, unsigned tiles,
               unsigned first, unsigned count, struct rbwp_error *error)
{
    struct drawing drawing = {
        .plan = plan, .error = error, .tiles = tiles, .first = first, .count = count};
    *plan = (struct plan){.side = side, .rows = 1};
    *error = (struct rbwp_error){.status = RBWP_E_MEMORY, .text = "no memory for the plan"};
    for (unsigned rows = 1; rows * rows <= tiles; rows++)
        if (tiles % rows == 0)
            plan->rows = rows;
    plan->columns = tiles / plan->rows;
    if (side / plan->columns <= RADIUS) {
        *error = (struct rbwp_error){.status = RBWP_E_INVALID, .offset = UINT64_MAX};
        snprintf(error->text, sizeof error->text,
                 "%u x %u tiles of %" PRId64 " cells would be less than %d wide: take fewer tiles",
                 plan->columns, plan->rows, side, RADIUS + 1);
        return false;
    }
    const bool good = make_arrays(&drawing) && draw(&drawing, manager);
    drawing_free(&drawing);
    if (!good)
        plan_free(plan);
    return good;
}

void plan_free(struct plan *plan)
{
    for (unsigned i = 0; i < plan->tiles_count; i++) {
        free(plan->tiles[i].needs);
        free(plan->tiles[i].gives);
    }
    free(plan->tiles);
    *plan = (struct plan){.tiles = NULL};
}
