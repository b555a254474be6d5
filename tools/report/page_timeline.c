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
#include "temporary_file.h"
#include "trace_link.h"
#include "trace_span.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- single spans and links, in tiles that the page unpacks when it shows them --------------- */
/*
 * All tiles go to a temporary file while the trace is read; only where they
 * are stays in memory. At the end those that the page has room for are
 * chosen by time: the run is cut into DETAIL_WINDOWS windows, and a window is
 * in the page with everything that touches it on all rows, or it is not.
 * First come the windows that were marked (the longest calls, losses), then
 * the first one, then others spread evenly over the run, until the budget is
 * used up.
 *
 * A tile is a row of numbers as varints, column after column.
 *
 * Makes tiles, keeps them in a temporary file, chooses, and writes.
 *
 * A tile of spans has three columns: the step from the start before (zigzag;
 * the first counts from the tile's first time), the duration, kind * 8 +
 * flags; on rows of GPUs two more, the uncertainty of start and stop. One of links: the step of
 * to_ns likewise, to_ns - from_ns (zigzag), the track. Columns of like numbers deflate to about
 * half of mixed ones.
 */

enum { SPOOL_BYTES = 1 << 20, ELEMENT_CHARACTERS = 4 << 20 };

static void detail_fail(struct detail *detail, const char *why)
{
    message_once(&detail->failed, "single spans are missing in the report: %s", why);
}

/* ---- making tiles ------------------------------------------------------------ */

static void write_spool(struct detail *detail)
{
    if (detail->fd < 0)
        detail->fd = temporary_file();
    if (detail->fd < 0)
        detail_fail(detail, "there is no temporary file");
    else if (!write_all(detail->fd, (const char *)detail->spool.bytes, detail->spool.count))
        detail_fail(detail, "the temporary file cannot be written (set TMPDIR to a larger folder)");
    detail->spool.count = 0;
}

static void add_tile(struct detail *detail, struct detail_tile tile)
{
    if (!grow_array(&detail->tiles, &detail->room, detail->count + 1, sizeof *detail->tiles)) {
        detail_fail(detail, "out of memory");
        return;
    }
    tile.offset = detail->bytes;
    tile.bytes = (uint32_t)detail->column.count;
    buffer_append(&detail->spool, detail->column.bytes, tile.bytes);
    if (detail->spool.failed || detail->column.failed) {
        detail_fail(detail, "out of memory");
        return;
    }
    detail->bytes += tile.bytes;
    detail->tiles[detail->count++] = tile;
    if (detail->spool.count >= SPOOL_BYTES)
        write_spool(detail);
}

/* Puts at most DETAIL_TILE spans into a tile. has_more: of a row with two more numbers a span. */
static void detail_add_spans(struct detail *detail, uint32_t row, const struct detail_span *spans,
                             uint32_t count, bool has_more)
{
    if (count == 0 || detail->failed)
        return;
    struct buffer *column = &detail->column;
    struct detail_tile tile = {
        .first_ns = spans[0].start_ns, .last_ns = spans[0].stop_ns, .owner = row, .count = count};
    for (uint32_t i = 0; i < count; i++) {
        tile.first_ns = spans[i].start_ns < tile.first_ns ? spans[i].start_ns : tile.first_ns;
        tile.last_ns = spans[i].stop_ns > tile.last_ns ? spans[i].stop_ns : tile.last_ns;
    }
    int64_t before_ns = tile.first_ns;
    column->count = 0;
    for (uint32_t i = 0; i < count; before_ns = spans[i++].start_ns)
        buffer_varint(column, zigzag(time_step_ns(before_ns, spans[i].start_ns)));
    for (uint32_t i = 0; i < count; i++)
        buffer_varint(column, (uint64_t)time_step_ns(spans[i].start_ns, spans[i].stop_ns));
    for (uint32_t i = 0; i < count; i++)
        buffer_varint(column, (uint64_t)spans[i].kind << 3 | spans[i].flags);
    for (uint32_t i = 0; i < 2 * count && has_more; i++)
        buffer_varint(column, spans[i % count].more[i / count]);
    add_tile(detail, tile);
}

