/* SPDX-License-Identifier: Apache-2.0 */
#include "ptx_sanitize.h"
#include "message.h"

#include <stdlib.h>

/* What is known of each probe, by its number. */
struct site {
    bool starts, ends; /* it did, in some record */
    bool merged_start, merged_end;
    uint32_t sources, targets; /* edges that leave and reach it */
};

struct edge {
    uint32_t from, to;
};

struct sanitizer {
    const struct ptx_matrix *matrix;
    const struct ptx_loc_map *locs;
    struct ptx_sanitizing how;
    struct site *sites;
    uint32_t site_count;
    struct edge *edges;
    uint32_t edge_count;
};

static void find_alive(struct sanitizer *sanitizer)
{
    const struct ptx_matrix *matrix = sanitizer->matrix;
    for (size_t i = 0; i < (size_t)matrix->rows * matrix->lanes; i++) {
        const struct ptx_cell *cell = &matrix->cells[i];
        if (cell->start == 0 && !sanitizer->how.compat)
            continue;
        sanitizer->sites[cell->start_id].starts = true;
        sanitizer->sites[cell->end_id].ends = true;
    }
}

/* ---- edges ----------------------------------------------------------------------------- */

/* Whether a lane's records end before this row. */
static bool ends_before(const struct sanitizer *sanitizer, uint32_t row, uint32_t lane)
{
    const struct ptx_cell *cell = ptx_matrix_at(sanitizer->matrix, row, lane);
    if (sanitizer->how.compat)
        return row > 0 && cell->start_id == 0;
    return cell->start == 0;
}

static void collect_lane(struct sanitizer *sanitizer, uint32_t lane)
{
    for (uint32_t row = 0; row + 1 < sanitizer->matrix->rows; row++) {
        if (ends_before(sanitizer, row, lane) || ends_before(sanitizer, row + 1, lane))
            return;
        sanitizer->edges[sanitizer->edge_count++] =
            (struct edge){ptx_matrix_at(sanitizer->matrix, row, lane)->end_id,
                          ptx_matrix_at(sanitizer->matrix, row + 1, lane)->start_id};
    }
}

static int by_ends(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;
    return x->from != y->from ? (x->from > y->from) - (x->from < y->from)
                              : (x->to > y->to) - (x->to < y->to);
}

/* Each edge once, and how many there are of a kind. */
static void count_edges(struct sanitizer *sanitizer)
{
    uint32_t kept = 0;
    if (sanitizer->edge_count > 1)
        qsort(sanitizer->edges, sanitizer->edge_count, sizeof *sanitizer->edges, by_ends);
    for (uint32_t i = 0; i < sanitizer->edge_count; i++) {
        if (i > 0 && by_ends(&sanitizer->edges[i], &sanitizer->edges[i - 1]) == 0)
            continue;
        sanitizer->edges[kept++] = sanitizer->edges[i];
        sanitizer->sites[sanitizer->edges[i].from].sources++;
        sanitizer->sites[sanitizer->edges[i].to].targets++;
    }
    sanitizer->edge_count = kept;
}

static bool one_line(const struct sanitizer *sanitizer, struct edge edge)
{
    bool from_known, to_known;
    int64_t from = ptx_loc_map_find(sanitizer->locs, edge.from, &from_known);
    int64_t to = ptx_loc_map_find(sanitizer->locs, edge.to, &to_known);
    return from_known && to_known && from == to;
}

static void merge(struct sanitizer *sanitizer)
{
    for (uint32_t lane = 0; lane < sanitizer->matrix->lanes; lane++)
        collect_lane(sanitizer, lane);
    count_edges(sanitizer);
    for (uint32_t i = 0; i < sanitizer->edge_count; i++) {
        struct edge edge = sanitizer->edges[i];
        if (sanitizer->sites[edge.from].sources != 1 || sanitizer->sites[edge.to].targets != 1 ||
            !one_line(sanitizer, edge))
            continue;
        sanitizer->sites[edge.from].merged_end = true;
        sanitizer->sites[edge.to].merged_start = true;
    }
}

/* ---- lists ----------------------------------------------------------------------------- */

static bool list_sites(const struct sanitizer *sanitizer, struct ptx_active *active)
{
    static const struct site never;
    for (uint32_t i = 0; i < sanitizer->locs->count; i++) {
        uint32_t id = sanitizer->locs->entries[i].id;
        const struct site *site = id < sanitizer->site_count ? &sanitizer->sites[id] : &never;
        bool dead = sanitizer->how.dead;
        if ((site->starts || !dead) && !site->merged_start && !ptx_id_list_add(&active->start, id))
            return false;
        if ((site->ends || !dead) && !site->merged_end && !ptx_id_list_add(&active->end, id))
            return false;
    }
    return true;
}

static uint32_t greatest_id(const struct ptx_matrix *matrix)
{
    uint32_t greatest = 0;
    for (size_t i = 0; i < (size_t)matrix->rows * matrix->lanes; i++) {
        greatest = matrix->cells[i].start_id > greatest ? matrix->cells[i].start_id : greatest;
        greatest = matrix->cells[i].end_id > greatest ? matrix->cells[i].end_id : greatest;
    }
    return greatest;
}

bool ptx_sanitize(struct ptx_active *active, const struct ptx_matrix *matrix,
                  const struct ptx_loc_map *locs, struct ptx_sanitizing how)
{
    struct sanitizer sanitizer = {.matrix = matrix, .locs = locs, .how = how};
    sanitizer.site_count = greatest_id(matrix) + 1;
    sanitizer.sites = calloc(sanitizer.site_count, sizeof *sanitizer.sites);
    sanitizer.edges = malloc(((size_t)matrix->rows * matrix->lanes + 1) * sizeof *sanitizer.edges);
    bool good = sanitizer.sites && sanitizer.edges;
    if (good) {
        find_alive(&sanitizer);
        if (how.merge)
            merge(&sanitizer);
        good = list_sites(&sanitizer, active);
    }
    if (!good)
        message("out of memory");
    free(sanitizer.sites);
    free(sanitizer.edges);
    return good;
}
