/* SPDX-License-Identifier: Apache-2.0 */
/*
 * time_grid.h - what tracks did over time, in cells.
 *
 * A sink (trace.h). Time is divided into at most GRID_CELLS cells that are
 * equally long for all tracks. With a range given, they divide it; else they
 * begin short and double in length, two becoming one, when a span lies
 * outside, so one reading is enough. The workers' spans set the range; others
 * are cut to it. A cell knows how long its track was
 * busy (outermost spans, overlaps counted once, less the time that they are known not to have run,
 * evenly over each) and which work took most of
 * it: candidates are counted as in Misra and Gries, exactly while a cell has
 * no more than GRID_CANDIDATES names, else too low by at most the part of the
 * others. Memory is bounded by GRID_TRACKS; further tracks are counted.
 */
#ifndef TIME_GRID_H
#define TIME_GRID_H

#include "busy_cells.h"
#include "trace.h"

enum { GRID_CELLS = 1024, GRID_CANDIDATES = 4, GRID_TRACKS = 1000 };

struct grid_cell {
    uint64_t busy_ns;
    uint64_t runnable_ns, blocked_ns; /* in calls, as far as it is known: not busy */
    uint64_t ns[GRID_CANDIDATES];
    uint32_t names[GRID_CANDIDATES]; /* of the trace, + 1; 0 none */
    bool lost;
};

struct grid_track {
    struct trace_track track; /* its name is the trace's */
    struct busy busy;
    struct work_depth depth;
    bool waited;
    int64_t split_to_ns;     /* end of the last call of which it is known whether it ran */
    int64_t waited_to_ns;    /* end of the last of its waits */
    struct grid_cell *cells; /* NULL: beyond GRID_TRACKS, or no span */
    bool lost;
};

struct time_grid {
    bool fixed;              /* the range was given */
    bool orphans;            /* as in stats.h */
    bool any, any_worker;    /* spans */
    bool knows_cpu;          /* of some of them it is known whether they ran */
    int64_t first_ns;        /* where cell 0 begins */
    uint64_t cell_ns;        /* length of each */
    uint32_t cells;          /* in use when the range was given, else GRID_CELLS */
    int64_t low_ns, high_ns; /* of the workers' spans, or of all without workers */
    struct grid_track *tracks;
    uint32_t track_count, track_room, with_cells;
    uint64_t spans, lost_records, refused_calls, skipped_bytes;
    bool failed;
};

/* A range of 0 length: found while reading. */
void time_grid_start(struct time_grid *grid, int64_t from_ns, int64_t to_ns, uint32_t cells);
struct trace_sink time_grid_sink(struct time_grid *grid);
void time_grid_free(struct time_grid *grid);

/* Adds count cells from first on into *sum_out. */
void time_grid_sum(const struct grid_track *track, uint32_t first, uint32_t count,
                   struct grid_cell *sum_out);
/* The candidate with the most time; its name + 1, 0 none. */
uint32_t time_grid_dominant(const struct grid_cell *cell);

#endif /* TIME_GRID_H */