static void detail_add_links(struct detail *detail, uint32_t to_track,
                             const struct detail_link *links, uint32_t count)
{
    if (count == 0 || detail->failed)
        return;
    struct buffer *column = &detail->column;
    struct detail_tile tile = {.first_ns = links[0].from_ns,
                               .last_ns = links[0].to_ns,
                               .owner = to_track,
                               .count = count,
                               .is_link = true};
    for (uint32_t i = 0; i < count; i++) {
        const struct detail_link *link = &links[i];
        int64_t first_ns = link->from_ns < link->to_ns ? link->from_ns : link->to_ns;
        int64_t last_ns = link->from_ns < link->to_ns ? link->to_ns : link->from_ns;
        tile.first_ns = first_ns < tile.first_ns ? first_ns : tile.first_ns;
        tile.last_ns = last_ns > tile.last_ns ? last_ns : tile.last_ns;
    }
    int64_t before_ns = tile.first_ns;
    column->count = 0;
    for (uint32_t i = 0; i < count; before_ns = links[i++].to_ns)
        buffer_varint(column, zigzag(time_step_ns(before_ns, links[i].to_ns)));
    for (uint32_t i = 0; i < count; i++)
        buffer_varint(column, zigzag(time_step_ns(links[i].from_ns, links[i].to_ns)));
    for (uint32_t i = 0; i < count; i++)
        buffer_varint(column, links[i].from_track);
    add_tile(detail, tile);
}

void detail_mark(struct detail *detail, int64_t time_ns)
{
    if (detail->mark_count < DETAIL_MARKS)
        detail->marks[detail->mark_count++] = time_ns;
}

/* ---- writing them ------------------------------------------------------------ */

struct detail_writer {
    struct detail *detail;
    struct page_data *data;
    struct detail_taken *taken;
    uint64_t budget_bytes, used_bytes;
    uint64_t elements;
    uint64_t in_element; /* characters in the open one */
    struct buffer tile, index;
    uint64_t indexed;
};

static bool read_tile(struct detail_writer *writer, const struct detail_tile *tile)
{
    uint8_t *at;
    writer->tile.count = 0;
    at = buffer_reserve(&writer->tile, tile->bytes);
    if (!at) {
        detail_fail(writer->detail, "out of memory");
        return false;
    }
    for (size_t got = 0; got < tile->bytes;) {
        ssize_t count =
            pread(writer->detail->fd, at + got, tile->bytes - got, (off_t)(tile->offset + got));
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0) {
            detail_fail(writer->detail, "the temporary file cannot be read");
            return false;
        }
        got += (size_t)count;
    }
    return true;
}

/* A double holds every integer to 2^53; larger ones are rounded. */
static void put_double(struct buffer *buffer, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    buffer_le(buffer, bits, sizeof bits);
}

/* Where it is: the page reads these numbers back (page.js). */
static void index_tile(struct detail_writer *writer, const struct detail_tile *tile,
                       size_t characters)
{
    struct buffer *index = &writer->index;
    put_double(index, time_step_about(writer->taken->first_ns, tile->first_ns));
    put_double(index, time_step_about(writer->taken->first_ns, tile->last_ns));
    buffer_le(index, tile->owner, 4);
    buffer_le(index, tile->count | (uint32_t)tile->is_link << 31, 4);
    buffer_le(index, writer->elements - 1, 4);
    buffer_le(index, writer->in_element, 4);
    buffer_le(index, characters, 4);
    buffer_le(index, 0, 4);
}

static bool write_tile(struct detail_writer *writer, struct detail_tile *tile)
{
    if (!read_tile(writer, tile) || !page_data_pack(writer->data, writer->tile.bytes, tile->bytes))
        return false;
    if (writer->elements == 0 || writer->in_element >= ELEMENT_CHARACTERS) {
        if (writer->elements > 0)
            page_data_close(writer->data);
        page_data_open(writer->data, "tiles", writer->elements++);
        writer->in_element = 0;
    }
    size_t characters = page_data_put(writer->data);
    index_tile(writer, tile, characters);
    writer->in_element += characters;
    writer->used_bytes += characters;
    *(tile->is_link ? &writer->taken->links : &writer->taken->spans) += tile->count;
    tile->taken = true;
    return !out_failed(writer->data->out);
}

/* The last window ends after the run. */
static uint64_t window_width_ns(const struct detail_taken *taken)
{
    return (uint64_t)time_step_ns(taken->first_ns, taken->last_ns) / DETAIL_WINDOWS + 1;
}

static unsigned window_of(const struct detail_taken *taken, int64_t time_ns)
{
    if (time_ns <= taken->first_ns)
        return 0;
    uint64_t window = (uint64_t)time_step_ns(taken->first_ns, time_ns) / window_width_ns(taken);
    return window < DETAIL_WINDOWS ? (unsigned)window : DETAIL_WINDOWS - 1;
}

/* Packed sizes are not known before; a quarter less than what is spooled is a cautious guess, and
 * base64 adds a third. */
static uint64_t guess_characters(const struct detail_writer *writer, unsigned window)
{
    uint64_t bytes = 0;
    const struct detail *detail = writer->detail;
    for (size_t i = 0; i < detail->count; i++) {
        const struct detail_tile *tile = &detail->tiles[i];
        if (!tile->taken && window_of(writer->taken, tile->first_ns) <= window &&
            window <= window_of(writer->taken, tile->last_ns))
            bytes += tile->bytes;
    }
    return bytes;
}

