/* SPDX-License-Identifier: Apache-2.0 */
/* tile.c - a tile of the grid as background work. */
#include "tile.h"

#include "node.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- memory --------------------------------------------------------------------------- */

static size_t cells_in(const struct rbwp_rectangle *cells)
{
    return (size_t)(width_of(cells) * height_of(cells));
}

struct place tile_cell(const struct tile *tile, int64_t x, int64_t y)
{
    const struct rbwp_rectangle *cells = &tile->plan->cells;
    const int64_t first = (y - cells->low[1] + RADIUS) * tile->pitch + (x - cells->low[0] + RADIUS);
    return (struct place){&tile->in, (size_t)first, tile->pitch};
}

static size_t cells_with_frame(const struct tile *tile)
{
    return (size_t)(tile->pitch * (height_of(&tile->plan->cells) + 2 * RADIUS));
}

/* The first contents; memory has room for all cells and the frame. */
static void set_cells(const struct tile *tile, double *memory)
{
    const struct rbwp_rectangle *cells = &tile->plan->cells;
    for (int64_t y = cells->low[1]; y < cells->high[1]; y++)
        for (int64_t x = cells->low[0]; x < cells->high[0]; x++)
            memory[tile_cell(tile, x, y).first] =
                (double)x * COEFFICIENT_X + (double)y * COEFFICIENT_Y;
}

static bool make_cells(struct tile *tile)
{
    struct store *store = tile->store;
    const size_t all = cells_with_frame(tile), own = cells_in(&tile->plan->cells) + 1;
    if (!store_block(store, all, &tile->in) || !store_block(store, own, &tile->out) ||
        !store_clear(store, &tile->out, own))
        return false;
    if (!store->device) {
        set_cells(tile, tile->in.memory);
        return true;
    }
    if (!store_host_block(all, &tile->host) || !tile_gpu_init(tile))
        return false;
    set_cells(tile, tile->host.memory);
    return store_copy(store, (int64_t)all, 1, (struct place){&tile->in, 0, (int64_t)all},
                      (struct place){&tile->host, 0, (int64_t)all}, NULL, NULL, NULL);
}

/* Memory that the piece's giver reaches. */
static bool make_inlet(struct tile *tile, const struct plan_piece *piece, struct block *block)
{
    const size_t cells = cells_in(&piece->cells);
    const struct tile *giver = node_tile(tile->node, piece->tile);
    return giver && store_way(giver->store, tile->store) != WAY_HOST
               ? store_block(tile->store, cells, block)
               : store_host_block(cells, block);
}

/* Drivers share memory in blocks of 2 MiB, with all that is in them. */
static size_t shared_cells(size_t cells)
{
    const size_t block = ((size_t)2 << 20) / sizeof(double);
    return (cells + block - 1) / block * block;
}

static bool make_inlets(struct tile *tile)
{
    const struct plan_tile *plan = tile->plan;
    size_t near = 0;
    tile->inlets = calloc(plan->needs_count + 1, sizeof *tile->inlets);
    bool good = tile->inlets != NULL;
    for (size_t i = 0; good && i < plan->needs_count; i++)
        for (unsigned p = 0; p < 2 && good; p++) {
            good = make_inlet(tile, &plan->needs[i], &tile->inlets[i].cells[p]);
            tile->inlets[i].near_first[p] = near;
            near +=
                node_tile(tile->node, plan->needs[i].tile) ? 0 : cells_in(&plan->needs[i].cells);
        }
    return good && (near == 0 || !tile->store->device ||
                    store_block(tile->store, shared_cells(near), &tile->near));
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
        outlet->way = outlet->local ? store_way(tile->store, outlet->local->store) : WAY_HOST;
        if (outlet->local)
            outlet->inlet = inlet_number(outlet->local->plan, plan->id, outlet->piece->number);
        else
            good = store_host_block(cells_in(&outlet->piece->cells), &outlet->cells);
    }
    return good;
}

