/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The terminal view. Each track has a line of bars, how busy it was in a
 * column's time, and a line of letters, which work took most of it. Losses
 * are '!' in red. A GPU has its lines like a thread. Where it is known
 * whether calls ran, '-' and '=' stand for what was mostly blocked, or ready to run without a CPU.
 */
#include "timeline.h"
#include "counter_lines.h"
#include "message.h"
#include "progress.h"
#include "quantity.h"
#include "sorted.h"
#include "text_name.h"
#include "time_grid.h"
#include "trace_span.h"
#include "track_order.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LABEL = 20, TAIL = 8, LETTERS = 52, LEVELS = 8, TICK = 20 };
enum { IDLE_PART = 100 }; /* who is busy for less than one of so many parts comes last */

/* Of a process of a family. */
struct life {
    bool has_start, has_last; /* in the window asked for */
    int64_t start_ns, last_ns;
    enum trace_life end;
};

struct shown_name {
    uint64_t ns;     /* time in which it was dominant */
    uint32_t letter; /* 1 + letter, 0 none */
};

struct timeline {
    struct time_grid grid; /* first: the sink's context */
    struct trace_sink grid_sink;
    struct life *lives; /* by process */
    uint32_t life_room;
    struct trace_pass *pass;
    const struct timeline_options *options;
    struct colors colors;
    struct counter_lines counters;
    bool unicode, started;
    uint32_t columns;

    /* What is shown. */
    uint32_t first_cell, cells;
    struct result_rows shown; /* tracks of the grid */
    uint32_t hidden;          /* further ones, beyond what it has cells for */
    struct shown_name *names; /* by name of the trace */
    uint32_t name_count;
};

/* ---- the range ------------------------------------------------------------------------- */

/* A range that is given whole divides into columns exactly. Times relative to a zero that is not
 * known are found while reading. */
static void start_grid(struct timeline *timeline)
{
    const struct filter_options *filter = &timeline->pass->filter;
    int64_t from_ns = 0, to_ns = 0;
    bool relative = filter->from.relative || filter->to.relative;
    if (filter->from.set && filter->to.set && !relative) {
        from_ns = filter->from.ns;
        to_ns = filter->to.ns;
    }
    time_grid_start(&timeline->grid, from_ns, to_ns, timeline->columns);
    timeline->grid.orphans = filter->kinds != 0;
}

/* The first call of the sink: only now the origin is known. */
static void timeline_on_process(void *context, const struct trace_process *process)
{
    struct timeline *timeline = context;
    (void)process;
    if (!timeline->started)
        start_grid(timeline);
    timeline->started = true;
}

static void timeline_on_samples(void *context, uint32_t track, const struct trace_sample *samples,
                                size_t count)
{
    struct timeline *timeline = context;
    timeline->grid.failed |= !counter_lines_add(&timeline->counters, track, samples, count);
}

static void take_life(struct timeline *timeline, const struct trace_span *mark)
{
    uint32_t process = trace_track_of(timeline->pass->trace, mark->track)->process;
    if (!GROW_ZEROED(timeline->lives, timeline->life_room, process + 1)) {
        timeline->grid.failed = true;
        return;
    }
    struct life *life = &timeline->lives[process];
    if (mark->item == TRACE_LIFE_BEGINS) {
        life->has_start = true;
        life->start_ns = mark->start_ns;
    } else {
        life->has_last = true;
        life->last_ns = mark->start_ns;
        life->end = (enum trace_life)mark->item;
    }
}

static void timeline_on_spans(void *context, const struct trace_span *spans, size_t count,
                              const struct trace_details *details)
{
    struct timeline *timeline = context;
    bool life = count && timeline->grid.tracks[spans->track].track.kind == TRACE_LIFE;
    if (!life)
        timeline->grid_sink.spans(context, spans, count, details);
    for (size_t i = 0; life && i < count; i++)
        take_life(timeline, &spans[i]);
}

