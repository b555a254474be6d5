/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows, their summaries and their tiles.
 *
 * Levels of a summary differ by a factor of 4. A level is written as one
 * element: for each row where its first cell begins, how many there are and
 * how wide they are, then of all cells the columns begun, main kind and busy
 * share. Each row has its own width: a span with a time that makes no sense
 * spoils the summary of its row and no other.
 */
#include "page_timeline.h"

#include "grow.h"
#include "message.h"

#include <stdlib.h>

/* ---- what spans are, numbered ---------------------------------------------------------------- */
/*
 * A category, an item and a name.
 *
 * One kind is one colour and one row of the page's tables.
 *
 * Kinds by a hash table at most half full.
 */

static uint32_t *find_cell(const struct kinds *kinds, uint8_t category, uint32_t item,
                           uint32_t name)
{
    uint32_t hash = (name * 0x9e3779b1u ^ item) * 0x85ebca6bu + category;
    for (uint32_t at = hash ^ hash >> 15;; at++) {
        uint32_t *cell = &kinds->cells[at & (kinds->cell_count - 1)];
        if (*cell == 0)
            return cell;
        const struct kind *kind = &kinds->list[*cell - 1];
        if (kind->name == name && kind->item == item && kind->category == category)
            return cell;
    }
}

static bool grow(struct kinds *kinds)
{
    uint32_t count = kinds->cell_count ? kinds->cell_count * 2 : 256;
    uint32_t *cells = calloc(count, sizeof *cells);
    struct kind *list = realloc(kinds->list, count / 2 * sizeof *list);
    if (list)
        kinds->list = list;
    if (!cells || !list) {
        free(cells);
        return false;
    }
    free(kinds->cells);
    kinds->cells = cells;
    kinds->cell_count = count;
    kinds->room = count / 2;
    for (uint32_t i = 0; i < kinds->count; i++)
        *find_cell(kinds, list[i].category, list[i].item, list[i].name) = i + 1;
    return true;
}

uint32_t kinds_number(struct kinds *kinds, const struct trace_span *span)
{
    if (kinds->count == kinds->room && !grow(kinds))
        return UINT32_MAX;
    uint32_t *cell = find_cell(kinds, span->category, span->item, span->name);
    if (*cell == 0) {
        kinds->list[kinds->count++] =
            (struct kind){.name = span->name, .item = span->item, .category = span->category};
        *cell = kinds->count;
    }
    return *cell - 1;
}

void kinds_free(struct kinds *kinds)
{
    free(kinds->list);
    free(kinds->cells);
}

/* ---- page timeline --------------------------------------------------------------------------- */

enum { LEVEL_SHIFT = 2, LEVEL_CELLS_LEAST = 256, NO_KIND = 0xffff, FULL = 255 };

void timeline_start(struct timeline *timeline)
{
    timeline->row_cells = SUMMARY_ROW_CELLS;
    detail_start(&timeline->detail);
}

void timeline_stop(struct timeline *timeline)
{
    for (uint32_t i = 0; i < timeline->row_count; i++) {
        summary_free(&timeline->rows[i].summary);
        free(timeline->rows[i].waiting);
    }
    for (uint32_t i = 0; i < timeline->link_room; i++)
        free(timeline->links[i].waiting);
    free(timeline->rows);
    free(timeline->links);
    detail_stop(&timeline->detail);
}

static void fail(struct timeline *timeline)
{
    if (!timeline->failed)
        message("out of memory; the report's timeline is not whole");
    timeline->failed = true;
}

/* ---- rows -------------------------------------------------------------------- */

static bool grow_rows(struct timeline *timeline)
{
    return grow_array32(&timeline->rows, &timeline->row_room, timeline->row_count + 1,
                        sizeof *timeline->rows);
}

/* The more rows, the fewer cells for each. */
static void share_cells(struct timeline *timeline)
{
    while ((uint64_t)timeline->row_cells * timeline->row_count > SUMMARY_CELLS) {
        timeline->row_cells /= 2;
        for (uint32_t i = 0; i < timeline->row_count; i++)
            summary_limit(&timeline->rows[i].summary, timeline->row_cells);
    }
}