static bool tile_compute(void *argument, struct rbwp_deadline deadline);

bool tile_init(struct tile *tile, struct rbwp_error *error)
{
    const struct plan_tile *plan = tile->plan;
    char name[64];
    tile->pitch = width_of(&plan->cells) + 2 * RADIUS;
    *error = (struct rbwp_error){.status = RBWP_E_MEMORY, .text = "no memory for a tile"};
    if (!make_cells(tile) || !make_inlets(tile) || !make_outlets(tile))
        return false;
    if (tile->store->device)
        return true;
    snprintf(name, sizeof name, "stencil tile %u", plan->id);
    tile->has_work =
        rbwp_work_add(tile->node->manager, name, tile_compute, tile, -1, &tile->work) == RBWP_OK;
    snprintf(error->text, sizeof error->text, "no slot for the work of tile %u", plan->id);
    return tile->has_work;
}

void tile_stop(struct tile *tile)
{
    if (tile->has_work)
        (void)rbwp_work_remove(tile->node->manager, tile->work);
    tile->has_work = false;
}

void tile_free(struct tile *tile, bool frees_near)
{
    for (size_t i = 0; tile->inlets && i < tile->plan->needs_count; i++) {
        store_block_free(&tile->inlets[i].cells[0]);
        store_block_free(&tile->inlets[i].cells[1]);
    }
    for (size_t i = 0; tile->outlets && i < tile->plan->gives_count; i++)
        store_block_free(&tile->outlets[i].cells);
    free(tile->inlets);
    free(tile->outlets);
    store_block_free(&tile->in);
    store_block_free(&tile->out);
    store_block_free(&tile->host);
    if (frees_near)
        store_block_free(&tile->near);
    tile_gpu_free(tile);
}

/* ---- pieces ------------------------------------------------------------------------------ */

static void move_cells(struct tile *tile, const struct rbwp_rectangle *cells, struct place target,
                       struct place source, rbwp_transfer_done_fn done, void *argument)
{
    struct rbwp_error error;
    if (!store_copy(tile->store, width_of(cells), height_of(cells), target, source, done, argument,
                    &error))
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
        node_send_piece(tile->node, tile->plan->id, outlet->piece, iteration,
                        outlet->way == WAY_HOST ? outlet->cells.memory : NULL);
    tile_piece_ready(tile, iteration);
}

/* Where a piece is put: into the other tile's inlet, or for a message. */
static struct place outlet_target(const struct tile_outlet *outlet, unsigned iteration)
{
    const int64_t width = width_of(&outlet->piece->cells);
    const unsigned p = iteration % 2;
    if (outlet->local)
        return (struct place){&outlet->local->inlets[outlet->inlet].cells[p], 0, width};
    if (outlet->way != WAY_HOST)
        return (struct place){&outlet->far, outlet->far_first[p], width};
    return (struct place){&outlet->cells, 0, width};
}

/* The pieces that others need for the iteration that comes. */
static void give_pieces(struct tile *tile)
{
    const unsigned iteration = tile->iteration;
    for (size_t i = 0; i < tile->plan->gives_count; i++) {
        struct tile_outlet *outlet = &tile->outlets[i];
        const struct rbwp_rectangle *cells = &outlet->piece->cells;
        move_cells(tile, cells, outlet_target(outlet, iteration),
                   tile_cell(tile, cells->low[0], cells->low[1]), piece_has_left, outlet);
    }
}

/* The frame is filled, or on a GPU will be before what comes now. */
static void begin_iteration(struct tile *tile)
{
    if (tile->store->device)
        tile_gpu_compute(tile);
    else
        (void)rbwp_work_make_active(tile->node->manager, tile->work);
}

