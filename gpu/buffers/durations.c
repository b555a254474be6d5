/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of durations. Each duration is kept, so that percentiles are exact: the median of a
 * kernel's waits is often the one tick in which its timer advances, which buckets would blur.
 */
#include "grow.h"
#include "index_map.h"
#include "rbwp_durations.h"

#include <stdlib.h>
#include <string.h>

struct entry {
    uint64_t group;
    int64_t event;
    uint64_t *durations;
    size_t count, room;
    uint64_t unmatched;
};

struct rbwp_durations {
    struct entry *entries;
    uint32_t count, room;
    struct index_map places;
    struct rbwp_duration *rows;
    size_t row_room;
};

struct rbwp_durations *rbwp_durations_new(void)
{
    return calloc(1, sizeof(struct rbwp_durations));
}

void rbwp_durations_free(struct rbwp_durations *durations)
{
    if (!durations)
        return;
    for (uint32_t i = 0; i < durations->count; i++)
        free(durations->entries[i].durations);
    free(durations->entries);
    index_map_free(&durations->places);
    free(durations->rows);
    free(durations);
}

/* ---- adding ------------------------------------------------------------------- */

/* NULL without memory. */
static struct entry *entry_of(struct rbwp_durations *durations, uint64_t group, int64_t event)
{
    uint64_t hash = hash_pair(group, (uint64_t)event);
    for (uint32_t step = 0, i;
         (i = index_map_next(&durations->places, hash, &step)) != INDEX_NONE;) {
        struct entry *entry = &durations->entries[i];
        if (entry->group == group && entry->event == event)
            return entry;
    }
    /* The row, too: so that what was added can be named. */
    if (!grow_array32(&durations->entries, &durations->room, durations->count + 1,
                      sizeof *durations->entries) ||
        !grow_array(&durations->rows, &durations->row_room, durations->count + 1,
                    sizeof *durations->rows) ||
        !index_map_add(&durations->places, hash, durations->count))
        return NULL;
    durations->entries[durations->count] = (struct entry){.group = group, .event = event};
    return &durations->entries[durations->count++];
}

bool rbwp_durations_add(struct rbwp_durations *durations, uint64_t group, int64_t event,
                        uint64_t duration_ns)
{
    struct entry *entry = entry_of(durations, group, event);
    if (!entry ||
        (entry->count == entry->room &&
         !grow_array(&entry->durations, &entry->room, entry->count + 1, sizeof duration_ns)))
        return false;
    entry->durations[entry->count++] = duration_ns;
    return true;
}

bool rbwp_durations_add_unmatched(struct rbwp_durations *durations, uint64_t group, int64_t event)
{
    struct entry *entry = entry_of(durations, group, event);
    if (entry)
        entry->unmatched++;
    return entry != NULL;
}

bool rbwp_durations_take_lanes(void *durations, const struct rbwp_lane_span *spans, size_t count)
{
    bool good = true;
    for (size_t i = 0; i < count && good; i++) {
        const struct rbwp_lane_span *span = &spans[i];
        if (span->kind == RBWP_LANE_SPAN)
            good = rbwp_durations_add(durations, span->group, span->event,
                                      (uint64_t)span->stop_ns - (uint64_t)span->start_ns);
        else if (span->kind != RBWP_LANE_INSTANT)
            good = rbwp_durations_add_unmatched(durations, span->group, span->event);
    }
    return good;
}

bool rbwp_durations_take_events(void *durations, const struct rbwp_device_event *events,
                                size_t count)
{
    bool good = true;
    for (size_t i = 0; i < count && good; i++) {
        const struct rbwp_device_event *event = &events[i];
        uint64_t rank = (uint32_t)event->rank;
        if (event->stop_ticks == 0 || event->stop_ticks < event->start_ticks)
            good = rbwp_durations_add_unmatched(durations, rank, event->id);
        else
            good = rbwp_durations_add(durations, rank, event->id,
                                      (uint64_t)event->stop_ns - (uint64_t)event->start_ns);
    }
    return good;
}

/* ---- the rows ------------------------------------------------------------------- */

static void swap(uint64_t *a, uint64_t *b)
{
    uint64_t kept = *a;
    *a = *b;
    *b = kept;
}

/* The value that sorting would bring to place; those before it are not above it, those behind it
 * not below. Three parts, as equal durations are many; the pivot is the middle of three. */
static uint64_t select_place(uint64_t *values, size_t count, size_t place)
{
    size_t from = 0, to = count;
    while (to - from > 1) {
        uint64_t a = values[from], b = values[from + (to - from) / 2], c = values[to - 1];
        uint64_t pivot = a < b ? (b < c ? b : a < c ? c : a) : (a < c ? a : b < c ? c : b);
        size_t low = from, next = from, high = to;
        while (next < high) {
            if (values[next] < pivot)
                swap(&values[low++], &values[next++]);
            else if (values[next] > pivot)
                swap(&values[next], &values[--high]);
            else
                next++;
        }
        if (place < low)
            to = low;
        else if (place >= high)
            from = high;
        else
            return pivot;
    }
    return values[place];
}

/* The place of a percentile among count values: nearest rank. */
static size_t durations_place_of(size_t count, unsigned percent)
{
    return (count / 100) * percent + ((count % 100) * percent + 99) / 100 - 1;
}