/* NULL when the page has no row for it. */
static struct timeline_row *find_row(struct timeline *timeline, uint32_t track, uint16_t lane,
                                     uint16_t depth)
{
    if (depth >= TIMELINE_DEPTHS)
        return NULL;
    uint32_t hash = (track * 0x9e3779b1u + lane) * 0x85ebca6bu + depth;
    uint16_t *cell;
    for (uint32_t at = hash ^ hash >> 15;; at++) {
        cell = &timeline->cells[at % TIMELINE_CELLS];
        if (*cell == 0)
            break;
        struct timeline_row *row = &timeline->rows[*cell - 1];
        if (row->track == track && row->lane == lane && row->depth == depth)
            return row;
    }
    if (timeline->row_count == TIMELINE_ROWS)
        return NULL;
    if (!grow_rows(timeline)) {
        fail(timeline);
        return NULL;
    }
    struct timeline_row *row = &timeline->rows[timeline->row_count++];
    *row = (struct timeline_row){.track = track, .lane = lane, .depth = depth};
    *cell = (uint16_t)timeline->row_count;
    share_cells(timeline);
    return row;
}

/* ---- spans and links --------------------------------------------------------- */

static void pass_waiting(struct timeline *timeline, struct timeline_row *row)
{
    detail_add_spans(&timeline->detail, (uint32_t)(row - timeline->rows), row->waiting,
                     row->waiting_count, row->has_more);
    row->waiting_count = 0;
}

/* A page adds up the steps inside a tile, exactly only as long as they are not too large. */
static bool is_far(const struct timeline_row *row, int64_t start_ns)
{
    return row->waiting_count > 0 &&
           (uint64_t)time_step_ns(row->waiting[0].start_ns, start_ns) >> 50;
}

/* At most, of a tile; a power of two, as rooms are. */
static uint32_t tile_spans(const struct timeline *timeline)
{
    uint32_t spans = DETAIL_TILE;
    while (spans > TIMELINE_TILE_LEAST && spans * timeline->row_count > TIMELINE_WAITING)
        spans /= 2;
    return spans;
}

static bool make_room(struct timeline *timeline, struct timeline_row *row, int64_t start_ns)
{
    if (row->waiting_count >= tile_spans(timeline) || is_far(row, start_ns))
        pass_waiting(timeline, row);
    return grow_array32(&row->waiting, &row->waiting_room, row->waiting_count + 1,
                        sizeof *row->waiting);
}

/* What a thread's call did, when the call itself comes late, is drawn below it all the same. */
static uint16_t depth_of(const struct trace_span *span)
{
    bool is_inside = span->category >= TRACE_AM && span->category <= TRACE_SUB_ITEM;
    return is_inside && span->depth == 0 ? 1 : span->depth;
}

static uint32_t page_flags(const struct trace_span *span)
{
    return (span->flags & TRACE_UNFINISHED ? DETAIL_UNFINISHED : 0u) |
           (span->flags & TRACE_OPEN ? DETAIL_OPEN : 0u) |
           (span->flags & TRACE_INSTANT ? DETAIL_INSTANT : 0u);
}

static struct detail_span page_span(const struct trace_span *span, const uint64_t *more,
                                    uint32_t kind)
{
    return (struct detail_span){.start_ns = span->start_ns,
                                .stop_ns = span->stop_ns,
                                .kind = kind,
                                .flags = page_flags(span),
                                .more = {more ? more[0] : 0, more ? more[1] : 0}};
}

void timeline_add_span(struct timeline *timeline, const struct trace_span *span,
                       const uint64_t *more, uint32_t kind)
{
    struct timeline_row *row = find_row(timeline, span->track, span->row, depth_of(span));
    if (!row) {
        timeline->hidden++;
        return;
    }
    row->spans++;
    row->has_more = more != NULL;
    if (!make_room(timeline, row, span->start_ns) ||
        !summary_add(&row->summary, timeline->row_cells, span->start_ns, span->stop_ns, kind)) {
        fail(timeline);
        return;
    }
    row->waiting[row->waiting_count++] = page_span(span, more, kind);
}