static void choose_cells(struct timeline *timeline)
{
    const struct time_grid *grid = &timeline->grid;
    timeline->cells = grid->cells;
    if (!grid->fixed && grid->any) {
        uint64_t low = (uint64_t)grid->low_ns - (uint64_t)grid->first_ns;
        uint64_t high = (uint64_t)grid->high_ns - (uint64_t)grid->first_ns;
        timeline->first_cell = (uint32_t)(low / grid->cell_ns);
        timeline->cells =
            (uint32_t)((high + grid->cell_ns - 1) / grid->cell_ns) - timeline->first_cell;
        timeline->cells = timeline->cells ? timeline->cells : 1;
    }
    if (timeline->cells < timeline->columns)
        timeline->columns = timeline->cells;
}

static uint32_t column_cell(const struct timeline *timeline, uint32_t column)
{
    return timeline->first_cell +
           (uint32_t)((uint64_t)column * timeline->cells / timeline->columns);
}

static int64_t column_ns(const struct timeline *timeline, uint32_t column)
{
    return timeline->grid.first_ns +
           (int64_t)(timeline->grid.cell_ns * column_cell(timeline, column));
}

static struct grid_cell column_of(const struct timeline *timeline, const struct grid_track *track,
                                  uint32_t column, uint64_t *length_ns_out)
{
    struct grid_cell sum;
    uint32_t first = column_cell(timeline, column);
    uint32_t count = column_cell(timeline, column + 1) - first;
    time_grid_sum(track, first, count, &sum);
    *length_ns_out = timeline->grid.cell_ns * count;
    return sum;
}

/* ---- letters --------------------------------------------------------------------------- */

static bool note_name(struct timeline *timeline, uint32_t name, uint64_t ns)
{
    if (!GROW_ZEROED(timeline->names, timeline->name_count, name + 1))
        return false;
    timeline->names[name].ns += ns;
    return true;
}

/* Letters go to those that dominate longest. */
static bool choose_letters(struct timeline *timeline, uint32_t *order, uint32_t *count_out)
{
    for (uint32_t t = 0; t < timeline->grid.track_count; t++)
        for (uint32_t column = 0; column < timeline->columns; column++) {
            uint64_t length_ns;
            struct grid_cell cell =
                column_of(timeline, &timeline->grid.tracks[t], column, &length_ns);
            uint32_t name = time_grid_dominant(&cell);
            if (name && !note_name(timeline, name - 1, cell.busy_ns))
                return false;
        }
    struct shown_name *names = timeline->names;
    *count_out = 0;
    for (uint32_t letter = 0; letter < LETTERS; letter++) {
        uint32_t best = 0;
        for (uint32_t name = 1; name < timeline->name_count; name++)
            if (!names[name].letter && (names[best].letter || names[name].ns > names[best].ns))
                best = name;
        if (timeline->name_count == 0 || names[best].letter || !names[best].ns)
            break;
        names[best].letter = letter + 1;
        order[(*count_out)++] = best;
    }
    return true;
}

static char letter_char(uint32_t letter)
{
    return (char)(letter < 26 ? 'A' + letter : 'a' + (letter - 26));
}

/* ---- lines ----------------------------------------------------------------------------- */

static struct out *out_of(const struct timeline *timeline)
{
    return &timeline->pass->out;
}

static void label(struct out *out, struct trace_text name)
{
    text_name_column(out, name.text, name.bytes, LABEL - 1);
    out_text(out, " ");
}

static const char *block(const struct timeline *timeline, uint64_t level)
{
    static const char *const blocks[] = {" ",      "\u2581", "\u2582", "\u2583", "\u2584",
                                         "\u2585", "\u2586", "\u2587", "\u2588"};
    static const char *const plain[] = {" ", ".", ":", "-", "=", "+", "*", "#", "@"};
    return timeline->unicode ? blocks[level] : plain[level];
}

static void bar(const struct timeline *timeline, const struct grid_cell *cell, uint64_t length_ns)
{
    struct out *out = out_of(timeline);
    uint64_t level =
        length_ns ? (uint64_t)((double)cell->busy_ns / (double)length_ns * LEVELS + 0.5) : 0;
    level = level > LEVELS ? LEVELS : level == 0 && cell->busy_ns ? 1 : level;
    if (cell->lost)
        out_format(out, "%s!%s", timeline->colors.red, timeline->colors.off);
    else
        out_text(out, block(timeline, level));
}

/* What the thread mostly did, if it did not run; 0: it ran, or that is not known. */
static char state_char(const struct grid_cell *cell)
{
    if (cell->busy_ns >= cell->runnable_ns + cell->blocked_ns)
        return 0;
    return cell->runnable_ns > cell->blocked_ns ? '=' : '-';
}

