/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_partition: what partitioning costs a point, and how long one time slice of it takes.
 *
 * A grid of a million points in 16 parts, its values in memory: tiles (long runs), and colours and
 * pointers without any order (the worst there is). One thread runs the slices, of 100 us, and looks
 * at its CPU time around each, so that others who use the machine do not count. A slice is longer
 * than asked by one step, in which arrays of all parts may double at once: the target is that 99 of
 * 100 are at most twice as long.
 */
#include "bench.h"
#include "bench_random.h"
#include "rbwp_partition.h"

#include <stdio.h>
#include <stdlib.h>

enum { SIDE = 1000, POINTS = SIDE * SIDE, PARTS = 16, SLICES_MAX = 1 << 20 };
#define SLICE_TARGET_US 200.0

static struct rbwp_work_manager *manager;
static struct rbwp_partitioner *partitioner;
static int64_t tile_of[POINTS], any_of[POINTS];
static int64_t shifted[POINTS][2], anywhere[POINTS][2];
static double slices_us[SLICES_MAX];

static void fill_fields(void)
{
    for (int64_t y = 0; y < SIDE; y++)
        for (int64_t x = 0; x < SIDE; x++) {
            const int64_t i = y * SIDE + x;
            tile_of[i] = y / (SIDE / 4) * 4 + x / (SIDE / 4);
            any_of[i] = (int64_t)(random_uniform() * PARTS);
            shifted[i][0] = x + 2;
            shifted[i][1] = y + 1;
            anywhere[i][0] = (int64_t)(random_uniform() * SIDE);
            anywhere[i][1] = (int64_t)(random_uniform() * SIDE);
        }
}

static struct rbwp_field field_of(const void *values, int64_t value_bytes)
{
    return (struct rbwp_field){.values = values, .stride_bytes = {value_bytes, value_bytes * SIDE}};
}

/* Runs one operation over points, prints what it took, and gives its results. */
static void run(const char *name, double points, struct rbwp_partition partition,
                struct rbwp_space **results)
{
    size_t slices = 0;
    double sum_us = 0;
    partition.size = sizeof partition;
    require(rbwp_partition_submit(partitioner, &partition, results, NULL, NULL) == RBWP_OK,
            "submit");
    for (bool more = true; more && slices < SLICES_MAX; slices++) {
        const double begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        more = rbwp_work_run(manager, 0) == RBWP_OK;
        slices_us[slices] = (clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns) / 1000;
        sum_us += slices_us[slices];
    }
    require(rbwp_space_status(results[0]) == RBWP_OK, name);
    size_t rectangles = 0;
    for (size_t i = 0; i < partition.count; i++)
        rectangles += rbwp_space_rectangles(results[i]);
    const double p99_us = quantile(slices_us, slices, 0.99);
    printf("%-24s %7.1f ns a point, %8zu rectangles, %6zu slices, p99 %5.0f us, longest %5.0f us\n",
           name, sum_us * 1000 / points, rectangles, slices, p99_us,
           quantile(slices_us, slices, 1));
    char what[100];
    snprintf(what, sizeof what, "partitioning, %s, p99 of its slices", name);
    figure_at_most(what, p99_us, "us", SLICE_TARGET_US);
}

static void release(struct rbwp_space **spaces)
{
    for (size_t i = 0; i < PARTS; i++)
        rbwp_space_release(spaces[i]);
}

int main(void)
{
    const struct rbwp_work_config config = {.size = sizeof config, .no_workers = true};
    const struct rbwp_rectangle whole = {.high = {SIDE, SIDE}};
    struct rbwp_space *grid, *tiles[PARTS], *any[PARTS], *out[PARTS];
    int64_t colors[PARTS];
    require(rbwp_work_start(&config, &manager, NULL) == RBWP_OK, "a manager");
    require(rbwp_partitioner_new(manager, "bench", -1, &partitioner, NULL) == RBWP_OK,
            "a partitioner");
    require(rbwp_space_new(2, &whole, 1, &grid, NULL) == RBWP_OK, "a space");
    for (int64_t i = 0; i < PARTS; i++)
        colors[i] = i;
    fill_fields();

    struct rbwp_partition partition = {.kind = RBWP_PARTITION_BY_FIELD,
                                       .count = PARTS,
                                       .domain = grid,
                                       .colors = colors,
                                       .field = field_of(tile_of, sizeof *tile_of)};
    run("by field, tiles", POINTS, partition, tiles);
    partition.field = field_of(any_of, sizeof *any_of);
    run("by field, any order", POINTS, partition, any);
    partition.kind = RBWP_PARTITION_IMAGE;
    partition.sources = (const struct rbwp_space *const *)tiles;
    partition.field = field_of(shifted, sizeof *shifted);
    run("image, shifted tiles", POINTS, partition, out);
    release(out);
    partition.field = field_of(anywhere, sizeof *anywhere);
    run("image, any order", POINTS, partition, out);
    release(out);
    partition.kind = RBWP_PARTITION_PREIMAGE;
    partition.field = field_of(shifted, sizeof *shifted);
    run("preimage, shifted tiles", POINTS, partition, out);
    release(out);
    partition.field = field_of(anywhere, sizeof *anywhere);
    run("preimage, any order", POINTS, partition, out);
    release(out);
    partition = (struct rbwp_partition){.kind = RBWP_PARTITION_DIFFERENCE,
                                        .count = PARTS,
                                        .sources = (const struct rbwp_space *const *)tiles,
                                        .others = (const struct rbwp_space *const *)any,
                                        .others_count = PARTS};
    run("difference, any order", POINTS, partition, out);
    release(out);
    release(tiles);
    release(any);
    rbwp_space_release(grid);
    require(rbwp_partitioner_free(partitioner) == RBWP_OK, "the end");
    require(rbwp_work_stop(manager, true, NULL) == RBWP_OK, "the end");
    return 0;
}
