/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Marks are believed when they fit the index of blocks, and what is to be read when its sums are
 * right: damage is for who reads the file whole.
 *
 * GPU work needs more than its own records: the latest call of its slot that began before it, which
 * may have launched it, and the call that did.
 */
#include "window.h"
#include "crc32c.h"
#include "file_tables.h"
#include "table_bind.h"
#include "thread_map.h"

#include <stdlib.h>
#include <unistd.h>

#define LAUNCH_STEP_MAX 16 /* intervals: work that nobody launched is looked for no further */
#define WORTH_PART 2 /* a window with more than this part of the records is read with the rest */

/* From a mark to the next. */
struct stretch {
    uint64_t records;
    int64_t first_ns, last_ns;
    bool wanted;
};

struct finding {
    struct window *window;
    struct input *input;
    const struct rbwp_trailer *trailer;
    struct stretch *stretches;
    uint32_t count;
    uint64_t *keys; /* of open items: thread, in the order of first blocks, and depth */
};

/* ---- what marks say ---------------------------------------------------------------------- */

/* Sums up the index from mark to mark. False: marks do not fit it. */
static bool sum_up(struct finding *finding)
{
    const struct rbwp_trailer *trailer = finding->trailer;
    uint32_t mark = 0, sum = 0;
    for (uint32_t i = 0; i < trailer->index_count; i++) {
        const struct rbwp_index_range *range = &trailer->index[i];
        if (range->offset == trailer->marks[mark].offset) {
            if (mark == finding->count || sum != trailer->marks[mark].crc32c)
                return false;
            mark++;
        }
        if (mark == 0 || range->offset > trailer->marks[mark].offset)
            return false;
        struct stretch *stretch = &finding->stretches[mark - 1];
        bool first = stretch->records == 0;
        if (range->records && (first || range->first_ns < stretch->first_ns))
            stretch->first_ns = range->first_ns;
        if (range->records && (first || range->last_ns > stretch->last_ns))
            stretch->last_ns = range->last_ns;
        stretch->records += range->records;
        sum = crc32c_combine(sum, range->crc32c, range->bytes);
    }
    const struct rbwp_index_range *last = &trailer->index[trailer->index_count - 1];
    const struct rbwp_mark *end = &trailer->marks[finding->count];
    return mark == finding->count && sum == end->crc32c &&
           last->bytes == end->offset - last->offset && end->open_count <= trailer->open_item_count;
}

/* How many spans there are before each mark: with every end its begin is there. */
static bool count_ids(struct finding *finding)
{
    const struct rbwp_trailer *trailer = finding->trailer;
    struct window *window = finding->window;
    uint64_t items = 0;
    for (uint32_t i = 0; i <= finding->count; i++) {
        if (items > trailer->open_item_count)
            return false;
        window->item_at[i] = (uint32_t)items;
        items += trailer->marks[i].open_count;
        if (i == 0)
            continue;
        const struct rbwp_mark *mark = &trailer->marks[i - 1];
        uint64_t records = finding->stretches[i - 1].records;
        int64_t grown = (int64_t)mark[1].open_count - (int64_t)mark->open_count;
        int64_t ends = (int64_t)(records - mark->gpu_works) - grown;
        if (records > INT64_MAX || mark->gpu_works > records || ends < 0 || ends % 2)
            return false;
        window->records[i] = window->records[i - 1] + records;
        window->ids[i] = window->ids[i - 1] + mark->gpu_works + (uint64_t)(ends / 2 + grown);
    }
    return items == trailer->open_item_count;
}

/* False: items are not in the order of threads, or of threads that nobody knows. */
static bool make_keys(struct finding *finding)
{
    const struct rbwp_trailer *trailer = finding->trailer;
    struct thread_map map = {0};
    bool good = true;
    for (uint32_t i = 0; i < trailer->first_block_count && good; i++)
        good = thread_map_number(&map, trailer->first_blocks[i].thread_id) == i &&
               (i == 0 || trailer->first_blocks[i].offset > trailer->first_blocks[i - 1].offset);
    for (uint32_t mark = 0; mark <= finding->count && good; mark++) {
        uint64_t before = 0;
        uint32_t at = finding->window->item_at[mark];
        for (uint32_t i = 0; i < trailer->marks[mark].open_count && good; i++) {
            uint64_t number = thread_map_find(&map, trailer->open_items[at + i].thread_id);
            uint64_t key = number + 1 == before >> 32 ? before + 1 : (number + 1) << 32;
            good = number != THREAD_NONE && key > before;
            before = finding->keys[at + i] = key;
        }
    }
    thread_map_free(&map);
    return good;
}

