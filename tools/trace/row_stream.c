/* SPDX-License-Identifier: Apache-2.0 */
/* Rows are counted and dealt out by track; those of one track are mostly in order then. */
#include "row_stream.h"
#include "grow.h"
#include "trace_axis.h"
#include "trace_track.h"

#include <stdlib.h>
#include <string.h>

#define WORDS_MAX (6u << 20) /* of cells and marks that may wait, 48 MiB */

enum { MARK_WORDS = 4, SHORT_RUN = 8 };

/* Of a range of blocks. */
struct floor {
    uint64_t last_row;
    int64_t within_ns; /* no row in or behind it starts earlier, */
    int64_t after_ns;  /* none behind it */
};

struct row_stream {
    const struct trace_axis *axis;
    struct floor *floors;
    uint32_t floor_count, floor_at; /* of the rows that came last */
    int64_t floor_ns;               /* what starts before is ready, INT64_MAX: all */
    uint64_t rows_max;              /* that may wait */
    uint32_t waiting;               /* rows, when those that are ready have gone */

    struct rbwp_rows rows;    /* all of them */
    const uint64_t **columns; /* its cells */
    uint64_t **cells;         /* kept ones, by column */
    uint32_t room;            /* rows of kept cells */
    struct row_marks marks;

    uint32_t *order, *waits, *other; /* rows that are ready, that wait; room to sort them */
    uint32_t order_room, waits_room, other_room;
    uint32_t *counts; /* by track */
    uint32_t count_room;
    uint32_t *tracks; /* that the ready ones have */
    uint32_t track_room;
};

/* ---- marks ------------------------------------------------------------------------- */

bool row_marks_reserve(struct row_marks *marks, uint32_t rows)
{
    uint32_t rooms[] = {marks->room, marks->room, marks->room, marks->room, marks->room};
    if (rows <= marks->room)
        return true;
    if (!GROW_ARRAY(marks->start_ns, rooms[0], rows) ||
        !GROW_ARRAY(marks->stop_ns, rooms[1], rows) || !GROW_ARRAY(marks->id, rooms[2], rows) ||
        !GROW_ARRAY(marks->track, rooms[3], rows) || !GROW_ARRAY(marks->name, rooms[4], rows))
        return false;
    marks->room = rows;
    return true;
}

void row_marks_free(struct row_marks *marks)
{
    free(marks->start_ns);
    free(marks->stop_ns);
    free(marks->id);
    free(marks->track);
    free(marks->name);
    *marks = (struct row_marks){0};
}

/* To a place that is not behind it. */
static void move_mark(struct row_marks *marks, uint32_t from, uint32_t to)
{
    marks->start_ns[to] = marks->start_ns[from];
    marks->stop_ns[to] = marks->stop_ns[from];
    marks->id[to] = marks->id[from];
    marks->track[to] = marks->track[from];
    marks->name[to] = marks->name[from];
}

/* ---- what the index says ---------------------------------------------------------- */

static bool is_of_table(const struct rbwp_table_range *range, uint32_t table)
{
    return range->table == table && range->rows;
}

static bool find_floors(struct row_stream *stream, const struct rbwp_trailer *trailer,
                        uint32_t table)
{
    int64_t least_ns = INT64_MAX;
    stream->floors = calloc(trailer->table_range_count + 1u, sizeof *stream->floors);
    if (!stream->floors)
        return false;
    for (uint32_t i = 0; i < trailer->table_range_count; i++)
        stream->floor_count += is_of_table(&trailer->table_ranges[i], table);
    uint32_t at = stream->floor_count;
    for (uint32_t i = trailer->table_range_count; at && i-- > 0;) {
        const struct rbwp_table_range *range = &trailer->table_ranges[i];
        if (!is_of_table(range, table))
            continue;
        stream->floors[--at] = (struct floor){
            range->last_row, range->first_ns < least_ns ? range->first_ns : least_ns, least_ns};
        least_ns = stream->floors[at].within_ns;
    }
    return true;
}

/* How many rows wait at most: those of ranges that are not over before what may still come. held:
 * room for as many ranges as there are floors. */
static uint64_t rows_waiting(const struct row_stream *stream, const struct rbwp_trailer *trailer,
                             uint32_t table, const struct rbwp_table_range **held)
{
    uint64_t most = 0;
    uint32_t held_count = 0, at = 0;
    for (uint32_t i = 0; i < trailer->table_range_count && most <= stream->rows_max; i++) {
        const struct rbwp_table_range *range = &trailer->table_ranges[i];
        uint64_t rows = range->rows;
        uint32_t left = 0;
        if (!is_of_table(range, table))
            continue;
        for (uint32_t j = 0; j < held_count; j++)
            if (held[j]->last_ns >= stream->floors[at].within_ns) {
                rows += held[j]->rows;
                held[left++] = held[j];
            }
        held_count = left;
        held[held_count++] = range;
        at++;
        most = rows > most ? rows : most;
    }
    return most;
}