static struct timeline_links *links_to(struct timeline *timeline, uint32_t track)
{
    if (!grow_zeroed32(&timeline->links, &timeline->link_room, track + 1, sizeof *timeline->links))
        return NULL;
    struct timeline_links *links = &timeline->links[track];
    if (!links->waiting)
        links->waiting = malloc(DETAIL_TILE * sizeof *links->waiting);
    return links->waiting ? links : NULL;
}

static void pass_links(struct timeline *timeline, uint32_t track)
{
    struct timeline_links *links = &timeline->links[track];
    detail_add_links(&timeline->detail, track, links->waiting, links->count);
    links->count = 0;
}

void timeline_add_link(struct timeline *timeline, const struct trace_link *link)
{
    struct timeline_links *links = links_to(timeline, link->to_track);
    if (!links) {
        fail(timeline);
        return;
    }
    links->waiting[links->count++] =
        (struct detail_link){link->from_ns, link->to_ns, link->from_track};
    if (links->count == DETAIL_TILE)
        pass_links(timeline, link->to_track);
}

/* ---- writing ----------------------------------------------------------------- */

static uint8_t busy_share(const struct summary_cell *cell, unsigned shift)
{
    double share = (double)cell->busy_ns / (double)((uint64_t)1 << shift) * FULL;
    if (cell->begun > 0 && share < 1)
        return 1; /* something was there */
    return (uint8_t)(share > FULL ? FULL : share + 0.5);
}

/* A page with more kinds than fit into 16 bits shows the last ones in grey. */
static uint64_t cell_kind(const struct summary_cell *cell)
{
    uint32_t kind = summary_main_kind(cell);
    return kind < NO_KIND ? kind : NO_KIND;
}

static bool write_level(const struct timeline *timeline, struct page_data *data, unsigned level,
                        int64_t origin_ns)
{
    struct byte_buffer bytes = {0};
    for (uint32_t i = 0; i < timeline->row_count; i++) {
        const struct summary_row *row = &timeline->rows[i].summary;
        int64_t start_ns = (int64_t)((uint64_t)row->first << row->shift);
        buffer_double(&bytes, time_step_about(origin_ns, start_ns));
        buffer_le(&bytes, row->count, 4);
        buffer_le(&bytes, row->shift, 4);
    }
#define COLUMN(expression, size)                                                                   \
    for (uint32_t i = 0; i < timeline->row_count; i++)                                             \
        for (uint32_t j = 0; j < timeline->rows[i].summary.count; j++) {                           \
            const struct summary_cell *cell = &timeline->rows[i].summary.cells[j];                 \
            buffer_le(&bytes, expression, size);                                                   \
        }
    COLUMN(cell->begun, 4)
    COLUMN(cell_kind(cell), 2)
    COLUMN(busy_share(cell, timeline->rows[i].summary.shift), 1)
#undef COLUMN
    bool good = page_data_element(data, "cells", level, &bytes);
    buffer_free(&bytes);
    return good;
}

static uint32_t longest_row(const struct timeline *timeline)
{
    uint32_t longest = 0;
    for (uint32_t i = 0; i < timeline->row_count; i++)
        if (timeline->rows[i].summary.count > longest)
            longest = timeline->rows[i].summary.count;
    return longest;
}

bool timeline_write(struct timeline *timeline, struct page_data *data, uint64_t budget_bytes,
                    struct detail_taken *taken, unsigned *levels_out)
{
    for (uint32_t i = 0; i < timeline->row_count; i++)
        pass_waiting(timeline, &timeline->rows[i]);
    for (uint32_t i = 0; i < timeline->link_room; i++)
        pass_links(timeline, i);
    bool good = !timeline->failed;
    for (*levels_out = 0; good;) {
        good = write_level(timeline, data, (*levels_out)++, taken->first_ns);
        if (longest_row(timeline) <= LEVEL_CELLS_LEAST)
            break;
        for (uint32_t i = 0; i < timeline->row_count; i++)
            summary_coarsen(&timeline->rows[i].summary,
                            timeline->rows[i].summary.shift + LEVEL_SHIFT);
    }
    return detail_write(&timeline->detail, data, budget_bytes, taken) && good;
}
