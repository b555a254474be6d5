/* SPDX-License-Identifier: Apache-2.0 */
/* Rows for spans that overlap: in the order of their starts, outer ones first, each takes the first
 * row where what is open encloses it, which needs as few rows as such a choice can. */
#include "rbwp_durations.h"
#include "grow.h"

#include <stdlib.h>

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

static bool fits(struct row *row, const struct item *item)
{
    while (row->depth && row->stops[row->depth - 1] <= item->start_ns)
        row->depth--;
    return !row->depth || row->stops[row->depth - 1] >= item->stop_ns;
}

/* The next row, empty. */
static enum rbwp_status add_row(struct rows *rows)
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

static enum rbwp_status place(struct rows *rows, const struct item *item, uint32_t *row_out)
{
    uint32_t at = 0;
    while (at < rows->count && !fits(&rows->rows[at], item))
        at++;
    enum rbwp_status status = at == rows->count ? add_row(rows) : RBWP_OK;
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
        status = place(rows, &items[i], &row);
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