/* ---- which intervals --------------------------------------------------------------------- */

static bool has_gpu_work(const struct finding *finding, uint32_t stretch)
{
    const struct rbwp_mark *mark = &finding->trailer->marks[stretch];
    return mark->gpu_works && mark->gpu_first_ns < finding->window->to_ns &&
           mark->gpu_last_ns >= finding->window->from_ns - WINDOW_BIAS_NS;
}

/* Has records in the window. What only comes before it is over when it begins, what only comes
 * behind it begins when it is over. */
static bool is_inside(const struct finding *finding, uint32_t stretch)
{
    const struct stretch *one = &finding->stretches[stretch];
    return one->records && one->last_ns >= finding->window->from_ns &&
           one->first_ns < finding->window->to_ns;
}

static bool same_item(const struct rbwp_open_item *a, const struct rbwp_open_item *b)
{
    return a->begin_ns == b->begin_ns && a->id == b->id && a->kind == b->kind;
}

/* Whether something ends in the interval that began before the window's end. */
static bool has_end(const struct finding *finding, uint32_t stretch)
{
    const struct rbwp_open_item *items = finding->trailer->open_items;
    const uint32_t *item_at = finding->window->item_at;
    uint32_t next = item_at[stretch + 1];
    const uint32_t next_end = next + finding->trailer->marks[stretch + 1].open_count;
    for (uint32_t at = item_at[stretch]; at < item_at[stretch + 1]; at++) {
        while (next < next_end && finding->keys[next] < finding->keys[at])
            next++;
        bool still_open = next < next_end && finding->keys[next] == finding->keys[at] &&
                          same_item(&items[next], &items[at]);
        if (!still_open && items[at].begin_ns < finding->window->to_ns)
            return true;
    }
    return false;
}

/* ---- GPU work ---------------------------------------------------------------------------- */

/* Of work in the window, by slot. */
struct launches {
    int64_t needed_ns[RBWP_SLOTS_MAX]; /* INT64_MAX: none */
    int64_t known_ns[RBWP_SLOTS_MAX];  /* the first call after all that is not read */
};

static void see_launches(const struct window *window, const struct rbwp_block *block,
                         int64_t unread_ns, struct launches *launches)
{
    struct rbwp_record_iterator iterator;
    struct rbwp_record record;
    rbwp_record_first(block, &iterator);
    while (rbwp_record_next(&iterator, &record)) {
        int64_t *needed = &launches->needed_ns[record.slot];
        int64_t *known = &launches->known_ns[record.slot];
        if (record.kind == RBWP_COARSE_BEGIN && record.time_ns >= unread_ns &&
            record.time_ns < *known)
            *known = record.time_ns;
        if (record.kind == RBWP_GPU_WORK && record.start_ns < window->to_ns &&
            record.stop_ns >= window->from_ns - WINDOW_BIAS_NS && record.start_ns < *needed)
            *needed = record.start_ns;
    }
}

/* Whether, read from there on, each work finds the call before it that it finds in the whole file.
 */
static bool knows_launches(const struct finding *finding, uint32_t first, uint32_t end)
{
    struct launches launches;
    struct rbwp_reader *reader = finding->input->reader;
    struct rbwp_block block;
    int64_t unread_ns = INT64_MIN;
    for (int i = 0; i < RBWP_SLOTS_MAX; i++)
        launches.needed_ns[i] = launches.known_ns[i] = INT64_MAX;
    for (uint32_t i = 0; i < first; i++)
        if (finding->stretches[i].records && finding->stretches[i].last_ns > unread_ns)
            unread_ns = finding->stretches[i].last_ns;
    if (rbwp_reader_seek(reader, finding->trailer->marks[first].offset) != RBWP_OK)
        return false;
    while (rbwp_reader_next_block(reader, &block) == RBWP_OK &&
           block.offset < finding->trailer->marks[end].offset)
        see_launches(finding->window, &block, unread_ns, &launches);
    for (int i = 0; i < RBWP_SLOTS_MAX; i++)
        if (launches.needed_ns[i] < INT64_MAX && launches.known_ns[i] > launches.needed_ns[i])
            return false;
    return true;
}

/* Whether the table that begins there is about GPU work. */
static bool is_gpu_table(struct rbwp_reader *reader, uint64_t offset)
{
    struct rbwp_block block;
    struct rbwp_rows rows;
    struct rbwp_error error;
    bool is = true; /* who knows */
    if (rbwp_reader_seek(reader, offset) != RBWP_OK ||
        rbwp_reader_next_block(reader, &block) != RBWP_OK)
        return is;
    struct rbwp_catalog *catalog = rbwp_catalog_new();
    if (catalog && rbwp_catalog_take(catalog, &block, &rows, &error) == RBWP_END &&
        rbwp_catalog_schema_count(catalog) == 1)
        is = table_is(rbwp_catalog_schema(catalog, 0), KNOWN_gpu_activity);
    rbwp_catalog_free(catalog);
    return is;
}

