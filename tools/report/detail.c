/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes tiles, keeps them in a temporary file, chooses, and writes.
 *
 * A tile of spans has three columns: the step from the start before (zigzag;
 * the first counts from the tile's first time), the duration, kind * 8 +
 * flags; on rows of GPUs two more, the uncertainty of start and stop. One of links: the step of
 * to_ns likewise, to_ns - from_ns (zigzag), the track. Columns of like numbers deflate to about
 * half of mixed ones.
 */
#include "detail.h"
#include "message.h"
#include "temporary_file.h"
#include "grow.h"

#include <errno.h>
#include <unistd.h>

enum { SPOOL_BYTES = 1 << 20, ELEMENT_CHARACTERS = 4 << 20 };

void detail_start(struct detail *detail)
{
    *detail = (struct detail){.fd = -1};
}

void detail_stop(struct detail *detail)
{
    if (detail->fd >= 0)
        close(detail->fd);
    buffer_free(&detail->spool);
    buffer_free(&detail->column);
    free(detail->tiles);
}

static void fail(struct detail *detail, const char *why)
{
    if (!detail->failed)
        message("single spans are missing in the report: %s", why);
    detail->failed = true;
}

/* ---- making tiles ------------------------------------------------------------ */

static void write_spool(struct detail *detail)
{
    if (detail->fd < 0)
        detail->fd = temporary_file();
    if (detail->fd < 0)
        fail(detail, "there is no temporary file");
    else if (!write_all(detail->fd, (const char *)detail->spool.bytes, detail->spool.used))
        fail(detail, "the temporary file cannot be written (set TMPDIR to a larger folder)");
    detail->spool.used = 0;
}

static void add_tile(struct detail *detail, struct detail_tile tile)
{
    if (!grow_array(&detail->tiles, &detail->room, detail->count + 1, sizeof *detail->tiles)) {
        fail(detail, "out of memory");
        return;
    }
    tile.offset = detail->bytes;
    tile.bytes = (uint32_t)detail->column.used;
    uint8_t *at = buffer_room(&detail->spool, tile.bytes);
    if (!at || detail->column.failed) {
        fail(detail, "out of memory");
        return;
    }
    memcpy(at, detail->column.bytes, tile.bytes);
    detail->spool.used += tile.bytes;
    detail->bytes += tile.bytes;
    detail->tiles[detail->count++] = tile;
    if (detail->spool.used >= SPOOL_BYTES)
        write_spool(detail);
}

void detail_add_spans(struct detail *detail, uint32_t row, const struct detail_span *spans,
                      uint32_t count, bool has_more)
{
    if (count == 0 || detail->failed)
        return;
    struct byte_buffer *column = &detail->column;
    struct detail_tile tile = {
        .first_ns = spans[0].start_ns, .last_ns = spans[0].stop_ns, .owner = row, .count = count};
    for (uint32_t i = 0; i < count; i++) {
        tile.first_ns = spans[i].start_ns < tile.first_ns ? spans[i].start_ns : tile.first_ns;
        tile.last_ns = spans[i].stop_ns > tile.last_ns ? spans[i].stop_ns : tile.last_ns;
    }
    int64_t before_ns = tile.first_ns;
    column->used = 0;
    for (uint32_t i = 0; i < count; before_ns = spans[i++].start_ns)
        buffer_zigzag(column, time_step_ns(before_ns, spans[i].start_ns));
    for (uint32_t i = 0; i < count; i++)
        buffer_varint(column, (uint64_t)time_step_ns(spans[i].start_ns, spans[i].stop_ns));
    for (uint32_t i = 0; i < count; i++)
        buffer_varint(column, (uint64_t)spans[i].kind << 3 | spans[i].flags);
    for (uint32_t i = 0; i < 2 * count && has_more; i++)
        buffer_varint(column, spans[i % count].more[i / count]);
    add_tile(detail, tile);
}

void detail_add_links(struct detail *detail, uint32_t to_track, const struct detail_link *links,
                      uint32_t count)
{
    if (count == 0 || detail->failed)
        return;
    struct byte_buffer *column = &detail->column;
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
    column->used = 0;
    for (uint32_t i = 0; i < count; before_ns = links[i++].to_ns)
        buffer_zigzag(column, time_step_ns(before_ns, links[i].to_ns));
    for (uint32_t i = 0; i < count; i++)
        buffer_zigzag(column, time_step_ns(links[i].from_ns, links[i].to_ns));
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
    struct byte_buffer tile, index;
    uint64_t indexed;
};

static bool read_tile(struct detail_writer *writer, const struct detail_tile *tile)
{
    uint8_t *at;
    writer->tile.used = 0;
    at = buffer_room(&writer->tile, tile->bytes);
    if (!at) {
        fail(writer->detail, "out of memory");
        return false;
    }
    for (size_t got = 0; got < tile->bytes;) {
        ssize_t count =
            pread(writer->detail->fd, at + got, tile->bytes - got, (off_t)(tile->offset + got));
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0) {
            fail(writer->detail, "the temporary file cannot be read");
            return false;
        }
        got += (size_t)count;
    }
    return true;
}

/* Where it is: the page reads these numbers back (page.js). */
static void index_tile(struct detail_writer *writer, const struct detail_tile *tile,
                       size_t characters)
{
    struct byte_buffer *index = &writer->index;
    buffer_double(index, time_step_about(writer->taken->first_ns, tile->first_ns));
    buffer_double(index, time_step_about(writer->taken->first_ns, tile->last_ns));
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
static unsigned spread(unsigned number)
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
        if (!take_window(writer, spread(i)))
            return false;
    return true;
}

bool detail_write(struct detail *detail, struct page_data *data, uint64_t budget_bytes,
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