/* False without memory. */
static bool row_stream_judge(struct row_stream *stream, const struct rbwp_trailer *trailer,
                             bool *suits_out)
{
    uint32_t table = stream->rows.schema->table;
    if (!find_floors(stream, trailer, table))
        return false;
    const struct rbwp_table_range **held = calloc(stream->floor_count + 1u, sizeof *held);
    if (held)
        *suits_out =
            stream->floor_count && rows_waiting(stream, trailer, table, held) <= stream->rows_max;
    free(held);
    return held;
}

bool row_stream_new(const struct rbwp_trailer *trailer, const struct rbwp_schema *schema,
                    const struct trace_axis *axis, struct row_stream **stream_out)
{
    bool suits = false;
    *stream_out = NULL;
    struct row_stream *stream = calloc(1, sizeof *stream);
    if (!stream)
        return false;
    stream->axis = axis;
    stream->rows_max = WORDS_MAX / (schema->column_count + (uint64_t)MARK_WORDS);
    stream->cells = calloc(schema->column_count, sizeof *stream->cells);
    stream->columns = calloc(schema->column_count, sizeof *stream->columns);
    stream->rows = (struct rbwp_rows){.schema = schema, .cells = stream->columns};
    bool good = stream->cells && stream->columns && row_stream_judge(stream, trailer, &suits);
    if (suits)
        *stream_out = stream;
    else
        row_stream_free(stream);
    return good;
}

void row_stream_free(struct row_stream *stream)
{
    if (!stream)
        return;
    for (uint32_t c = 0; stream->cells && c < stream->rows.schema->column_count; c++)
        free(stream->cells[c]);
    free(stream->cells);
    free(stream->columns);
    free(stream->floors);
    row_marks_free(&stream->marks);
    free(stream->order);
    free(stream->waits);
    free(stream->other);
    free(stream->counts);
    free(stream->tracks);
    free(stream);
}

/* ---- coming in ---------------------------------------------------------------------- */

/* Where the file is not as its index says, rows are ready at once, and may be late. */
static void find_floor(struct row_stream *stream, const struct rbwp_rows *rows)
{
    uint64_t last_row = rows->first_row + rows->rows - 1;
    while (stream->floor_at < stream->floor_count &&
           stream->floors[stream->floor_at].last_row < rows->first_row)
        stream->floor_at++;
    const struct floor *floor = &stream->floors[stream->floor_at];
    int64_t floor_ns = INT64_MAX;
    if (stream->floor_at < stream->floor_count && stream->rows.rows <= stream->rows_max)
        floor_ns = last_row < floor->last_row ? floor->within_ns : floor->after_ns;
    stream->floor_ns = floor_ns == INT64_MAX ? floor_ns : trace_on_axis(stream->axis, floor_ns);
}

/* Room for so many rows of cells that are kept. */
static bool row_stream_reserve(struct row_stream *stream, uint32_t rows)
{
    uint32_t room = stream->room;
    for (uint32_t c = 0; c < stream->rows.schema->column_count; c++) {
        room = stream->room;
        if (!grow_array32(&stream->cells[c], &room, rows, sizeof(uint64_t)))
            return false;
    }
    stream->room = room;
    return true;
}

const struct rbwp_rows *row_stream_add(struct row_stream *stream, const struct rbwp_rows *rows,
                                       uint32_t *first_out)
{
    uint32_t waiting = stream->rows.rows, count = waiting + rows->rows;
    uint32_t columns = rows->schema->column_count;
    if (!row_marks_reserve(&stream->marks, count) ||
        !GROW_ARRAY(stream->order, stream->order_room, count) ||
        !GROW_ARRAY(stream->waits, stream->waits_room, count) ||
        !GROW_ARRAY(stream->other, stream->other_room, count) ||
        (waiting && !row_stream_reserve(stream, count)))
        return NULL;
    for (uint32_t c = 0; c < columns; c++) {
        stream->columns[c] = waiting ? stream->cells[c] : rows->cells[c];
        if (waiting)
            memcpy(stream->cells[c] + waiting, rows->cells[c], rows->rows * sizeof(uint64_t));
    }
    stream->rows.rows = count;
    *first_out = waiting;
    find_floor(stream, rows);
    return &stream->rows;
}

struct row_marks *row_stream_marks(struct row_stream *stream)
{
    return &stream->marks;
}

/* ---- going out ---------------------------------------------------------------------- */

/* As span_order. */
static inline bool precedes(const struct row_stream *stream, uint32_t a, uint32_t b)
{
    const struct row_marks *marks = &stream->marks;
    if (marks->start_ns[a] != marks->start_ns[b])
        return marks->start_ns[a] < marks->start_ns[b];
    if (marks->stop_ns[a] != marks->stop_ns[b])
        return marks->stop_ns[a] > marks->stop_ns[b];
    return marks->id[a] < marks->id[b];
}