/* Gives pieces; who neither gives nor needs any goes on by itself. */
void tile_begin(struct tile *tile)
{
    if (tile->plan->gives_count + tile->plan->needs_count == 0)
        begin_iteration(tile);
    else
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

struct tile_outlet *tile_outlet_to(struct tile *tile, unsigned to, unsigned number)
{
    for (size_t i = 0; i < tile->plan->gives_count; i++)
        if (tile->plan->gives[i].tile == to && tile->plan->gives[i].number == number)
            return &tile->outlets[i];
    return NULL;
}

static void frame_is_filled(void *argument, const struct rbwp_transfer_result *result)
{
    if (result->status == RBWP_OK)
        begin_iteration(argument);
}

/* All is there. The store goes in order, so the last piece is the sign. */
static void fill_frame(struct tile *tile, unsigned iteration)
{
    const size_t count = tile->plan->needs_count;
    const bool announces = !tile->store->device;
    const unsigned p = iteration % 2;
    for (size_t i = 0; i < count; i++) {
        const struct rbwp_rectangle *cells = &tile->plan->needs[i].cells;
        const struct tile_inlet *inlet = &tile->inlets[i];
        const bool is_near = inlet->is_near[p];
        move_cells(tile, cells, tile_cell(tile, cells->low[0], cells->low[1]),
                   (struct place){is_near ? &tile->near : &inlet->cells[p],
                                  is_near ? inlet->near_first[p] : 0, width_of(cells)},
                   announces && i + 1 == count ? frame_is_filled : NULL, tile);
    }
    if (!announces || count == 0)
        begin_iteration(tile);
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
    const double *in = tile->in.memory + tile_cell(tile, active->low[0], y).first;
    double *out =
        tile->out.memory + (y - cells->low[1]) * width_of(cells) + (active->low[0] - cells->low[0]);
    for (int64_t i = 0; i < width; i++)
        out[i] += near * (in[i + 1] - in[i - 1] + in[i + pitch] - in[i - pitch]) +
                  far * (in[i + 2] - in[i - 2] + in[i + 2 * pitch] - in[i - 2 * pitch]);
}

static void add_one(const struct tile *tile, int64_t y)
{
    double *in = tile->in.memory + tile_cell(tile, tile->plan->cells.low[0], y).first;
    const int64_t width = width_of(&tile->plan->cells);
    for (int64_t i = 0; i < width; i++)
        in[i] += 1.0;
}

static void result_is_here(void *argument, const struct rbwp_transfer_result *result)
{
    struct tile *tile = argument;
    if (result->status == RBWP_OK)
        node_tile_ended(tile->node);
}

/* A GPU's result is fetched. */
static void end(struct tile *tile)
{
    const struct rbwp_rectangle *cells = &tile->plan->cells;
    const int64_t all = (int64_t)cells_in(cells);
    struct rbwp_error error;
    if (!tile->store->device)
        node_tile_ended(tile->node);
    else if (!store_copy(tile->store, all, 1, (struct place){&tile->host, 0, all},
                         (struct place){&tile->out, 0, all}, result_is_here, tile, &error))
        node_fail(tile->node, &error);
}

void tile_end_iteration(struct tile *tile)
{
    tile->row = 0;
    node_tile_went_on(tile->node, tile->iteration);
    if (++tile->iteration > tile->node->iterations)
        end(tile);
    else
        tile_begin(tile);
}

/* Rows of the star, then rows of adding 1, until the slice is over. */
static bool tile_compute(void *argument, struct rbwp_deadline deadline)
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
        tile_end_iteration(tile);
    return false;
}

double tile_sum(const struct tile *tile)
{
    const struct rbwp_rectangle *active = &tile->plan->active, *cells = &tile->plan->cells;
    const double *out = tile->out.memory ? tile->out.memory : tile->host.memory;
    double sum = 0;
    for (int64_t y = active->low[1]; y < active->high[1]; y++)
        for (int64_t x = active->low[0]; x < active->high[0]; x++)
            sum += fabs(out[(y - cells->low[1]) * width_of(cells) + (x - cells->low[0])]);
    return sum;
}