static void letter(const struct timeline *timeline, const struct grid_cell *cell)
{
    static const char *const colors[] = {"\033[32m", "\033[33m", "\033[34m",
                                         "\033[35m", "\033[36m", "\033[37m"};
    struct out *out = out_of(timeline);
    uint32_t name = time_grid_dominant(cell);
    uint32_t number = name ? timeline->names[name - 1].letter : 0;
    const char state = state_char(cell);
    char text[2] = {state ? state : number ? letter_char(number - 1) : name ? '*' : '.', '\0'};
    if (timeline->colors.any && number && !state)
        out_format(out, "%s%s%s", colors[(number - 1) % 6], text, timeline->colors.off);
    else
        out_text(out, text);
}

static void track_lines(const struct timeline *timeline, const struct grid_track *track)
{
    struct out *out = out_of(timeline);
    struct grid_cell cell;
    uint64_t length_ns, busy_ns = 0, all_ns = 0;
    label(out, track->track.name);
    for (uint32_t column = 0; column < timeline->columns; column++) {
        cell = column_of(timeline, track, column, &length_ns);
        bar(timeline, &cell, length_ns);
        busy_ns += cell.busy_ns;
        all_ns += length_ns;
    }
    out_format(out, " %5.1f%%%s%s%s\n", all_ns ? 100 * (double)busy_ns / (double)all_ns : 0,
               timeline->colors.red, track->lost ? "!" : "", timeline->colors.off);
    out_format(out, "%*s", LABEL, "");
    for (uint32_t column = 0; column < timeline->columns; column++) {
        cell = column_of(timeline, track, column, &length_ns);
        letter(timeline, &cell);
    }
    out_text(out, "\n");
}

/* Its height is the mean of the samples of a column, or the value that held, between 0 and the
 * greatest (or the least, where it is below 0); behind it stands the greatest. */
static void counter_line(const struct timeline *timeline, const struct grid_track *track,
                         const struct counter_line *line)
{
    struct counter_cell all, cell;
    struct out *out = out_of(timeline);
    (void)counter_line_between(line, INT64_MIN, INT64_MAX, &all);
    double low = all.least < 0 ? all.least : 0, high = all.greatest > 0 ? all.greatest : 0;
    label(out, track->track.name);
    for (uint32_t column = 0; column < timeline->columns; column++) {
        bool any = counter_line_between(line, column_ns(timeline, column),
                                        column_ns(timeline, column + 1), &cell);
        double height = (cell.count ? cell.mean : cell.last) - low;
        unsigned level = any && high > low ? (unsigned)(height / (high - low) * LEVELS + 0.5) : 0;
        out_text(out, block(timeline, any && level == 0 && height > 0 ? 1 : level));
    }
    /* As many digits as there is room for. */
    char text[32];
    for (int digits = 4; digits > 0; digits--)
        if (snprintf(text, sizeof text, "%.*g", digits, all.greatest) < TAIL)
            break;
    out_format(out, " %s\n", text);
}

static void timeline_head(const struct timeline *timeline)
{
    const struct time_grid *grid = &timeline->grid;
    uint64_t all_ns = grid->cell_ns * timeline->cells;
    int64_t from_ns = column_ns(timeline, 0);
    if (grid->lost_records)
        out_format(out_of(timeline), "%sLOST %" PRIu64 " records%s\n", timeline->colors.red,
                   grid->lost_records, timeline->colors.off);
    if (grid->refused_calls)
        out_format(out_of(timeline), "%sREFUSED %" PRIu64 " calls%s\n", timeline->colors.red,
                   grid->refused_calls, timeline->colors.off);
    if (grid->skipped_bytes)
        out_format(out_of(timeline), "%sSKIPPED %" PRIu64 " bytes of damaged files%s\n",
                   timeline->colors.red, grid->skipped_bytes, timeline->colors.off);
    if (!grid->any) { /* so there is no time that it is of */
        out_text(out_of(timeline), "no spans\n");
        return;
    }
    out_format(out_of(timeline), "%sfrom %s, %s, a column is %s%s\n", timeline->colors.bold,
               SINCE_ZERO(from_ns, trace_origin_ns(timeline->pass->trace)), DURATION(all_ns),
               DURATION(all_ns / timeline->columns), timeline->colors.off);
}