static bool take_window(struct detail_writer *writer, unsigned window)
{
    struct detail *detail = writer->detail;
    if (writer->taken->windows[window])
        return true;
    if (writer->used_bytes + guess_characters(writer, window) > writer->budget_bytes)
        return true; /* a smaller one may still fit */
    for (size_t i = 0; i < detail->count; i++) {
        struct detail_tile *tile = &detail->tiles[i];
        if (!tile->taken && window_of(writer->taken, tile->first_ns) <= window &&
            window <= window_of(writer->taken, tile->last_ns) && !write_tile(writer, tile))
            return false;
    }
    writer->taken->windows[window] = 1;
    return true;
}

/* 0, 128, 64, 192, 32 ...: however many are taken, they are spread evenly. */
static unsigned timeline_spread(unsigned number)
{
    unsigned window = 0;
    for (unsigned bit = DETAIL_WINDOWS / 2; bit > 0; bit /= 2, number /= 2)
        window += number & 1 ? bit : 0;
    return window;
}

/* Marks may use half of the budget. */
static bool take_windows(struct detail_writer *writer)
{
    const struct detail *detail = writer->detail;
    uint64_t whole_bytes = writer->budget_bytes;
    writer->budget_bytes /= 2;
    for (uint32_t i = 0; i < detail->mark_count; i++)
        if (!take_window(writer, window_of(writer->taken, detail->marks[i])))
            return false;
    writer->budget_bytes = whole_bytes;
    for (unsigned i = 0; i < DETAIL_WINDOWS; i++)
        if (!take_window(writer, timeline_spread(i)))
            return false;
    return true;
}

/*
 * Writes the tiles of the windows that fit into budget_bytes of the page as elements tiles0, tiles1
 * ..., and then where they are, as the element index0. taken has first_ns and last_ns set.
 */
static bool detail_write(struct detail *detail, struct page_data *data, uint64_t budget_bytes,
                         struct detail_taken *taken)
{
    struct detail_writer writer = {
        .detail = detail, .data = data, .taken = taken, .budget_bytes = budget_bytes};
    write_spool(detail);
    bool good = !detail->failed && take_windows(&writer);
    if (writer.elements > 0)
        page_data_close(data);
    good = page_data_element(data, "index", 0, &writer.index) && good;
    taken->all = good;
    for (size_t i = 0; i < detail->count; i++)
        taken->all = taken->all && detail->tiles[i].taken;
    buffer_free(&writer.tile);
    buffer_free(&writer.index);
    return good;
}

/* ---- what spans are, numbered ---------------------------------------------------------------- */
/*
 * A category, an item and a name.
 *
 * One kind is one colour and one row of the page's tables.
 */

uint32_t kinds_number(struct kinds *kinds, const struct trace_span *span)
{
    uint64_t hash = hash_pair((uint64_t)span->item << 32 | span->name, span->category);
    for (uint32_t step = 0, i; (i = index_map_next(&kinds->places, hash, &step)) != INDEX_NONE;) {
        const struct kind *kind = &kinds->list[i];
        if (kind->name == span->name && kind->item == span->item &&
            kind->category == span->category)
            return i;
    }
    if (!GROW_ARRAY(kinds->list, kinds->room, kinds->count + 1) ||
        !index_map_add(&kinds->places, hash, kinds->count))
        return UINT32_MAX;
    kinds->list[kinds->count] =
        (struct kind){.name = span->name, .item = span->item, .category = span->category};
    return kinds->count++;
}

void kinds_free(struct kinds *kinds)
{
    free(kinds->list);
    index_map_free(&kinds->places);
}

/* ---- page timeline --------------------------------------------------------------------------- */

enum { LEVEL_SHIFT = 2, LEVEL_CELLS_LEAST = 256, NO_KIND = 0xffff, FULL = 255 };

void timeline_start(struct timeline *timeline)
{
    timeline->row_cells = SUMMARY_ROW_CELLS;
    timeline->detail = (struct detail){.fd = -1};
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
    if (timeline->detail.fd >= 0)
        close(timeline->detail.fd);
    buffer_free(&timeline->detail.spool);
    buffer_free(&timeline->detail.column);
    free(timeline->detail.tiles);
}

static void timeline_fail(struct timeline *timeline)
{
    message_once(&timeline->failed, "out of memory; the report's timeline is not whole");
}

/* ---- rows -------------------------------------------------------------------- */

