/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel_tracks.h"
#include "id_texts.h"
#include "table_bind.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- columns ---------------------------------------------------------------- */

void kernel_columns_find(struct kernel_columns *columns, const struct rbwp_schema *schema)
{
    uint16_t lane[COLUMNS_lane_span], event[COLUMNS_device_event], block[COLUMNS_kernel_block];
    const bool lanes = table_bind(schema, KNOWN_lane_span, lane);
    const bool events = table_bind(schema, KNOWN_device_event, event);
    const bool blocks = table_bind(schema, KNOWN_kernel_block, block);
#define ANY(name)                                                                                  \
    (lanes    ? lane[AT_lane_span_##name]                                                          \
     : events ? event[AT_device_event_##name]                                                      \
              : block[AT_kernel_block_##name])
    *columns = (struct kernel_columns){
        .table = lanes    ? KERNEL_LANES
                 : events ? KERNEL_EVENTS
                 : blocks ? KERNEL_BLOCKS
                          : KERNEL_NONE,
        .processor = ANY(processor),
        .launch = ANY(launch),
        .bound = ANY(bound),
        .kind = lane[AT_lane_span_kind],
        .group = lane[AT_lane_span_group],
        .block = lanes ? lane[AT_lane_span_block] : block[AT_kernel_block_block],
        .sm = lanes ? lane[AT_lane_span_sm] : block[AT_kernel_block_sm],
        .program = event[AT_device_event_program],
        .xcc = event[AT_device_event_xcc],
        .cu = event[AT_device_event_cu],
        .thread = block[AT_kernel_block_thread],
        .warp = block[AT_kernel_block_warp]};
#undef ANY
}

bool kernel_columns_hide(const struct kernel_columns *columns, uint16_t column)
{
    return columns->table != KERNEL_NONE &&
           (column == columns->processor || column == columns->kind || column == columns->bound ||
            column == columns->group || column == columns->xcc || column == columns->cu ||
            column == columns->launch || column == columns->sm || column == columns->warp);
}

/* ---- tracks ------------------------------------------------------------------- */

struct kernel_track {
    uint64_t id;
    uint32_t parent, kind;
    uint32_t track; /* + 1; 0: a free cell */
};

/* The cell that has it, or the free one where it belongs. */
static struct kernel_track *kernel_tracks_cell_of(const struct kernel_tracks *tracks,
                                                  const struct kernel_track *wanted)
{
    uint64_t at =
        id_hash(wanted->id ^ (uint64_t)wanted->parent << 32 ^ (uint64_t)wanted->kind << 60);
    for (;; at++) {
        struct kernel_track *cell = &tracks->cells[at & (tracks->cell_count - 1)];
        if (!cell->track || (cell->id == wanted->id && cell->parent == wanted->parent &&
                             cell->kind == wanted->kind))
            return cell;
    }
}

static bool kernel_tracks_make_room(struct kernel_tracks *tracks)
{
    struct kernel_tracks larger = *tracks;
    if (2 * tracks->count < tracks->cell_count)
        return true;
    larger.cell_count = tracks->cell_count ? 2 * tracks->cell_count : 256;
    larger.cells = calloc(larger.cell_count, sizeof *larger.cells);
    if (!larger.cells) {
        tracks->failed = true;
        return false;
    }
    for (uint32_t i = 0; i < tracks->cell_count; i++)
        if (tracks->cells[i].track)
            *kernel_tracks_cell_of(&larger, &tracks->cells[i]) = tracks->cells[i];
    free(tracks->cells);
    *tracks = larger;
    return true;
}

/* The track that a cell is found by, if it is there already. */
static bool is_known(const struct kernel_tracks *tracks, const struct kernel_track *wanted,
                     uint32_t *track_out)
{
    if (!tracks->cell_count)
        return false;
    *track_out =
        kernel_tracks_cell_of(tracks, wanted)->track - 1; /* of a free cell: none, as it wraps */
    return *track_out != TRACE_NONE;
}

/* The track below parent, made if need be; parent itself where there are too many. */
static uint32_t below(struct kernel_tracks *tracks, uint32_t parent, enum trace_track_kind kind,
                      uint64_t id, struct trace_text name)
{
    const struct kernel_track wanted = {.id = id, .parent = parent, .kind = kind};
    uint32_t known;
    if (is_known(tracks, &wanted, &known))
        return known;
    if (trace_failed(tracks->trace) || !kernel_tracks_make_room(tracks) ||
        tracks->count == KERNEL_TRACKS_MAX)
        return parent;
    struct kernel_track *cell = kernel_tracks_cell_of(tracks, &wanted);
    *cell = wanted;
    cell->track =
        1 + trace_add_track_below(tracks->trace, parent,
                                  (struct trace_track){.kind = kind, .id = id, .name = name});
    tracks->count++;
    return cell->track - 1;
}

static uint32_t numbered(struct kernel_tracks *tracks, uint32_t parent, enum trace_track_kind kind,
                         const char *what, uint64_t number)
{
    char name[48];
    uint32_t known;
    if (is_known(tracks, &(struct kernel_track){.id = number, .parent = parent, .kind = kind},
                 &known))
        return known; /* nearly always: the name is not needed */
    snprintf(name, sizeof name, "%s %" PRIu64, what, number);
    return below(tracks, parent, kind, number, trace_text(name));
}

static uint32_t find(struct kernel_tracks *tracks, uint32_t gpu_track,
                     const struct kernel_place_row *row, struct trace_text group_name)
{
    char name[64];
    if (row->table == KERNEL_EVENTS) {
        uint32_t events = below(tracks, gpu_track, TRACE_LANE, 1, trace_text("events"));
        snprintf(name, sizeof name, "XCC%" PRIu64 "_CU%" PRIu64, row->xcc, row->cu);
        return below(tracks, events, TRACE_LANE, row->xcc << 32 ^ row->cu, trace_text(name));
    }
    bool blocks = row->table == KERNEL_BLOCKS;
    uint32_t lanes = below(tracks, gpu_track, TRACE_LANE, blocks ? 2 : 0,
                           trace_text(blocks ? "blocks" : "lanes"));
    uint32_t place = row->sm != UINT64_MAX
                         ? numbered(tracks, lanes, TRACE_SM, "SM", row->sm)
                         : numbered(tracks, lanes, TRACE_LANE, "block", row->block);
    if (blocks && row->sm != UINT64_MAX && row->warp != UINT64_MAX)
        return numbered(tracks, place, TRACE_LANE, "warp", row->warp);
    if (blocks)
        return numbered(tracks, place, TRACE_LANE, "thread", row->thread);
    if (!group_name.bytes)
        return numbered(tracks, place, TRACE_LANE, "group", row->group);
    return below(tracks, place, TRACE_LANE, row->group, group_name);
}

/* ---- those that were found last ---------------------------------------------- */

enum { PLACES = 4096 };

struct kernel_place {
    uint64_t processor, where, group;
    uint32_t kind;
    uint32_t track; /* + 1; 0: a free one */
};

/* What find looks at, but for names. */
static struct kernel_place kernel_tracks_place_of(const struct kernel_place_row *row)
{
    bool has_sm = row->sm != UINT64_MAX, by_warp = has_sm && row->warp != UINT64_MAX;
    struct kernel_place place = {.processor = row->processor, .kind = row->table * 4u};
    if (row->table == KERNEL_EVENTS) {
        place.where = row->xcc;
        place.group = row->cu;
        return place;
    }
    place.where = has_sm ? row->sm : row->block;
    place.group = row->group;
    place.kind += has_sm;
    if (row->table == KERNEL_BLOCKS) {
        place.group = by_warp ? row->warp : row->thread;
        place.kind += by_warp * 2u;
    }
    return place;
}

static struct kernel_place *kept_place(const struct kernel_tracks *tracks,
                                       const struct kernel_place *place)
{
    uint64_t mixed = place->where + (place->group << 20) + (place->processor << 40) + place->kind;
    return &tracks->places[mixed * UINT64_C(0x9e3779b97f4a7c15) >> 32 & (PLACES - 1)];
}

uint32_t kernel_tracks_known(const struct kernel_tracks *tracks, const struct kernel_place_row *row)
{
    const struct kernel_place wanted = kernel_tracks_place_of(row);
    const struct kernel_place *kept = tracks->places ? kept_place(tracks, &wanted) : NULL;
    bool found = kept && kept->track && kept->where == wanted.where &&
                 kept->group == wanted.group && kept->processor == wanted.processor &&
                 kept->kind == wanted.kind;
    return found ? kept->track - 1 : TRACE_NONE;
}

uint32_t kernel_tracks_find(struct kernel_tracks *tracks, uint32_t gpu_track,
                            const struct kernel_place_row *row, struct trace_text group_name)
{
    uint32_t track = find(tracks, gpu_track, row, group_name);
    struct kernel_place place = kernel_tracks_place_of(row);
    place.track = track + 1;
    if (!tracks->places && !(tracks->places = calloc(PLACES, sizeof *tracks->places)))
        tracks->failed = true;
    else
        *kept_place(tracks, &place) = place;
    return track;
}

void kernel_tracks_free(struct kernel_tracks *tracks)
{
    free(tracks->cells);
    free(tracks->places);
    *tracks = (struct kernel_tracks){0};
}