/* What tables say of GPU work. */
struct gpu_rows {
    uint64_t rows;
    int64_t first_ns; /* no work in the window was launched earlier */
};

static struct gpu_rows see_gpu_rows(const struct finding *finding)
{
    const struct rbwp_trailer *trailer = finding->trailer;
    const struct window *window = finding->window;
    uint8_t *known = calloc(RBWP_TABLES_MAX + 1, 1); /* 1: it has no GPU work, 2: it has */
    struct gpu_rows seen = {.first_ns = known ? INT64_MAX : INT64_MIN};
    for (uint32_t i = 0; known && i < trailer->table_range_count; i++) {
        const struct rbwp_table_range *range = &trailer->table_ranges[i];
        if (range->table == 0 || range->table > RBWP_TABLES_MAX)
            continue;
        if (!known[range->table])
            known[range->table] = 1 + is_gpu_table(finding->input->reader, range->offset);
        if (known[range->table] != 2 || !range->rows)
            continue;
        seen.rows += range->rows;
        if (range->first_ns < window->to_ns && range->last_ns >= window->from_ns - WINDOW_BIAS_NS &&
            range->first_ns < seen.first_ns)
            seen.first_ns = range->first_ns;
    }
    free(known);
    return seen;
}

/* Work that has no row is given to the latest call of its slot that began before it, of those
 * that came last in the file: so nothing between is missed. */
static void want_calls_before(struct finding *finding, uint32_t first, uint32_t end)
{
    uint32_t step = 1;
    while (first > 0 && !knows_launches(finding, first, end)) {
        first -= step < first && step < LAUNCH_STEP_MAX ? step : first;
        step *= 2;
    }
    for (uint32_t i = first; i < end; i++)
        finding->stretches[i].wanted = true;
}

static void want_launches(struct finding *finding)
{
    uint64_t works = 0;
    uint32_t first = finding->count, end = 0;
    for (uint32_t i = 0; i < finding->count; i++) {
        works += finding->trailer->marks[i].gpu_works;
        if (!has_gpu_work(finding, i))
            continue;
        first = first < i ? first : i;
        end = i + 1;
    }
    if (end == 0)
        return;
    for (uint32_t i = 0; i < first; i++)
        if (finding->stretches[i].wanted)
            first = i;
    struct gpu_rows rows = see_gpu_rows(finding);
    for (uint32_t i = 0; i < finding->count; i++)
        if (finding->stretches[i].records && finding->stretches[i].last_ns >= rows.first_ns &&
            finding->stretches[i].first_ns < finding->window->to_ns)
            finding->stretches[i].wanted = true;
    if (works != rows.rows)
        want_calls_before(finding, first, end);
}

/* ---- parts ------------------------------------------------------------------------------- */

static bool add_part(struct window *window, uint64_t offset, uint64_t end, uint32_t mark)
{
    if (!GROW_ZEROED(window->parts, window->part_room, window->part_count + 1))
        return false;
    window->parts[window->part_count++] = (struct window_part){offset, end, mark};
    return true;
}

/* Of the ranges, what lies from *offset to end, and is no part yet. */
static bool add_tables(struct window *window, const struct rbwp_table_range *ranges, uint32_t count,
                       uint32_t *at, uint64_t offset, uint64_t end)
{
    for (uint32_t i = *at; i < count && ranges[i].offset < end; i++) {
        uint64_t from = ranges[i].offset < offset ? offset : ranges[i].offset;
        uint64_t to = ranges[i].offset + ranges[i].bytes;
        to = to > end ? end : to;
        if (i == *at && ranges[i].offset + ranges[i].bytes <= offset)
            ++*at;
        if (from >= to)
            continue;
        if (!add_part(window, from, to, WINDOW_TABLES))
            return false;
        offset = to;
    }
    return true;
}

static bool add_parts(const struct finding *finding)
{
    const struct rbwp_trailer *trailer = finding->trailer;
    uint32_t count = trailer->table_range_count, at = 0;
    struct rbwp_table_range *ranges = table_ranges_in_order(trailer);
    bool good = ranges;
    for (uint32_t i = 0; good && i < count; i++)
        good = ranges[i].bytes < UINT64_MAX / 2 && ranges[i].offset < UINT64_MAX / 2;
    for (uint32_t i = 0; good && i < finding->count; i++) {
        uint64_t offset = trailer->marks[i].offset, end = trailer->marks[i + 1].offset;
        good = finding->stretches[i].wanted
                   ? add_part(finding->window, offset, end, i)
                   : add_tables(finding->window, ranges, count, &at, offset, end);
    }
    free(ranges);
    return good;
}

