/* SPDX-License-Identifier: Apache-2.0 */
#include "ptx_sanitize.h"
#include "grow.h"
#include "message.h"
#include "ptx_instrument.h"
#include "ptx_walk.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- probes of a second run ------------------------------------------------------------------ */
/* What the launches of each map need, over all files of a folder. */

/* A map, and what its launches were like so far. */
struct needed {
    uint64_t hash;
    struct ptx_loc_map locs;
    struct ptx_sanitizer *sanitizer;
};

struct second_pass {
    struct ptx_sanitizing how;
    struct needed *maps;
    uint32_t count, room;
    bool failed; /* a message was given */
};

static bool ptx_second_pass_begin(struct needed *needed, const struct ptx_map *map,
                                  struct ptx_sanitizing how)
{
    *needed = (struct needed){.hash = map->hash};
    needed->sanitizer = ptx_sanitizer_new(how);
    return needed->sanitizer && ptx_map_locs(map, &needed->locs);
}

/* NULL with the message given. */
static struct needed *ptx_second_pass_find(struct second_pass *pass, const struct ptx_map *map)
{
    for (uint32_t i = pass->count; i-- > 0;)
        if (pass->maps[i].hash == map->hash)
            return &pass->maps[i];
    if (!GROW_ARRAY(pass->maps, pass->room, pass->count + 1)) {
        message("out of memory");
        return NULL;
    }
    struct needed *needed = &pass->maps[pass->count++];
    return ptx_second_pass_begin(needed, map, pass->how) ? needed : NULL;
}

static bool ptx_second_pass_take_launch(void *context, const struct ptx_launch *launch,
                                        const struct ptx_map *map, const struct ptx_matrix *matrix)
{
    struct second_pass *pass = context;
    (void)launch;
    if (!matrix || matrix->rows == 0)
        return true;
    struct needed *needed = ptx_second_pass_find(pass, map);
    pass->failed = !needed || !ptx_sanitizer_add(needed->sanitizer, matrix);
    if (!pass->failed && matrix->dropped)
        ptx_sanitizer_keep_dead(needed->sanitizer);
    return !pass->failed;
}

static bool write_lists(const struct needed *needed, const char *to)
{
    struct ptx_active active = {{0}, {0}};
    char path[PATH_MAX];
    struct out out;
    int count = snprintf(path, sizeof path, "%s/%016" PRIx64 ".active.json", to, needed->hash);
    if (count < 0 || (size_t)count >= sizeof path) {
        message_plain("%s: this name is too long", to);
        return false;
    }
    bool good = ptx_sanitizer_lists(needed->sanitizer, &active, &needed->locs) &&
                out_open(&out, &(struct out_options){path, true}, (struct operands){0});
    if (good) {
        ptx_active_write(&out, &active);
        good = out_close(&out) == EXIT_GOOD;
    }
    ptx_active_free(&active);
    return good;
}

static bool write_all_lists(const struct second_pass *pass, const char *to)
{
    bool good = !pass->failed && ptx_make_folder(to);
    for (uint32_t i = 0; i < pass->count && good; i++)
        good = write_lists(&pass->maps[i], to);
    return good;
}

enum exit_code ptx_folder_active(const char *folder, const char *to, struct ptx_sanitizing how,
                                 uint32_t *count_out)
{
    struct second_pass pass = {.how = how};
    struct ptx_walk walk = {
        .path = folder, .context = &pass, .launch = ptx_second_pass_take_launch};
    bool good = ptx_walk_begin(&walk);
    *count_out = 0;
    if (good) {
        ptx_walk_launches(&walk);
        if (pass.count == 0 && !pass.failed)
            message_plain("%s: no launch with records is in it", folder);
        good = pass.count > 0 && write_all_lists(&pass, to);
        *count_out = good ? pass.count : 0;
    }
    for (uint32_t i = 0; i < pass.count; i++) {
        ptx_sanitizer_free(pass.maps[i].sanitizer);
        ptx_loc_map_free(&pass.maps[i].locs);
    }
    free(pass.maps);
    ptx_walk_end(&walk);
    return !good ? EXIT_BAD_DATA : walk.refused ? EXIT_PARTIAL : EXIT_GOOD;
}

/* ---- sanitising ------------------------------------------------------------------------------ */

/* What is known of each probe, by its number. */
struct site {
    bool starts, ends; /* it did, in some record */
    bool merged_start, merged_end;
    uint32_t sources, targets; /* edges that leave and reach it */
};

struct edge {
    uint32_t from, to;
};

struct ptx_sanitizer {
    struct ptx_sanitizing how;
    struct site *sites;
    uint32_t site_count;
    struct edge *edges; /* each once, but for those of the matrix that is added */
    size_t edge_count, edge_room;
};

