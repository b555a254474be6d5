/* SPDX-License-Identifier: Apache-2.0 */
#include "ptx_pairs.h"
#include "sorted.h"

#include "grow.h"
#include "message.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct ptx_timed {
    uint64_t key, cycles;
    uint32_t lane;
};

static int by_key_and_lane(const void *a, const void *b)
{
    const struct ptx_timed *x = a, *y = b;
    if (x->key != y->key)
        return (x->key > y->key) - (x->key < y->key);
    return (x->lane > y->lane) - (x->lane < y->lane);
}

SORTED_COMPARE(by_cycles, struct ptx_timed, it->cycles)

static uint64_t key_of(const struct ptx_cell *cell, const struct ptx_map *by_line)
{
    if (!by_line)
        return (uint64_t)cell->start_id << 32 | cell->end_id;
    const struct ptx_map_probe *probe = ptx_map_find(by_line, cell->start_id);
    return probe && probe->loc >= 0 ? (uint64_t)probe->file << 32 | (uint64_t)probe->loc : 0;
}

bool ptx_gather(struct ptx_gathered *gathered, const struct ptx_matrix *matrix,
                const struct ptx_map *by_line, uint32_t pair_cost)
{
    size_t cells = (size_t)matrix->rows * matrix->lanes;
    if (!grow_array(&gathered->timed, &gathered->room, gathered->count + cells,
                    sizeof *gathered->timed))
        return message_fail("out of memory");
    for (uint32_t row = 0; row < matrix->rows; row++)
        for (uint32_t lane = 0; lane < matrix->lanes; lane++) {
            const struct ptx_cell *cell = ptx_matrix_at(matrix, row, lane);
            int64_t cycles = ptx_cell_cycles(cell);
            if (cell->start == 0 || cycles < 0)
                continue;
            uint64_t rest = (uint64_t)cycles > pair_cost ? (uint64_t)cycles - pair_cost : 0;
            gathered->timed[gathered->count++] =
                (struct ptx_timed){key_of(cell, by_line), rest, gathered->lanes + lane};
        }
    gathered->lanes += matrix->lanes;
    return true;
}

/* How far the lanes lie apart; the records are in order of lanes. */
static double ptx_pairs_spread(const struct ptx_timed *timed, size_t count)
{
    uint64_t least = UINT64_MAX, most = 0;
    for (size_t i = 0; i < count;) {
        uint32_t lane = timed[i].lane;
        uint64_t sum = 0;
        for (; i < count && timed[i].lane == lane; i++)
            sum += timed[i].cycles;
        least = sum < least ? sum : least;
        most = sum > most ? sum : most;
    }
    return most ? 1 - (double)least / (double)most : 0;
}

/* Of records with one key. */
static struct ptx_sum sum_up(struct ptx_timed *timed, size_t count)
{
    struct ptx_sum sum = {
        .key = timed[0].key, .count = count, .spread = ptx_pairs_spread(timed, count)};
    qsort(timed, count, sizeof *timed, by_cycles);
    for (size_t i = 0; i < count; i++)
        sum.cycles += timed[i].cycles;
    sum.p50 = timed[(count - 1) / 2].cycles;
    sum.p99 = timed[(count * 99 + 99) / 100 - 1].cycles;
    sum.most = timed[count - 1].cycles;
    return sum;
}

static size_t count_keys(const struct ptx_gathered *gathered)
{
    size_t keys = 0;
    for (size_t i = 0; i < gathered->count; i++)
        keys += i == 0 || gathered->timed[i].key != gathered->timed[i - 1].key;
    return keys;
}

bool ptx_gathered_sums(struct ptx_gathered *gathered, struct ptx_sums *sums)
{
    struct ptx_timed *timed = gathered->timed;
    size_t count = gathered->count;
    *sums = (struct ptx_sums){0};
    if (count > 0)
        qsort(timed, count, sizeof *timed, by_key_and_lane);
    sums->sums = malloc((count_keys(gathered) + 1) * sizeof *sums->sums);
    for (size_t i = 0, end; sums->sums && i < count; i = end) {
        for (end = i + 1; end < count && timed[end].key == timed[i].key;)
            end++;
        sums->sums[sums->count] = sum_up(timed + i, end - i);
        sums->cycles += sums->sums[sums->count++].cycles;
    }
    free(timed);
    *gathered = (struct ptx_gathered){0};
    if (!sums->sums)
        message("out of memory");
    return sums->sums != NULL;
}

