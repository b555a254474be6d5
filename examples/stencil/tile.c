/* SPDX-License-Identifier: Apache-2.0 */
/* tile.c - a tile of the grid as background work. */
#include "tile.h"

#include "node.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- memory --------------------------------------------------------------------------- */

static double *cell_at(const struct tile *tile, int64_t x, int64_t y)
{
    const struct rbwp_rectangle *cells = &tile->plan->cells;
    return tile->in + (y - cells->low[1] + RADIUS) * tile->pitch + (x - cells->low[0] + RADIUS);
}

static size_t cells_in(const struct rbwp_rectangle *cells)
{
    return (size_t)(width_of(cells) * height_of(cells));
}

static void set_cells(struct tile *tile)
{
    const struct rbwp_rectangle *cells = &tile->plan->cells;
    for (int64_t y = cells->low[1]; y < cells->high[1]; y++)
        for (int64_t x = cells->low[0]; x < cells->high[0]; x++)
            *cell_at(tile, x, y) = (double)x * COEFFICIENT_X + (double)y * COEFFICIENT_Y;
}

static bool make_inlets(struct tile *tile)
{
    const struct plan_tile *plan = tile->plan;
    tile->inlets = calloc(plan->needs_count + 1, sizeof *tile->inlets);
    bool good = tile->inlets != NULL;
    for (size_t i = 0; good && i < plan->needs_count; i++)
        for (unsigned p = 0; p < 2 && good; p++) {
            tile->inlets[i].cells[p] = calloc(cells_in(&plan->needs[i].cells), sizeof(double));
            good = tile->inlets[i].cells[p] != NULL;
        }
    return good;
}

static size_t inlet_number(const struct plan_tile *plan, unsigned from, unsigned number)
{
    size_t i = 0;
    while (i < plan->needs_count &&
           (plan->needs[i].tile != from || plan->needs[i].number != number))
        i++;
    return i;
}

static bool make_outlets(struct tile *tile)
{
    const struct plan_tile *plan = tile->plan;
    tile->outlets = calloc(plan->gives_count + 1, sizeof *tile->outlets);
    bool good = tile->outlets != NULL;
    for (size_t i = 0; good && i < plan->gives_count; i++) {
        struct tile_outlet *outlet = &tile->outlets[i];
        outlet->tile = tile;
        outlet->piece = &plan->gives[i];
        outlet->local = node_tile(tile->node, outlet->piece->tile);
        if (outlet->local) {
            outlet->inlet = inlet_number(outlet->local->plan, plan->id, outlet->piece->number);
        } else {
            outlet->cells = calloc(cells_in(&outlet->piece->cells), sizeof(double));
            good = outlet->cells != NULL;
        }
    }
    return good;
}

static bool compute(void *argument, struct rbwp_deadline deadline);

bool tile_init(struct tile *tile, struct node *node, const struct plan_tile *plan,
               struct rbwp_error *error)
{
    char name[64];
    *tile = (struct tile){.node = node, .plan = plan};
    tile->pitch = width_of(&plan->cells) + 2 * RADIUS;
    tile->in =
        calloc((size_t)(tile->pitch * (height_of(&plan->cells) + 2 * RADIUS)), sizeof(double));
    tile->out = calloc(cells_in(&plan->cells) + 1, sizeof(double));
    *error = (struct rbwp_error){.status = RBWP_E_MEMORY, .text = "no memory for a tile"};
    if (!tile->in || !tile->out || !make_inlets(tile) || !make_outlets(tile))
        return false;
    set_cells(tile);
    snprintf(name, sizeof name, "stencil tile %u", plan->id);
    tile->has_work = rbwp_work_add(node->manager, name, compute, tile, -1, &tile->work) == RBWP_OK;
    snprintf(error->text, sizeof error->text, "no slot for the work of tile %u", plan->id);
    return tile->has_work;
}

void tile_free(struct tile *tile)
{
    if (tile->has_work)
        (void)rbwp_work_remove(tile->node->manager, tile->work);
    for (size_t i = 0; tile->inlets && i < tile->plan->needs_count; i++) {
        free(tile->inlets[i].cells[0]);
        free(tile->inlets[i].cells[1]);
    }
    for (size_t i = 0; tile->outlets && i < tile->plan->gives_count; i++)
        free(tile->outlets[i].cells);
    free(tile->inlets);
    free(tile->outlets);
    free(tile->in);
    free(tile->out);
}

/* ---- pieces ------------------------------------------------------------------------------ */

static void move_cells(struct tile *tile, const struct rbwp_rectangle *cells, void *target,
                       int64_t target_pitch, void *source, int64_t source_pitch,
                       rbwp_transfer_done_fn done, void *argument)
{
    struct rbwp_error error;
    const struct rbwp_transfer transfer = {
        .size = sizeof transfer,
        .kind = RBWP_TRANSFER_COPY,
        .dimensions = 2,
        .element_bytes = sizeof(double),
        .extent = {(uint64_t)width_of(cells), (uint64_t)height_of(cells)},
        .source = {.memory = source, .stride_bytes = {0, source_pitch * (int64_t)sizeof(double)}},
        .target = {.memory = target, .stride_bytes = {0, target_pitch * (int64_t)sizeof(double)}},
        .done = done,
        .argument = argument};
    if (rbwp_channel_submit(tile->node->channel, &transfer, NULL, &error) != RBWP_OK)
        node_fail(tile->node, &error);
}

/* A piece has been read out of the tile's memory. */
static void piece_has_left(void *argument, const struct rbwp_transfer_result *result)
{
    struct tile_outlet *outlet = argument;
    struct tile *tile = outlet->tile;
    const unsigned iteration = tile->iteration;
    if (result->status != RBWP_OK)
        return; /* the channel is being freed */
    if (outlet->local)
        tile_piece_ready(outlet->local, iteration);
    else
        node_send_piece(tile->node, tile->plan->id, outlet->piece, iteration, outlet->cells);
    tile_piece_ready(tile, iteration);
}

