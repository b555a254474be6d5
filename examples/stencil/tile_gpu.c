/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tile_gpu.c - the star on a GPU, without a kernel of its own.
 *
 * For each distance the cells on the high sides and those on the low sides are
 * summed, the second sum is taken from the first, and the difference times the
 * weight is added to the result: copies and reductions of the GPU channel,
 * which carries them out in order.
 */
#include "node.h"
#include "tile.h"

/* What cells are multiplied by, or added to; each a number in a block. */
enum number { MINUS_ONE, WEIGHT_NEAR, WEIGHT_FAR, ONE, NUMBERS };

bool tile_gpu_init(struct tile *tile)
{
    static double numbers[NUMBERS] = {-1.0, 1.0 / (2.0 * 1 * RADIUS), 1.0 / (2.0 * 2 * RADIUS),
                                      1.0};
    const struct block from = {.memory = numbers};
    struct store *store = tile->store;
    const struct rbwp_rectangle *active = &tile->plan->active;
    const size_t cells = (size_t)(width_of(active) * height_of(active)) + 1;
    return store_block(store, cells, &tile->high) && store_block(store, cells, &tile->low) &&
           store_block(store, NUMBERS, &tile->numbers) &&
           store_copy(store, NUMBERS, 1, (struct place){&tile->numbers, 0, NUMBERS},
                      (struct place){&from, 0, NUMBERS}, NULL, NULL, NULL);
}

void tile_gpu_free(struct tile *tile)
{
    store_block_free(&tile->high);
    store_block_free(&tile->low);
    store_block_free(&tile->numbers);
}

static struct place number_at(const struct tile *tile, enum number number)
{
    return (struct place){&tile->numbers, number, 0};
}

/* The active cells, moved. */
static struct place active_at(const struct tile *tile, int64_t dx, int64_t dy)
{
    const struct rbwp_rectangle *active = &tile->plan->active;
    return tile_cell(tile, active->low[0] + dx, active->low[1] + dy);
}

static struct place packed(const struct tile *tile, const struct block *block)
{
    return (struct place){block, 0, width_of(&tile->plan->active)};
}

static bool add_distance(struct tile *tile, int64_t distance, enum number weight,
                         struct rbwp_error *error)
{
    struct store *store = tile->store;
    const struct rbwp_rectangle *active = &tile->plan->active, *cells = &tile->plan->cells;
    const int64_t w = width_of(active), h = height_of(active), d = distance;
    const struct place high = packed(tile, &tile->high), low = packed(tile, &tile->low);
    const struct place out = {.block = &tile->out,
                              .first = (size_t)((active->low[1] - cells->low[1]) * width_of(cells) +
                                                active->low[0] - cells->low[0]),
                              .pitch = width_of(cells)};
    return store_copy(store, w, h, high, active_at(tile, d, 0), NULL, NULL, error) &&
           store_reduce(store, RBWP_REDUCE_SUM, w, h, high, active_at(tile, 0, d), NULL, NULL,
                        error) &&
           store_copy(store, w, h, low, active_at(tile, -d, 0), NULL, NULL, error) &&
           store_reduce(store, RBWP_REDUCE_SUM, w, h, low, active_at(tile, 0, -d), NULL, NULL,
                        error) &&
           store_reduce(store, RBWP_REDUCE_PROD, w, h, low, number_at(tile, MINUS_ONE), NULL, NULL,
                        error) &&
           store_reduce(store, RBWP_REDUCE_SUM, w, h, high, low, NULL, NULL, error) &&
           store_reduce(store, RBWP_REDUCE_PROD, w, h, high, number_at(tile, weight), NULL, NULL,
                        error) &&
           store_reduce(store, RBWP_REDUCE_SUM, w, h, out, high, NULL, NULL, error);
}

static void computed(void *argument, const struct rbwp_transfer_result *result)
{
    struct tile *tile = argument;
    const struct rbwp_error error = {.status = result->status,
                                     .text = "the GPU did not compute a tile"};
    if (atomic_load(&tile->node->stopping))
        return;
    if (result->status == RBWP_OK)
        tile_end_iteration(tile);
    else
        node_fail(tile->node, &error);
}

void tile_gpu_compute(struct tile *tile)
{
    const struct rbwp_rectangle *cells = &tile->plan->cells, *active = &tile->plan->active;
    struct rbwp_error error;
    const bool has_active = width_of(active) > 0 && height_of(active) > 0;
    if ((has_active && (!add_distance(tile, 1, WEIGHT_NEAR, &error) ||
                        !add_distance(tile, 2, WEIGHT_FAR, &error))) ||
        !store_reduce(tile->store, RBWP_REDUCE_SUM, width_of(cells), height_of(cells),
                      tile_cell(tile, cells->low[0], cells->low[1]), number_at(tile, ONE), computed,
                      tile, &error))
        node_fail(tile->node, &error);
}