bool ptx_sums_make(struct ptx_sums *sums, const struct ptx_matrix *matrix,
                   const struct ptx_map *by_line, uint32_t pair_cost)
{
    struct ptx_gathered gathered = {0};
    return ptx_gather(&gathered, matrix, by_line, pair_cost) && ptx_gathered_sums(&gathered, sums);
}

void ptx_sums_free(struct ptx_sums *sums)
{
    free(sums->sums);
    *sums = (struct ptx_sums){0};
}

void ptx_sums_write_pairs(struct out *out, const struct ptx_sums *sums,
                          const struct ptx_loc_map *locs)
{
    out_format(out, "%13s %6s %10s %14s %12s %12s %7s\n", "Pair", "Loc", "Count", "Cycles", "p50",
               "p99", "Spread");
    for (uint32_t i = 0; i < sums->count; i++) {
        const struct ptx_sum *sum = &sums->sums[i];
        uint32_t start = (uint32_t)(sum->key >> 32), end = (uint32_t)sum->key;
        char pair[32];
        bool known;
        if (start == end)
            snprintf(pair, sizeof pair, "%" PRIu32, start);
        else
            snprintf(pair, sizeof pair, "%" PRIu32 "->%" PRIu32, start, end);
        out_format(out, "%13s %6" PRId64 " %10" PRIu64 " %14" PRIu64, pair,
                   ptx_loc_map_find(locs, start, &known), sum->count, sum->cycles);
        out_format(out, " %12" PRIu64 " %12" PRIu64 " %6.1f%%\n", sum->p50, sum->p99,
                   100 * sum->spread);
    }
}

static void ptx_whole_add_lane(struct ptx_whole *whole, const struct ptx_matrix *matrix,
                               uint32_t lane, uint32_t pair_cost)
{
    const struct ptx_cell *last = NULL;
    for (uint32_t row = 0; row < matrix->rows; row++) {
        const struct ptx_cell *cell = ptx_matrix_at(matrix, row, lane);
        int64_t cycles = ptx_cell_cycles(cell);
        if (cell->start == 0 || cycles < 0 || (last && cell->start < last->end))
            continue;
        whole->lanes += !last;
        whole->records++;
        whole->cycles += (uint64_t)cycles;
        whole->probes += (uint64_t)cycles < pair_cost ? (uint64_t)cycles : pair_cost;
        if (last) {
            whole->gaps++;
            whole->between += cell->start - last->end;
            whole->cycles += cell->start - last->end;
        }
        last = cell;
    }
}

void ptx_whole_add(struct ptx_whole *whole, const struct ptx_matrix *matrix, uint32_t pair_cost)
{
    for (uint32_t lane = 0; lane < matrix->lanes; lane++)
        ptx_whole_add_lane(whole, matrix, lane, pair_cost);
}

static double share(uint64_t part, uint64_t whole)
{
    return 100 * (double)part / (double)whole;
}

void ptx_whole_write(struct out *out, const struct ptx_whole *whole)
{
    if (!whole->cycles)
        return;
    out_format(out,
               "%" PRIu64 " lane%s, %" PRIu64 " cycles from first START to last END: %.1f%% in "
               "records, %.1f%% in their probes, %.1f%% between them",
               whole->lanes, whole->lanes == 1 ? "" : "s", whole->cycles,
               share(whole->cycles - whole->between - whole->probes, whole->cycles),
               share(whole->probes, whole->cycles), share(whole->between, whole->cycles));
    if (whole->gaps)
        out_format(out, " (%.1f cycles: a probe's store, and code that has none)",
                   (double)whole->between / (double)whole->gaps);
    out_text(out, "\n");
}