static void insert(const struct row_stream *stream, uint32_t *rows, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        uint32_t row = rows[i], to = i;
        for (; to > 0 && precedes(stream, row, rows[to - 1]); to--)
            rows[to] = rows[to - 1];
        rows[to] = row;
    }
}

/* Two neighbouring runs, which are in order, the first one's end at middle. */
static void merge_rows(const struct row_stream *stream, uint32_t *rows, uint32_t middle,
                       uint32_t count)
{
    uint32_t *left = stream->other;
    uint32_t i = 0, j = middle, to = 0;
    if (!precedes(stream, rows[middle], rows[middle - 1]))
        return;
    memcpy(left, rows, middle * sizeof *rows);
    while (i < middle && j < count)
        rows[to++] = precedes(stream, rows[j], left[i]) ? rows[j++] : left[i++];
    memcpy(rows + to, left + i, (middle - i) * sizeof *rows);
}

static void row_stream_sort(const struct row_stream *stream, uint32_t *rows, uint32_t count)
{
    uint32_t i = 1;
    while (i < count && !precedes(stream, rows[i], rows[i - 1]))
        i++;
    if (i >= count)
        return;
    for (uint32_t from = 0; from < count; from += SHORT_RUN)
        insert(stream, rows + from, count - from < SHORT_RUN ? count - from : SHORT_RUN);
    for (uint32_t run = SHORT_RUN; run < count; run *= 2)
        for (uint32_t from = 0; count - from > run; from += 2 * run) {
            uint32_t left = count - from;
            merge_rows(stream, rows + from, run, left < 2 * run ? left : 2 * run);
            if (left <= 2 * run)
                break;
        }
}

/* Parts the rows: those that are ready are counted by track, those that wait are noted. */
static bool part(struct row_stream *stream, uint32_t *tracks_out)
{
    const struct row_marks *marks = &stream->marks;
    uint32_t tracks = 0;
    stream->waiting = 0;
    bool all = stream->floor_ns == INT64_MAX;
    for (uint32_t i = 0; i < stream->rows.rows; i++) {
        uint32_t track = marks->track[i];
        if (track == TRACE_NONE)
            continue;
        if (!all && marks->start_ns[i] >= stream->floor_ns) {
            stream->waits[stream->waiting++] = i;
            continue;
        }
        if (!GROW_ZEROED(stream->counts, stream->count_room, track + 1) ||
            !GROW_ARRAY(stream->tracks, stream->track_room, tracks + 1))
            return false;
        if (stream->counts[track]++ == 0)
            stream->tracks[tracks++] = track;
    }
    *tracks_out = tracks;
    return true;
}

/* Rows that are ready by track; its count becomes where they end. */
static void deal_out(struct row_stream *stream, uint32_t tracks)
{
    const struct row_marks *marks = &stream->marks;
    uint32_t at = 0;
    bool all = stream->floor_ns == INT64_MAX;
    for (uint32_t i = 0; i < tracks; i++) {
        uint32_t *count = &stream->counts[stream->tracks[i]], begin = at;
        at += *count;
        *count = begin;
    }
    for (uint32_t i = 0; i < stream->rows.rows; i++) {
        uint32_t track = marks->track[i];
        if (track != TRACE_NONE && (all || marks->start_ns[i] < stream->floor_ns))
            stream->order[stream->counts[track]++] = i;
    }
}

const uint32_t *row_stream_ready(struct row_stream *stream, bool all, uint32_t *count_out)
{
    uint32_t tracks, from = 0;
    stream->floor_ns = all ? INT64_MAX : stream->floor_ns;
    if (!part(stream, &tracks))
        return NULL;
    deal_out(stream, tracks);
    for (uint32_t i = 0; i < tracks; i++) {
        uint32_t *end = &stream->counts[stream->tracks[i]];
        row_stream_sort(stream, stream->order + from, *end - from);
        from = *end;
        *end = 0;
    }
    *count_out = from;
    return stream->order;
}

bool row_stream_drop(struct row_stream *stream)
{
    uint32_t left = stream->waiting;
    stream->rows.rows = 0;
    if (left && !row_stream_reserve(stream, left))
        return false;
    for (uint32_t i = 0; i < left; i++)
        move_mark(&stream->marks, stream->waits[i], i);
    for (uint32_t c = 0; left && c < stream->rows.schema->column_count; c++) {
        for (uint32_t i = 0; i < left; i++)
            stream->cells[c][i] = stream->columns[c][stream->waits[i]];
        stream->columns[c] = stream->cells[c];
    }
    stream->rows.rows = left;
    return true;
}

const struct rbwp_rows *row_stream_left(const struct row_stream *stream)
{
    return stream->rows.rows ? &stream->rows : NULL;
}