/* NULL when the page has no row for it. */
static struct timeline_row *find_row(struct timeline *timeline, uint32_t track, uint16_t lane,
                                     uint16_t depth)
{
    if (depth >= TIMELINE_DEPTHS)
        return NULL;
    uint64_t key = (uint64_t)track << 32 | (uint32_t)lane << 16 | depth;
    uint16_t *cell;
    for (uint32_t at = hash_place(key);; at++) {
        cell = &timeline->cells[at % TIMELINE_CELLS];
        if (*cell == 0)
            break;
        struct timeline_row *row = &timeline->rows[*cell - 1];
        if (row->track == track && row->lane == lane && row->depth == depth)
            return row;
    }
    if (timeline->row_count == TIMELINE_ROWS)
        return NULL;
    if (!GROW_ARRAY(timeline->rows, timeline->row_room, timeline->row_count + 1)) {
        timeline_fail(timeline);
        return NULL;
    }
    struct timeline_row *row = &timeline->rows[timeline->row_count++];
    *row = (struct timeline_row){.track = track, .lane = lane, .depth = depth};
    *cell = (uint16_t)timeline->row_count;
    /* The more rows, the fewer cells for each. */
    while ((uint64_t)timeline->row_cells * timeline->row_count > SUMMARY_CELLS) {
        timeline->row_cells /= 2;
        for (uint32_t i = 0; i < timeline->row_count; i++)
            summary_limit(&timeline->rows[i].summary, timeline->row_cells);
    }
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

static bool timeline_make_room(struct timeline *timeline, struct timeline_row *row,
                               int64_t start_ns)
{
    if (row->waiting_count >= tile_spans(timeline) || is_far(row, start_ns))
        pass_waiting(timeline, row);
    return GROW_ARRAY(row->waiting, row->waiting_room, row->waiting_count + 1);
}

/* What a thread's call did, when the call itself comes late, is drawn below it all the same. */
static uint16_t depth_of(const struct trace_span *span)
{
    bool is_inside = span->category >= TRACE_AM && span->category <= TRACE_SUB_ITEM;
    return is_inside && span->depth == 0 ? 1 : span->depth;
}

static uint32_t page_flags(const struct trace_span *span, double used)
{
    if (used < 7. / 8 && !(span->flags & (TRACE_UNFINISHED | TRACE_INSTANT)))
        return used < 1. / 16  ? DETAIL_OFF_ALL
               : used < 3. / 8 ? DETAIL_OFF_MOST
               : used < 5. / 8 ? DETAIL_OFF_HALF
                               : DETAIL_OFF_QUARTER;
    return (span->flags & TRACE_UNFINISHED ? DETAIL_UNFINISHED : 0u) |
           (span->flags & TRACE_OPEN ? DETAIL_OPEN : 0u) |
           (span->flags & TRACE_INSTANT ? DETAIL_INSTANT : 0u);
}

static struct detail_span page_span(const struct trace_span *span, const uint64_t *more,
                                    uint32_t kind, double used)
{
    return (struct detail_span){.start_ns = span->start_ns,
                                .stop_ns = span->stop_ns,
                                .kind = kind,
                                .flags = page_flags(span, used),
                                .more = {more ? more[0] : 0, more ? more[1] : 0}};
}

/* What of a call was no time in which its thread was blocked, or ready to run. */
static double used_share(const struct trace_span *span, const struct trace_detail *detail)
{
    const struct trace_cpu cpu = trace_cpu_of(span, detail);
    const uint64_t off_ns = cpu.runnable_ns + cpu.waiting_ns;
    return span->category == TRACE_CALL && off_ns
               ? 1 - (double)off_ns / (double)trace_duration_ns(span)
               : 1;
}

void timeline_add_span(struct timeline *timeline, const struct trace_span *span,
                       const struct trace_detail *detail, const uint64_t *more, uint32_t kind)
{
    struct timeline_row *row = find_row(timeline, span->track, span->row, depth_of(span));
    if (!row) {
        timeline->hidden++;
        return;
    }
    const double used = used_share(span, detail);
    row->spans++;
    row->has_more = more != NULL;
    if (!timeline_make_room(timeline, row, span->start_ns) ||
        !summary_add(&row->summary, timeline->row_cells, span->start_ns, span->stop_ns, kind,
                     used)) {
        timeline_fail(timeline);
        return;
    }
    row->waiting[row->waiting_count++] = page_span(span, more, kind, used);
}

static struct timeline_links *links_to(struct timeline *timeline, uint32_t track)
{
    if (!GROW_ZEROED(timeline->links, timeline->link_room, track + 1))
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
        timeline_fail(timeline);
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
    struct buffer bytes = {0};
    for (uint32_t i = 0; i < timeline->row_count; i++) {
        const struct summary_row *row = &timeline->rows[i].summary;
        int64_t start_ns = (int64_t)((uint64_t)row->first << row->shift);
        put_double(&bytes, time_step_about(origin_ns, start_ns));
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