static void find_alive(struct ptx_sanitizer *sanitizer, const struct ptx_matrix *matrix)
{
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
static bool ends_before(const struct ptx_sanitizer *sanitizer, const struct ptx_matrix *matrix,
                        uint32_t row, uint32_t lane)
{
    const struct ptx_cell *cell = ptx_matrix_at(matrix, row, lane);
    if (sanitizer->how.compat)
        return row > 0 && cell->start_id == 0;
    return cell->start == 0;
}

static void collect_lane(struct ptx_sanitizer *sanitizer, const struct ptx_matrix *matrix,
                         uint32_t lane)
{
    for (uint32_t row = 0; row + 1 < matrix->rows; row++) {
        if (ends_before(sanitizer, matrix, row, lane) ||
            ends_before(sanitizer, matrix, row + 1, lane))
            return;
        sanitizer->edges[sanitizer->edge_count++] =
            (struct edge){ptx_matrix_at(matrix, row, lane)->end_id,
                          ptx_matrix_at(matrix, row + 1, lane)->start_id};
    }
}

static int by_ends(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;
    return x->from != y->from ? (x->from > y->from) - (x->from < y->from)
                              : (x->to > y->to) - (x->to < y->to);
}

/* Each edge once. */
static void keep_edges(struct ptx_sanitizer *sanitizer)
{
    size_t kept = 0;
    if (sanitizer->edge_count > 1)
        qsort(sanitizer->edges, sanitizer->edge_count, sizeof *sanitizer->edges, by_ends);
    for (size_t i = 0; i < sanitizer->edge_count; i++)
        if (i == 0 || by_ends(&sanitizer->edges[i], &sanitizer->edges[i - 1]) != 0)
            sanitizer->edges[kept++] = sanitizer->edges[i];
    sanitizer->edge_count = kept;
}

static bool one_line(const struct ptx_loc_map *locs, struct edge edge)
{
    bool from_known, to_known;
    int64_t from = ptx_loc_map_find(locs, edge.from, &from_known);
    int64_t to = ptx_loc_map_find(locs, edge.to, &to_known);
    return from_known && to_known && from == to;
}

static void merge_probes(struct ptx_sanitizer *sanitizer, const struct ptx_loc_map *locs)
{
    for (size_t i = 0; i < sanitizer->edge_count; i++) {
        sanitizer->sites[sanitizer->edges[i].from].sources++;
        sanitizer->sites[sanitizer->edges[i].to].targets++;
    }
    for (size_t i = 0; i < sanitizer->edge_count; i++) {
        struct edge edge = sanitizer->edges[i];
        if (sanitizer->sites[edge.from].sources != 1 || sanitizer->sites[edge.to].targets != 1 ||
            !one_line(locs, edge))
            continue;
        sanitizer->sites[edge.from].merged_end = true;
        sanitizer->sites[edge.to].merged_start = true;
    }
}

/* ---- lists ----------------------------------------------------------------------------- */

static bool list_sites(const struct ptx_sanitizer *sanitizer, const struct ptx_loc_map *locs,
                       struct ptx_active *active)
{
    static const struct site never;
    bool dead = sanitizer->how.dead;
    for (uint32_t i = 0; i < locs->count; i++) {
        uint32_t id = locs->entries[i].id;
        const struct site *site = id < sanitizer->site_count ? &sanitizer->sites[id] : &never;
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

/* ---- all of it --------------------------------------------------------------------------- */

struct ptx_sanitizer *ptx_sanitizer_new(struct ptx_sanitizing how)
{
    struct ptx_sanitizer *sanitizer = calloc(1, sizeof *sanitizer);
    if (sanitizer)
        sanitizer->how = how;
    else
        message("out of memory");
    return sanitizer;
}

void ptx_sanitizer_free(struct ptx_sanitizer *sanitizer)
{
    if (!sanitizer)
        return;
    free(sanitizer->sites);
    free(sanitizer->edges);
    free(sanitizer);
}

bool ptx_sanitizer_add(struct ptx_sanitizer *sanitizer, const struct ptx_matrix *matrix)
{
    size_t cells = (size_t)matrix->rows * matrix->lanes;
    uint32_t room = sanitizer->site_count, sites = greatest_id(matrix) + 1;
    if (!GROW_ZEROED(sanitizer->sites, room, sites) ||
        !grow_array(&sanitizer->edges, &sanitizer->edge_room, sanitizer->edge_count + cells,
                    sizeof *sanitizer->edges))
        return message_fail("out of memory");
    sanitizer->site_count = room;
    find_alive(sanitizer, matrix);
    for (uint32_t lane = 0; sanitizer->how.merge && lane < matrix->lanes; lane++)
        collect_lane(sanitizer, matrix, lane);
    keep_edges(sanitizer);
    return true;
}

void ptx_sanitizer_keep_dead(struct ptx_sanitizer *sanitizer)
{
    sanitizer->how.dead = false;
}

bool ptx_sanitizer_lists(struct ptx_sanitizer *sanitizer, struct ptx_active *active,
                         const struct ptx_loc_map *locs)
{
    merge_probes(sanitizer, locs);
    if (list_sites(sanitizer, locs, active))
        return true;
    return message_fail("out of memory");
}

bool ptx_sanitize(struct ptx_active *active, const struct ptx_matrix *matrix,
                  const struct ptx_loc_map *locs, struct ptx_sanitizing how)
{
    struct ptx_sanitizer *sanitizer = ptx_sanitizer_new(how);
    bool good = sanitizer && ptx_sanitizer_add(sanitizer, matrix) &&
                ptx_sanitizer_lists(sanitizer, active, locs);
    ptx_sanitizer_free(sanitizer);
    return good;
}