/* Seconds since the zero with as many digits as neighbouring ticks differ in. */
static int tick_text(char *text, size_t room, int64_t since_ns, uint64_t step_ns)
{
    uint64_t ns = since_ns < 0 ? 0 - (uint64_t)since_ns : (uint64_t)since_ns;
    int digits = 0;
    uint64_t unit = 1000000000;
    for (; digits < 9 && unit > step_ns / 10; unit /= 10)
        digits++;
    int bytes = snprintf(text, room, "|%c%" PRIu64, since_ns < 0 ? '-' : '+', ns / 1000000000);
    if (digits)
        bytes += snprintf(text + bytes, room - (size_t)bytes, ".%0*" PRIu64, digits,
                          ns % 1000000000 / unit);
    return bytes + snprintf(text + bytes, room - (size_t)bytes, "s");
}

/* A tick every TICK columns, with its time to the right of it. */
static void axis(const struct timeline *timeline)
{
    struct out *out = out_of(timeline);
    const struct time_grid *grid = &timeline->grid;
    uint64_t step_ns = grid->cell_ns * timeline->cells / timeline->columns * TICK;
    out_format(out, "%s%*s", timeline->colors.dim, LABEL, "");
    for (uint32_t column = 0; column < timeline->columns; column += TICK) {
        char text[64];
        uint32_t left = timeline->columns - column;
        uint64_t at_ns = grid->cell_ns * column_cell(timeline, column);
        int64_t since_ns = (int64_t)((uint64_t)grid->first_ns + at_ns -
                                     (uint64_t)trace_origin_ns(timeline->pass->trace));
        int bytes = tick_text(text, sizeof text, since_ns, step_ns);
        if ((uint32_t)bytes > left || bytes > TICK)
            bytes = 1;
        bool last = left <= TICK;
        out_format(out, "%-*.*s", last ? bytes : TICK, bytes, text);
    }
    out_format(out, "%s\n", timeline->colors.off);
}

/* Columns that are shown end before it where the time is behind them. */
static uint32_t column_at(const struct timeline *timeline, int64_t time_ns)
{
    const struct time_grid *grid = &timeline->grid;
    uint32_t at;
    SORTED_FIND(at, timeline->columns,
                grid->first_ns + (int64_t)(grid->cell_ns * column_cell(timeline, at + 1)) <=
                    time_ns);
    return at;
}

/* "[-----]": it began to record, and ended. 'x': it died, '>': it runs still. */
static void life_line(const struct timeline *timeline, const struct life *life)
{
    static const char ends[] = {
        [TRACE_LIFE_ENDS] = ']', [TRACE_LIFE_DIED] = 'x', [TRACE_LIFE_RUNS] = '>'};
    uint32_t most = timeline->columns - 1;
    uint32_t first = life->has_start ? column_at(timeline, life->start_ns) : 0;
    uint32_t last = life->has_last ? column_at(timeline, life->last_ns) : most;
    first = first < most ? first : most;
    last = last < most ? last : most;
    for (uint32_t column = 0; column <= last; column++) {
        char text[2] = {column < first ? ' ' : '-', '\0'};
        if (life->has_start && column == first)
            text[0] = '[';
        if (life->has_last && column == last)
            text[0] = ends[life->end];
        out_text(out_of(timeline), text);
    }
}

/* Above the tracks of a process. */
static void process_line(const struct timeline *timeline, uint32_t number)
{
    struct out *out = out_of(timeline);
    const struct trace_process *process = trace_process_of(timeline->pass->trace, number);
    const struct life *life = number < timeline->life_room ? &timeline->lives[number] : NULL;
    out_text(out, timeline->colors.bold);
    if (life && (life->has_start || life->has_last) && timeline->grid.any) {
        label(out, process->name);
        life_line(timeline, life);
    } else {
        text_name(out, process->name.text, process->name.bytes);
    }
    out_format(out, "%s\n", timeline->colors.off);
}

