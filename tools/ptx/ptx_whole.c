/* SPDX-License-Identifier: Apache-2.0 */
#include "ptx_whole.h"
#include "out.h"

#include <inttypes.h>

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
