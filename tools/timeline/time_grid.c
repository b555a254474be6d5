/* SPDX-License-Identifier: Apache-2.0 */
/* Cells, and how they double. */
#include "time_grid.h"
#include "message.h"
#include "span_sums.h"
#include "trace_axis.h"

#include <stdlib.h>
#include <string.h>

/* All cells together then reach from edge to edge (trace_bounded). */
#define CELL_NS_MAX (UINT64_C(1) << 52)

static void time_grid_fail(struct time_grid *grid)
{
    message_once(&grid->failed, "out of memory; the rest is dropped");
}

/* ---- cells ----------------------------------------------------------------------------- */

static void add_candidate(struct grid_cell *cell, uint32_t name, uint64_t ns)
{
    unsigned least = 0;
    for (unsigned i = 0; i < GRID_CANDIDATES; i++) {
        if (cell->names[i] == name || cell->names[i] == 0) {
            cell->names[i] = name;
            cell->ns[i] += ns;
            return;
        }
        least = cell->ns[i] < cell->ns[least] ? i : least;
    }
    uint64_t common = cell->ns[least] < ns ? cell->ns[least] : ns;
    for (unsigned i = 0; i < GRID_CANDIDATES; i++)
        cell->ns[i] -= common;
    if (ns > common) {
        cell->names[least] = name;
        cell->ns[least] = ns - common;
    }
}

static void merge_cell(struct grid_cell *into, const struct grid_cell *from)
{
    into->busy_ns += from->busy_ns;
    into->runnable_ns += from->runnable_ns;
    into->blocked_ns += from->blocked_ns;
    into->lost |= from->lost;
    for (unsigned i = 0; i < GRID_CANDIDATES; i++)
        if (from->names[i] && from->ns[i])
            add_candidate(into, from->names[i], from->ns[i]);
}

void time_grid_sum(const struct grid_track *track, uint32_t first, uint32_t count,
                   struct grid_cell *sum_out)
{
    *sum_out = (struct grid_cell){0};
    for (uint32_t i = first; track->cells && i < first + count && i < GRID_CELLS; i++)
        merge_cell(sum_out, &track->cells[i]);
}

uint32_t time_grid_dominant(const struct grid_cell *cell)
{
    unsigned best = 0;
    for (unsigned i = 1; i < GRID_CANDIDATES; i++)
        best = cell->ns[i] > cell->ns[best] ? i : best;
    return cell->ns[best] ? cell->names[best] : 0;
}

/* ---- the range ------------------------------------------------------------------------- */

/* Two cells become one. The old ones are then the first half, or, to the left, the second. */
static void double_cells(struct time_grid *grid, bool to_left)
{
    for (uint32_t t = 0; t < grid->track_count; t++) {
        struct grid_cell *cells = grid->tracks[t].cells;
        if (!cells)
            continue;
        for (uint32_t i = 0; i < GRID_CELLS / 2; i++) {
            struct grid_cell sum = cells[2 * i];
            merge_cell(&sum, &cells[2 * i + 1]);
            cells[i] = sum;
        }
        size_t half = GRID_CELLS / 2 * sizeof *cells;
        if (to_left)
            memcpy(cells + GRID_CELLS / 2, cells, half);
        memset(to_left ? cells : cells + GRID_CELLS / 2, 0, half);
    }
    if (to_left)
        grid->first_ns -= (int64_t)(grid->cell_ns * GRID_CELLS);
    grid->cell_ns *= 2;
}

static void fit(struct time_grid *grid, int64_t start_ns, int64_t stop_ns)
{
    if (grid->fixed)
        return;
    if (!grid->any)
        grid->first_ns = start_ns;
    while (start_ns < grid->first_ns && grid->cell_ns < CELL_NS_MAX)
        double_cells(grid, true);
    while (stop_ns > grid->first_ns &&
           (uint64_t)stop_ns - (uint64_t)grid->first_ns > grid->cell_ns * GRID_CELLS &&
           grid->cell_ns < CELL_NS_MAX)
        double_cells(grid, false);
}

/* ---- spans ----------------------------------------------------------------------------- */

static bool time_grid_make_cells(struct time_grid *grid, struct grid_track *track)
{
    if (track->cells)
        return true;
    if (grid->with_cells == GRID_TRACKS)
        return false;
    track->cells = calloc(GRID_CELLS, sizeof *track->cells);
    if (!track->cells) {
        time_grid_fail(grid);
        return false;
    }
    grid->with_cells++;
    return true;
}