/* Of whom it is below, GPUs come first and threads that hardly ran last. */
static unsigned rank_of(const struct timeline *timeline, uint32_t number)
{
    struct grid_cell all;
    const struct time_grid *grid = &timeline->grid;
    while (grid->tracks[number].track.parent < grid->track_count)
        number = grid->tracks[number].track.parent;
    const struct grid_track *track = &grid->tracks[number];
    if (track->track.kind != TRACE_THREAD)
        return track->track.kind == TRACE_GPU ? 0 : 1;
    time_grid_sum(track, timeline->first_cell, timeline->cells, &all);
    return all.busy_ns < grid->cell_ns * timeline->cells / IDLE_PART ? 2 : 1;
}

/* By rank within each process. False without memory. */
static bool rank_tracks(const struct timeline *timeline)
{
    const struct trace_track *track;
    const uint32_t count = timeline->shown.count;
    uint32_t *order = timeline->shown.order, *ranked = calloc(count + 1u, sizeof *ranked), to = 0;
    for (uint32_t from = 0, end = 0; ranked && from < count; from = end) {
        track = &timeline->grid.tracks[order[from]].track;
        while (end < count && timeline->grid.tracks[order[end]].track.process == track->process)
            end++;
        for (unsigned rank = 0; rank < 3; rank++)
            for (uint32_t i = from; i < end; i++)
                if (rank_of(timeline, order[i]) == rank)
                    ranked[to++] = order[i];
    }
    if (ranked)
        memcpy(order, ranked, count * sizeof *order);
    free(ranked);
    return ranked != NULL;
}

/* False without memory. */
static bool order_tracks(struct timeline *timeline)
{
    const struct time_grid *grid = &timeline->grid;
    uint32_t *order = track_order_all(grid->tracks, sizeof *grid->tracks, grid->track_count);
    timeline->shown = (struct result_rows){
        .first = (const char *)grid->tracks, .stride = sizeof *grid->tracks, .order = order};
    for (uint32_t i = 0; order && i < grid->track_count; i++) {
        const struct grid_track *track = &grid->tracks[order[i]];
        if (track->cells || track->lost || counter_lines_of(&timeline->counters, order[i]))
            order[timeline->shown.count++] = order[i];
        else
            timeline->hidden += track->busy.any;
    }
    return order && (!grid->knows_cpu || rank_tracks(timeline));
}

static void all_tracks(const struct timeline *timeline)
{
    uint32_t process = TRACE_NONE;
    for (uint32_t i = 0; i < timeline->shown.count; i++) {
        const uint32_t number = timeline->shown.order[i];
        const struct grid_track *track = &timeline->grid.tracks[number];
        const struct counter_line *line = counter_lines_of(&timeline->counters, number);
        if (track->track.process != process)
            process_line(timeline, track->track.process);
        process = track->track.process;
        if (line)
            counter_line(timeline, track, line);
        else
            track_lines(timeline, track);
    }
    if (timeline->hidden)
        out_format(out_of(timeline), "... and %" PRIu32 " more tracks\n", timeline->hidden);
}

/* False without memory. */
static bool timeline_text(struct timeline *timeline)
{
    uint32_t order[LETTERS], letters;
    struct out *out = out_of(timeline);
    if (!choose_letters(timeline, order, &letters))
        return false;
    timeline_head(timeline);
    all_tracks(timeline);
    if (timeline->grid.any)
        axis(timeline);
    for (uint32_t i = 0; i < letters; i++) {
        struct trace_text name = trace_name_of(timeline->pass->trace, order[i]);
        out_format(out, "  %c  ", letter_char(i));
        text_name(out, name.text, name.bytes);
        out_text(out, "\n");
    }
    if (timeline->grid.knows_cpu)
        out_text(out, "  -  blocked in a call\n  =  ready to run, without a CPU\n");
    return true;
}

/* ---- as JSON and CSV -------------------------------------------------------------------- */

#define TIMELINE(at) ((const struct timeline *)(at)->all)
enum {
    COLUMN_START,
    COLUMN_LENGTH,
    COLUMN_BUSY,
    COLUMN_RUNNABLE,
    COLUMN_WAITING,
    COLUMN_NAME,
    COLUMN_LOST
};
enum { VALUE_SAMPLES, VALUE_LEAST, VALUE_MEAN, VALUE_GREATEST, VALUE_LAST };