/* The pieces that others need for the iteration that comes. */
static void give_pieces(struct tile *tile)
{
    const unsigned iteration = tile->iteration;
    for (size_t i = 0; i < tile->plan->gives_count; i++) {
        struct tile_outlet *outlet = &tile->outlets[i];
        const struct rbwp_rectangle *cells = &outlet->piece->cells;
        double *target = outlet->local ? outlet->local->inlets[outlet->inlet].cells[iteration % 2]
                                       : outlet->cells;
        move_cells(tile, cells, target, width_of(cells),
                   cell_at(tile, cells->low[0], cells->low[1]), tile->pitch, piece_has_left,
                   outlet);
    }
}

void tile_begin(struct tile *tile)
{
    if (tile->plan->gives_count + tile->plan->needs_count == 0)
        (void)rbwp_work_make_active(tile->node->manager, tile->work);
    give_pieces(tile);
}

struct tile_inlet *tile_inlet_of(struct tile *tile, unsigned from, unsigned number,
                                 uint64_t *bytes_out)
{
    const size_t i = inlet_number(tile->plan, from, number);
    if (i == tile->plan->needs_count)
        return NULL;
    *bytes_out = cells_in(&tile->plan->needs[i].cells) * sizeof(double);
    return &tile->inlets[i];
}

static void frame_is_filled(void *argument, const struct rbwp_transfer_result *result)
{
    struct tile *tile = argument;
    if (result->status == RBWP_OK)
        (void)rbwp_work_make_active(tile->node->manager, tile->work);
}

/* All is there: the channel goes in order, so the last piece tells. */
static void fill_frame(struct tile *tile, unsigned iteration)
{
    const size_t count = tile->plan->needs_count;
    if (count == 0)
        (void)rbwp_work_make_active(tile->node->manager, tile->work);
    for (size_t i = 0; i < count; i++) {
        const struct rbwp_rectangle *cells = &tile->plan->needs[i].cells;
        move_cells(tile, cells, cell_at(tile, cells->low[0], cells->low[1]), tile->pitch,
                   tile->inlets[i].cells[iteration % 2], width_of(cells),
                   i + 1 == count ? frame_is_filled : NULL, tile);
    }
}

void tile_piece_ready(struct tile *tile, unsigned iteration)
{
    const size_t all = tile->plan->needs_count + tile->plan->gives_count;
    if (1 + atomic_fetch_add(&tile->ready[iteration % 2], 1) < all)
        return;
    /* The next of this parity come when this iteration is through, and not before. */
    atomic_store(&tile->ready[iteration % 2], 0);
    fill_frame(tile, iteration);
}

/* ---- computing ------------------------------------------------------------------------------ */

/* The star of the Parallel Research Kernels: weight 1 / (2 * distance * RADIUS), negative on the
 * low side. */
static void compute_row(const struct tile *tile, int64_t y)
{
    const struct rbwp_rectangle *active = &tile->plan->active, *cells = &tile->plan->cells;
    const double near = 1.0 / (2.0 * 1 * RADIUS), far = 1.0 / (2.0 * 2 * RADIUS);
    const int64_t pitch = tile->pitch, width = width_of(active);
    const double *in = cell_at(tile, active->low[0], y);
    double *out =
        tile->out + (y - cells->low[1]) * width_of(cells) + (active->low[0] - cells->low[0]);
    for (int64_t i = 0; i < width; i++)
        out[i] += near * (in[i + 1] - in[i - 1] + in[i + pitch] - in[i - pitch]) +
                  far * (in[i + 2] - in[i - 2] + in[i + 2 * pitch] - in[i - 2 * pitch]);
}

static void add_one(const struct tile *tile, int64_t y)
{
    double *in = cell_at(tile, tile->plan->cells.low[0], y);
    const int64_t width = width_of(&tile->plan->cells);
    for (int64_t i = 0; i < width; i++)
        in[i] += 1.0;
}

static void end_iteration(struct tile *tile)
{
    tile->row = 0;
    node_tile_went_on(tile->node, tile->iteration);
    if (++tile->iteration > tile->node->iterations) {
        node_tile_ended(tile->node);
        return;
    }
    if (tile->plan->gives_count + tile->plan->needs_count == 0)
        (void)rbwp_work_make_active(tile->node->manager, tile->work);
    give_pieces(tile);
}

/* Rows of the star, then rows of adding 1, until the slice is over. */
static bool compute(void *argument, struct rbwp_deadline deadline)
{
    struct tile *tile = argument;
    const struct rbwp_rectangle *active = &tile->plan->active, *cells = &tile->plan->cells;
    const int64_t stars = height_of(active), rows = stars + height_of(cells);
    while (tile->row < rows && !atomic_load_explicit(&tile->node->stopping, memory_order_relaxed)) {
        if (tile->row < stars)
            compute_row(tile, active->low[1] + tile->row);
        else
            add_one(tile, cells->low[1] + tile->row - stars);
        tile->row++;
        if (rbwp_deadline_passed(deadline) && tile->row < rows)
            return true;
    }
    if (tile->row == rows)
        end_iteration(tile);
    return false;
}

double tile_sum(const struct tile *tile)
{
    const struct rbwp_rectangle *active = &tile->plan->active, *cells = &tile->plan->cells;
    double sum = 0;
    for (int64_t y = active->low[1]; y < active->high[1]; y++)
        for (int64_t x = active->low[0]; x < active->high[0]; x++)
            sum += fabs(tile->out[(y - cells->low[1]) * width_of(cells) + (x - cells->low[0])]);
    return sum;
}