/* Cells from *cell on; *to_ns is cut to the range. False outside of it. */
static bool clip(const struct time_grid *grid, int64_t *from_ns, int64_t *to_ns, uint32_t *cell)
{
    int64_t end_ns = grid->first_ns + (int64_t)(grid->cell_ns * grid->cells);
    *from_ns = *from_ns < grid->first_ns ? grid->first_ns : *from_ns;
    *to_ns = *to_ns > end_ns ? end_ns : *to_ns;
    if (*from_ns > *to_ns || *from_ns >= end_ns)
        return false;
    *cell = (uint32_t)(((uint64_t)*from_ns - (uint64_t)grid->first_ns) / grid->cell_ns);
    return true;
}

/* What of the cell lies between; *from_ns moves to its end. */
static uint64_t next_piece_ns(const struct time_grid *grid, uint32_t cell, int64_t *from_ns,
                              int64_t to_ns)
{
    const int64_t begin_ns = *from_ns;
    const int64_t end_ns = grid->first_ns + (int64_t)(grid->cell_ns * (cell + 1));
    *from_ns = end_ns < to_ns ? end_ns : to_ns;
    return (uint64_t)(*from_ns - begin_ns);
}

static void take_off(uint64_t *busy_ns, uint64_t ns)
{
    *busy_ns -= ns < *busy_ns ? ns : *busy_ns;
}

static void time_grid_fill(struct time_grid *grid, struct grid_track *track, int64_t from_ns,
                           int64_t to_ns, uint32_t name)
{
    uint32_t cell;
    if (!clip(grid, &from_ns, &to_ns, &cell))
        return;
    for (; from_ns < to_ns; cell++) {
        const uint64_t ns = next_piece_ns(grid, cell, &from_ns, to_ns);
        track->cells[cell].busy_ns += ns;
        add_candidate(&track->cells[cell], name + 1, ns);
    }
}

/* The range follows the workers, so that a GPU with a clock of its own does not stretch it. */
static bool sets_range(const struct time_grid *grid, const struct grid_track *track)
{
    return track->track.kind == TRACE_THREAD || track->track.kind == TRACE_PROCESSOR ||
           !grid->any_worker;
}

static void time_grid_widen(struct time_grid *grid, const struct grid_track *track,
                            int64_t start_ns, int64_t stop_ns)
{
    if (!sets_range(grid, track))
        return;
    fit(grid, start_ns, stop_ns);
    grid->low_ns = !grid->any || start_ns < grid->low_ns ? start_ns : grid->low_ns;
    grid->high_ns = !grid->any || stop_ns > grid->high_ns ? stop_ns : grid->high_ns;
    grid->any = true;
    grid->any_worker |= track->track.kind == TRACE_THREAD || track->track.kind == TRACE_PROCESSOR;
}

static void time_grid_on_span(struct time_grid *grid, struct grid_track *track, int64_t start_ns,
                              int64_t stop_ns, uint32_t name)
{
    int64_t ended_from_ns, ended_until_ns, from_ns = start_ns;
    if (track->busy.any && track->busy.until_ns > from_ns)
        from_ns = track->busy.until_ns; /* what was covered before counts once */
    (void)busy_add(&track->busy, start_ns, stop_ns, &ended_from_ns, &ended_until_ns);
    if (!time_grid_make_cells(grid, track))
        return;
    time_grid_widen(grid, track, start_ns, stop_ns);
    if (from_ns < stop_ns)
        time_grid_fill(grid, track, from_ns, stop_ns, name);
}

/* Its thread is there, and not busy; inside: of work, whose cells have the time. */
static void take_wait(struct time_grid *grid, struct grid_track *track, int64_t from_ns,
                      int64_t to_ns, bool inside)
{
    uint32_t cell;
    if (!time_grid_make_cells(grid, track))
        return;
    time_grid_widen(grid, track, from_ns, to_ns);
    if (!waits_again(track->waited, track->waited_to_ns, &from_ns, to_ns))
        return;
    track->waited = true;
    track->waited_to_ns = to_ns;
    if (!inside || from_ns < track->split_to_ns || !clip(grid, &from_ns, &to_ns, &cell))
        return;
    for (; from_ns < to_ns; cell++) {
        const uint64_t waited_ns = next_piece_ns(grid, cell, &from_ns, to_ns);
        take_off(&track->cells[cell].busy_ns, waited_ns);
    }
}

/* When in the span its thread did not run is not known: evenly over it. */
static void take_off_cpu(struct time_grid *grid, struct grid_track *track,
                         const struct trace_span *span, const struct trace_cpu *cpu)
{
    int64_t from_ns = trace_bounded(span->start_ns), to_ns = trace_bounded(span->stop_ns);
    const double length_ns = (double)(to_ns - from_ns);
    uint32_t cell;
    grid->knows_cpu = true;
    if (span->flags & TRACE_LATE || from_ns < track->split_to_ns || !track->cells)
        return;
    track->split_to_ns = to_ns;
    if (!clip(grid, &from_ns, &to_ns, &cell))
        return;
    for (; from_ns < to_ns; cell++) {
        const double part = (double)next_piece_ns(grid, cell, &from_ns, to_ns) / length_ns;
        const uint64_t runnable_ns = (uint64_t)((double)cpu->runnable_ns * part);
        const uint64_t blocked_ns = (uint64_t)((double)cpu->waiting_ns * part);
        track->cells[cell].runnable_ns += runnable_ns;
        track->cells[cell].blocked_ns += blocked_ns;
        take_off(&track->cells[cell].busy_ns, runnable_ns + blocked_ns);
    }
}