static const struct counter_line *line_of_track(const struct result_at *at, const void *track)
{
    return counter_lines_of(&TIMELINE(at)->counters,
                            ((const struct grid_track *)track)->track.number);
}

/* Numbers of columns, of a track: their cells are made. */
static struct result_rows columns_if(const struct result_at *at, bool has)
{
    return (struct result_rows){.first = at->row, .count = has ? TIMELINE(at)->columns : 0};
}

static struct result_rows columns_of_track(const struct result_at *at)
{
    return columns_if(at, !line_of_track(at, at->row));
}

static struct result_rows values_of_track(const struct result_at *at)
{
    return columns_if(at, line_of_track(at, at->row));
}

static struct result_cell column_made(const struct result_at *at, int what)
{
    uint64_t length_ns;
    const struct grid_cell cell = column_of(TIMELINE(at), at->parent, at->number, &length_ns);
    const uint32_t name = time_grid_dominant(&cell);
    if (what == COLUMN_START)
        return result_i64(column_ns(TIMELINE(at), at->number));
    if (what == COLUMN_NAME)
        return name ? result_bytes(trace_name_of(TIMELINE(at)->pass->trace, name - 1))
                    : result_nothing();
    return result_u64(what == COLUMN_LENGTH     ? length_ns
                      : what == COLUMN_BUSY     ? cell.busy_ns
                      : what == COLUMN_RUNNABLE ? cell.runnable_ns
                      : what == COLUMN_WAITING  ? cell.blocked_ns
                                                : cell.lost);
}

static struct result_cell value_made(const struct result_at *at, int what)
{
    struct counter_cell cell = {0};
    const bool any =
        counter_line_between(line_of_track(at, at->parent), column_ns(TIMELINE(at), at->number),
                             column_ns(TIMELINE(at), at->number + 1), &cell);
    if (what == VALUE_SAMPLES)
        return result_u64(any ? cell.count : 0);
    if (!any || (what != VALUE_LAST && !cell.count))
        return result_nothing();
    return result_f64(what == VALUE_LEAST      ? cell.least
                      : what == VALUE_MEAN     ? cell.mean
                      : what == VALUE_GREATEST ? cell.greatest
                                               : cell.last);
}

RESULT_MAKES(timeline_edge, timeline,
             row->grid.any ? result_i64(column_ns(row, what ? row->columns : 0)) : result_nothing())
RESULT_MAKES(track_process, grid_track,
             result_bytes(trace_process_of(TIMELINE(at)->pass->trace, row->track.process)->name))
RESULT_MAKES(track_kind, grid_track, result_word(trace_track_kind_name[row->track.kind]))

static bool timeline_knows_cpu(const void *timeline)
{
    return ((const struct timeline *)timeline)->grid.knows_cpu;
}

#define VALUE(key, which)                                                                          \
    {                                                                                              \
        key, NULL, 0, RESULT_DECIMAL, RESULT_MADE(value_made, which), .nullable = true             \
    }
static const struct result_column column_columns[] = {
    RESULT_PLAIN_MADE("start", RESULT_TIME, column_made, COLUMN_START),
    RESULT_PLAIN_MADE("length_ns", RESULT_NS, column_made, COLUMN_LENGTH),
    RESULT_PLAIN_MADE("busy_ns", RESULT_NS, column_made, COLUMN_BUSY),
    {"runnable_ns", NULL, 0, RESULT_NS, RESULT_MADE(column_made, COLUMN_RUNNABLE),
     .there = timeline_knows_cpu},
    {"waiting_ns", NULL, 0, RESULT_NS, RESULT_MADE(column_made, COLUMN_WAITING),
     .there = timeline_knows_cpu},
    {"name", NULL, 0, RESULT_TEXT, RESULT_MADE(column_made, COLUMN_NAME), .nullable = true},
    RESULT_PLAIN_MADE("lost", RESULT_BOOL, column_made, COLUMN_LOST),
    RESULT_LAST};
static const struct result_table columns_table = {"columns", NULL, column_columns, "", NULL, 0};
static const struct result_column value_columns[] = {
    RESULT_PLAIN_MADE("start", RESULT_TIME, column_made, COLUMN_START),
    RESULT_PLAIN_MADE("samples", RESULT_COUNT, value_made, VALUE_SAMPLES),
    VALUE("least", VALUE_LEAST),
    VALUE("mean", VALUE_MEAN),
    VALUE("greatest", VALUE_GREATEST),
    VALUE("last", VALUE_LAST),
    RESULT_LAST};