static bool window_sum_is_right(struct input *input, const struct rbwp_index_range *range)
{
    enum { PIECE_BYTES = 64 << 10 };
    uint8_t *piece = malloc(PIECE_BYTES);
    uint32_t sum = 0;
    uint64_t done = 0;
    while (piece && done < range->bytes) {
        uint64_t left = range->bytes - done;
        ssize_t got = pread(input->fd, piece, left < PIECE_BYTES ? (size_t)left : PIECE_BYTES,
                            (off_t)(range->offset + done));
        if (got <= 0)
            break;
        sum = crc32c(sum, piece, (size_t)got);
        done += (uint64_t)got;
    }
    free(piece);
    return done == range->bytes && sum == range->crc32c;
}

static bool parts_are_good(const struct finding *finding)
{
    const struct window *window = finding->window;
    uint32_t part = 0;
    for (uint32_t i = 0; i < finding->trailer->index_count; i++) {
        const struct rbwp_index_range *range = &finding->trailer->index[i];
        while (part < window->part_count && window->parts[part].end <= range->offset)
            part++;
        if (part < window->part_count &&
            window->parts[part].offset < range->offset + range->bytes &&
            !window_sum_is_right(finding->input, range))
            return false;
    }
    return true;
}

/* ---- all of it --------------------------------------------------------------------------- */

static bool is_worth_it(const struct finding *finding)
{
    uint64_t records = 0;
    for (uint32_t i = 0; i < finding->count; i++)
        if (finding->stretches[i].wanted)
            records += finding->stretches[i].records;
    return records <= finding->window->records[finding->count] / WORTH_PART;
}

static bool find_parts(struct finding *finding)
{
    if (!sum_up(finding) || !count_ids(finding) || !make_keys(finding))
        return false;
    for (uint32_t i = 0; i < finding->count; i++)
        finding->stretches[i].wanted = is_inside(finding, i) || has_gpu_work(finding, i);
    /* Stretches behind the window in which something of it ends. */
    for (uint32_t i = 0; i < finding->count; i++)
        if (finding->stretches[i].records &&
            finding->stretches[i].last_ns >= finding->window->from_ns && has_end(finding, i))
            finding->stretches[i].wanted = true;
    if (!is_worth_it(finding))
        return false;
    want_launches(finding);
    return is_worth_it(finding) && add_parts(finding) && parts_are_good(finding);
}

static bool has_marks(const struct input *input)
{
    const struct rbwp_trailer *trailer = rbwp_reader_trailer(input->reader);
    return trailer && trailer->mark_count > 1 && trailer->index_count && !trailer->gpu_count &&
           rbwp_reader_header(input->reader)->descriptor_offset && input->fd >= 0 &&
           !input->follow && !input->live && !rbwp_reader_is_stream(input->reader) &&
           !rbwp_reader_is_archive(input->reader);
}

bool window_find(struct window *window, struct input *input, int64_t from_ns, int64_t to_ns)
{
    const int64_t least_ns = INT64_MIN + WINDOW_BIAS_NS;
    *window = (struct window){.from_ns = from_ns > least_ns ? from_ns : least_ns, .to_ns = to_ns};
    if (!has_marks(input) || window->from_ns >= to_ns)
        return false;
    const struct rbwp_trailer *trailer = rbwp_reader_trailer(input->reader);
    struct finding finding = {
        .window = window, .input = input, .trailer = trailer, .count = trailer->mark_count - 1};
    window->trailer = trailer;
    finding.stretches = calloc(trailer->mark_count, sizeof *finding.stretches);
    finding.keys = calloc(trailer->open_item_count + 1u, sizeof *finding.keys);
    window->item_at = calloc(trailer->mark_count, sizeof *window->item_at);
    window->ids = calloc(trailer->mark_count, sizeof *window->ids);
    window->records = calloc(trailer->mark_count, sizeof *window->records);
    bool found = finding.stretches && finding.keys && window->item_at && window->ids &&
                 window->records && find_parts(&finding);
    free(finding.stretches);
    free(finding.keys);
    found &= rbwp_reader_rewind(input->reader) == RBWP_OK;
    if (!found)
        window_free(window);
    return found;
}

void window_free(struct window *window)
{
    free(window->parts);
    free(window->item_at);
    free(window->ids);
    free(window->records);
    *window = (struct window){0};
}