static void time_grid_on_spans(void *context, const struct trace_span *spans, size_t count,
                               const struct trace_details *details)
{
    struct time_grid *grid = context;
    for (size_t i = 0; i < count && !grid->failed; i++) {
        struct grid_track *track = &grid->tracks[spans[i].track];
        if (trace_is_waiting(&spans[i]))
            take_wait(grid, track, trace_bounded(spans[i].start_ns),
                      trace_bounded(spans[i].stop_ns),
                      work_depth_is_inside(&track->depth, &spans[i]));
        bool outermost = work_depth_take(&track->depth, &spans[i]);
        if (track->depth.failed)
            time_grid_fail(grid);
        if (!outermost || !(spans[i].depth > 0 || spans[i].parent == 0 || grid->orphans))
            continue;
        time_grid_on_span(grid, track, trace_bounded(spans[i].start_ns),
                          trace_bounded(spans[i].stop_ns), spans[i].name);
        const struct trace_cpu cpu =
            trace_cpu_of(&spans[i], details ? trace_detail_of(details, &spans[i]) : NULL);
        if (trace_cpu_is_known(&cpu))
            take_off_cpu(grid, track, &spans[i], &cpu);
    }
    grid->spans += count;
}

/* ---- the rest of the sink -------------------------------------------------------------- */

static void time_grid_on_track(void *context, const struct trace_track *track)
{
    struct time_grid *grid = context;
    if (!GROW_ZEROED(grid->tracks, grid->track_room, track->number + 1)) {
        time_grid_fail(grid);
        return;
    }
    grid->tracks[track->number] = (struct grid_track){.track = *track};
    grid->track_count = track->number + 1;
}

static void mark_loss(const struct time_grid *grid, struct grid_track *track, int64_t from_ns,
                      int64_t to_ns)
{
    uint32_t cell;
    track->lost = true;
    if ((from_ns || to_ns) && track->cells && clip(grid, &from_ns, &to_ns, &cell))
        for (; cell < grid->cells; cell++) {
            track->cells[cell].lost = true;
            if (grid->first_ns + (int64_t)(grid->cell_ns * (cell + 1)) > to_ns)
                break;
        }
}

/* Damage of which nobody knows whom it struck is everybody's. */
static void time_grid_on_loss(void *context, const struct trace_loss *loss)
{
    struct time_grid *grid = context;
    int64_t from_ns = trace_bounded(loss->first_ns), to_ns = trace_bounded(loss->last_ns);
    *(loss->refused ? &grid->refused_calls : &grid->lost_records) += loss->count;
    grid->skipped_bytes += loss->count ? 0 : loss->bytes;
    for (uint32_t i = 0; i < grid->track_count; i++)
        if (loss->track == i || (loss->track == TRACE_NONE && loss->bytes &&
                                 grid->tracks[i].track.process == loss->process))
            mark_loss(grid, &grid->tracks[i], from_ns, to_ns);
}

static bool time_grid_is_full(void *context)
{
    const struct time_grid *grid = context;
    return grid->failed;
}

struct trace_sink time_grid_sink(struct time_grid *grid)
{
    return (struct trace_sink){.context = grid,
                               .track = time_grid_on_track,
                               .spans = time_grid_on_spans,
                               .loss = time_grid_on_loss,
                               .full = time_grid_is_full};
}

void time_grid_start(struct time_grid *grid, int64_t from_ns, int64_t to_ns, uint32_t cells)
{
    from_ns = trace_bounded(from_ns);
    to_ns = trace_bounded(to_ns);
    *grid = (struct time_grid){.cells = GRID_CELLS, .cell_ns = 1, .fixed = from_ns < to_ns};
    if (grid->fixed) {
        grid->cells = cells < GRID_CELLS ? cells : GRID_CELLS;
        grid->first_ns = from_ns;
        grid->cell_ns = ((uint64_t)to_ns - (uint64_t)from_ns + grid->cells - 1) / grid->cells;
    }
}

void time_grid_free(struct time_grid *grid)
{
    for (uint32_t i = 0; i < grid->track_count; i++) {
        free(grid->tracks[i].cells);
        work_depth_free(&grid->tracks[i].depth);
    }
    free(grid->tracks);
}