static const struct result_table values_table = {"values", NULL, value_columns, "", NULL, 0};

static const struct result_column track_columns[] = {
    RESULT_PLAIN_MADE("process", RESULT_TEXT, track_process, 0),
    RESULT_PLAIN("track", RESULT_TEXT, struct grid_track, track.name),
    RESULT_PLAIN_MADE("kind", RESULT_WORD, track_kind, 0),
    RESULT_PLAIN("thread", RESULT_ID, struct grid_track, track.os_id),
    RESULT_PLAIN("lost", RESULT_BOOL, struct grid_track, lost),
    {"columns", NULL, 0, RESULT_LIST, .list = &columns_table, .rows = columns_of_track},
    {"values", NULL, 0, RESULT_LIST, .list = &values_table, .rows = values_of_track},
    RESULT_LAST};
static const struct result_table tracks_table = {"tracks", NULL, track_columns, "", NULL, 0};

const struct result_column timeline_columns[] = {
    {"from", NULL, 0, RESULT_TIME, RESULT_MADE(timeline_edge, 0), .nullable = true},
    {"to", NULL, 0, RESULT_TIME, RESULT_MADE(timeline_edge, 1), .nullable = true},
    RESULT_PLAIN("lost_records", RESULT_COUNT, struct timeline, grid.lost_records),
    RESULT_PLAIN("refused_calls", RESULT_COUNT, struct timeline, grid.refused_calls),
    RESULT_PLAIN("skipped_bytes", RESULT_COUNT, struct timeline, grid.skipped_bytes),
    RESULT_PLAIN("hidden_tracks", RESULT_COUNT, struct timeline, hidden),
    {"tracks", NULL, 0, RESULT_LIST, .list = &tracks_table, RESULT_ROWS(struct timeline, shown)},
    RESULT_LAST};

/* False without memory. */
static bool show_timeline(struct timeline *timeline)
{
    const struct timeline_options *options = timeline->options;
    choose_cells(timeline);
    if (!order_tracks(timeline))
        return false;
    if (!options->json && !options->csv)
        return timeline_text(timeline);
    result_document(out_of(timeline), timeline_columns, options->csv, timeline, timeline);
    return true;
}

/* ---- the frame ------------------------------------------------------------------------- */

static bool begin(struct trace_pass *pass)
{
    const struct timeline_options *options = pass->asked;
    struct timeline *timeline = calloc(1, sizeof *timeline);
    if (!timeline)
        return message_fail("out of memory");
    uint32_t width = options->width ? options->width : terminal_width(pass->out.fd);
    timeline->pass = pass;
    timeline->options = options;
    timeline->colors = terminal_colors(&options->reading.terminal, pass->out.fd);
    timeline->unicode = !options->ascii && terminal_is_utf8();
    timeline->columns = width - LABEL - TAIL;
    time_grid_start(&timeline->grid, 0, 0, 0);
    timeline->grid_sink = time_grid_sink(&timeline->grid);
    pass->sink = timeline->grid_sink;
    pass->sink.spans = timeline_on_spans;
    pass->sink.process = timeline_on_process;
    pass->sink.samples = timeline_on_samples;
    pass->state = timeline;
    return true;
}

static enum exit_code timeline_end(struct trace_pass *pass)
{
    struct timeline *timeline = pass->state;
    bool whole = !timeline->grid.failed && pass->trace;
    if (whole && !show_timeline(timeline)) {
        message("out of memory");
        whole = false;
    }
    time_grid_free(&timeline->grid);
    counter_lines_free(&timeline->counters);
    free(timeline->names);
    free(timeline->shown.order);
    free(timeline->lives);
    free(timeline);
    return whole ? EXIT_GOOD : EXIT_PARTIAL;
}

enum exit_code timeline_show(const struct timeline_options *options, struct operands files)
{
    static const struct trace_maker maker = {.clips = true, .begin = begin, .end = timeline_end};
    progress_allow(&options->reading.terminal);
    return trace_pass(&maker, options, &options->reading, files);
}