static struct rbwp_duration row_of(struct entry *entry)
{
    struct rbwp_duration row = {.group = entry->group,
                                .event = entry->event,
                                .count = entry->count,
                                .unmatched = entry->unmatched};
    if (!entry->count)
        return row;
    row.min_ns = UINT64_MAX;
    for (size_t i = 0; i < entry->count; i++) {
        uint64_t duration = entry->durations[i];
        if (__builtin_add_overflow(row.total_ns, duration, &row.total_ns))
            row.total_ns = UINT64_MAX;
        row.min_ns = duration < row.min_ns ? duration : row.min_ns;
        row.max_ns = duration > row.max_ns ? duration : row.max_ns;
    }
    size_t half = durations_place_of(entry->count, 50), last = durations_place_of(entry->count, 99);
    row.p50_ns = select_place(entry->durations, entry->count, half);
    row.p99_ns = select_place(entry->durations + half, entry->count - half, last - half);
    return row;
}

static int by_group(const void *a, const void *b)
{
    const struct rbwp_duration *left = a, *right = b;
    if (left->group != right->group)
        return left->group < right->group ? -1 : 1;
    return (left->event > right->event) - (left->event < right->event);
}

const struct rbwp_duration *rbwp_durations_rows(struct rbwp_durations *durations, size_t *count_out)
{
    *count_out = durations->count;
    for (uint32_t i = 0; i < durations->count; i++)
        durations->rows[i] = row_of(&durations->entries[i]);
    if (durations->count)
        qsort(durations->rows, durations->count, sizeof *durations->rows, by_group);
    return durations->rows;
}

/* ---- rows for spans that overlap ------------------------------------------------------------- */
/*
 * In the order of their starts, outer ones first, each takes the first
 * row where what is open encloses it, which needs as few rows as such a choice can.
 */

#define ROWS_MAX 4096u /* of a track: each span may look at all of them */

struct item {
    uint64_t track;
    int64_t start_ns, stop_ns;
    size_t number;
};

/* Stops of the spans that are open where the row has come to, outermost first. */
struct row {
    int64_t *stops;
    uint32_t depth, room;
};

struct rows {
    struct row *rows;
    uint32_t count, room; /* of the track; those behind have memory from others */
    uint32_t made;
};

static int by_start(const void *a, const void *b)
{
    const struct item *left = a, *right = b;
    if (left->track != right->track)
        return left->track < right->track ? -1 : 1;
    if (left->start_ns != right->start_ns)
        return left->start_ns < right->start_ns ? -1 : 1;
    if (left->stop_ns != right->stop_ns)
        return left->stop_ns > right->stop_ns ? -1 : 1;
    return left->number < right->number ? -1 : 1;
}

static bool durations_fits(struct row *row, const struct item *item)
{
    while (row->depth && row->stops[row->depth - 1] <= item->start_ns)
        row->depth--;
    return !row->depth || row->stops[row->depth - 1] >= item->stop_ns;
}

/* The next row, empty. */
static enum rbwp_status durations_add_row(struct rows *rows)
{
    if (rows->count == ROWS_MAX)
        return RBWP_E_LIMIT;
    if (rows->count == rows->made) {
        if (!grow_zeroed32(&rows->rows, &rows->room, rows->made + 1, sizeof *rows->rows))
            return RBWP_E_MEMORY;
        rows->made++;
    }
    rows->rows[rows->count++].depth = 0;
    return RBWP_OK;
}

static enum rbwp_status durations_place(struct rows *rows, const struct item *item,
                                        uint32_t *row_out)
{
    uint32_t at = 0;
    while (at < rows->count && !durations_fits(&rows->rows[at], item))
        at++;
    enum rbwp_status status = at == rows->count ? durations_add_row(rows) : RBWP_OK;
    if (status != RBWP_OK)
        return status;
    struct row *row = &rows->rows[at];
    if (!grow_array32(&row->stops, &row->room, row->depth + 1, sizeof *row->stops))
        return RBWP_E_MEMORY;
    row->stops[row->depth++] = item->stop_ns;
    *row_out = at;
    return RBWP_OK;
}

static enum rbwp_status place_all(struct rows *rows, const struct item *items, size_t count,
                                  uint16_t *places)
{
    enum rbwp_status status = RBWP_OK;
    for (size_t i = 0; i < count && status == RBWP_OK; i++) {
        uint32_t row = 0;
        if (i && items[i].track != items[i - 1].track)
            rows->count = 0;
        status = durations_place(rows, &items[i], &row);
        places[i] = (uint16_t)row;
    }
    return status;
}

enum rbwp_status rbwp_overlap_rows(const uint64_t *tracks, const int64_t *starts_ns,
                                   const int64_t *stops_ns, size_t count, uint16_t *rows_out)
{
    struct rows rows = {0};
    struct item *items = calloc(count ? count : 1, sizeof *items);
    uint16_t *places = calloc(count ? count : 1, sizeof *places);
    enum rbwp_status status = items && places ? RBWP_OK : RBWP_E_MEMORY;
    if (status == RBWP_OK) {
        for (size_t i = 0; i < count; i++)
            items[i] = (struct item){tracks[i], starts_ns[i], stops_ns[i], i};
        qsort(items, count, sizeof *items, by_start);
        status = place_all(&rows, items, count, places);
    }
    for (size_t i = 0; i < count && status == RBWP_OK; i++)
        rows_out[items[i].number] = places[i];
    for (uint32_t i = 0; i < rows.made; i++)
        free(rows.rows[i].stops);
    free(rows.rows);
    free(items);
    free(places);
    return status;
}
