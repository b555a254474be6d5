/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_timeline.h - the spans of a trace as rows that can be drawn at any scale.
 *
 * A row is a track, a lane of it, and a depth: its spans do not overlap. Each
 * row has a summary of all of its spans, and its single spans go
 * to the tiles below. A page has at most TIMELINE_ROWS rows of depths
 * below TIMELINE_DEPTHS; spans elsewhere are counted as hidden, and the page
 * says so.
 */
#ifndef TIMELINE_H
#define TIMELINE_H

#include "index_map.h"
#include "page_data.h"

/* ---- summary --------------------------------------------------------------------------------- */
/*
 * What rows look like from afar.
 *
 * A row is cut into cells of equal width, a power of two of nanoseconds. A
 * cell has how long the row was busy, how many spans began, and which kind of
 * span took most of it. The length of the run is not known while it is read:
 * cells start small and are joined in pairs whenever a row would need more
 * than its share of SUMMARY_CELLS. Memory is bounded by that, whatever comes.
 */

#define SUMMARY_CELLS (1u << 21)     /* of all rows together */
#define SUMMARY_ROW_CELLS (1u << 15) /* of one row, at most */
enum { SUMMARY_KINDS = 3 };

struct summary_cell {
    uint64_t busy_ns;
    uint32_t begun;
    uint32_t kinds[SUMMARY_KINDS];
    float weights[SUMMARY_KINDS]; /* ns; about, when more kinds than these compete */
};

struct summary_row {
    struct summary_cell *cells;
    uint32_t count, room;
    int64_t first; /* number of the first cell: its time is first << shift */
    unsigned shift;
};

/* Makes room for the times; most: cells that the row may have, a power of two; used: how much of
 * the time counts as busy, 0 to 1. False without memory. */
bool summary_add(struct summary_row *row, uint32_t most, int64_t start_ns, int64_t stop_ns,
                 uint32_t kind, double used);
/* Joins cells until they are at least 1 << shift wide. */
void summary_coarsen(struct summary_row *row, unsigned shift);
/* Joins cells until there are no more than most. */
void summary_limit(struct summary_row *row, uint32_t most);
void summary_free(struct summary_row *row);

/* The kind that took most of the cell's time, UINT32_MAX none. */
uint32_t summary_main_kind(const struct summary_cell *cell);

/* ---- page timeline --------------------------------------------------------------------------- */

struct trace_link;
struct trace_detail;
struct trace_span;

/* ---- single spans and links, in tiles that the page unpacks when it shows them --------------- */

enum { DETAIL_TILE = 1024, DETAIL_WINDOWS = 256, DETAIL_MARKS = 512 };

/* From one time to another. Times of GPU work may be anything: steps too large for a number wrap
 * around, or are said to be about what they are. */
static inline int64_t time_step_ns(int64_t from_ns, int64_t to_ns)
{
    return (int64_t)((uint64_t)to_ns - (uint64_t)from_ns);
}
static inline double time_step_about(int64_t from_ns, int64_t to_ns)
{
    int64_t step_ns;
    return __builtin_sub_overflow(to_ns, from_ns, &step_ns) ? (double)to_ns - (double)from_ns
                                                            : (double)step_ns;
}

/* One span or one link on its way into a tile. */
/* As the page knows them. */
enum detail_flag {
    DETAIL_UNFINISHED = 1, /* TRACE_UNFINISHED */
    DETAIL_OPEN = 2,       /* TRACE_OPEN */
    DETAIL_INSTANT = 4     /* TRACE_INSTANT */
};
/* In place of flags, of a call whose thread was not on a CPU for about a quarter of it, a half,
 * three quarters, nearly all: numbers that no flags make. */
enum { DETAIL_OFF_QUARTER = 2, DETAIL_OFF_HALF = 5, DETAIL_OFF_MOST = 6, DETAIL_OFF_ALL = 7 };

struct detail_span {
    int64_t start_ns, stop_ns;
    uint32_t kind;  /* number of what it is */
    uint32_t flags; /* enum detail_flag, or DETAIL_OFF_... */
    /* Of rows that have them: by so much start and stop of a GPU's work may be wrong; block and
     * launch of what a kernel noted. */
    uint64_t more[2];
};
struct detail_link {
    int64_t from_ns, to_ns;
    uint32_t from_track;
};

struct detail_tile {
    int64_t first_ns, last_ns;
    uint64_t offset; /* in the temporary file */
    uint32_t bytes, count;
    uint32_t owner; /* a row, or with is_link the track to which the links lead */
    bool is_link, taken;
};

struct detail {
    int fd;               /* of the temporary file, -1 none yet */
    uint64_t bytes;       /* in it */
    struct buffer spool;  /* its end, not yet written */
    struct buffer column; /* while a tile is made */
    struct detail_tile *tiles;
    size_t count, room;
    int64_t marks[DETAIL_MARKS]; /* times that should be in the page */
    uint32_t mark_count;
    bool failed; /* a message was given; tiles are missing */
};

/* What of it is in the page. */
struct detail_taken {
    /* Cut into windows; what lies outside counts to the outer ones. */
    int64_t first_ns, last_ns;
    uint8_t windows[DETAIL_WINDOWS]; /* 1: in the page */
    uint64_t spans, links;           /* in the page */
    bool all;
};

/* This time should be seen in full; the earlier marks are the more important ones. */
void detail_mark(struct detail *detail, int64_t time_ns);

/* ---- what spans are, numbered ---------------------------------------------------------------- */

struct kind {
    uint32_t name, item;
    uint8_t category;
    bool waits; /* nobody is busy with it */
    uint64_t longest_ns;
    int64_t longest_start_ns;
    uint64_t hollow, hollow_ns; /* spans with nothing inside, and their time */
};

struct kinds {
    struct kind *list;
    struct index_map places;
    uint32_t count, room;
};

/* The number of a span's kind, UINT32_MAX without memory. */
uint32_t kinds_number(struct kinds *kinds, const struct trace_span *span);
void kinds_free(struct kinds *kinds);

/* ---- page timeline --------------------------------------------------------------------------- */

enum { TIMELINE_ROWS = 4096, TIMELINE_DEPTHS = 8, TIMELINE_CELLS = 4 * TIMELINE_ROWS };
/* Spans that wait for their tiles, on all rows together: the more rows, the smaller their tiles. */
enum { TIMELINE_WAITING = 256 << 10, TIMELINE_TILE_LEAST = 64 };

struct timeline_row {
    uint32_t track;
    uint16_t lane, depth;
    bool has_more; /* its spans have two more numbers */
    uint64_t spans;
    struct summary_row summary;
    struct detail_span *waiting; /* for their tile */
    uint32_t waiting_count, waiting_room;
};

struct timeline_links {
    struct detail_link *waiting;
    uint32_t count;
};

struct timeline {
    struct timeline_row *rows;
    uint32_t row_count, row_room;
    uint32_t row_cells;             /* of summaries, for each row */
    uint16_t cells[TIMELINE_CELLS]; /* hash table of row numbers + 1 */
    struct timeline_links *links;   /* by the track to which they lead */
    uint32_t link_room;
    struct detail detail;
    uint64_t hidden;
    bool failed;
};

void timeline_start(struct timeline *timeline);
void timeline_stop(struct timeline *timeline);

/* more: two more numbers (struct detail_span), NULL on tracks that have none. */
void timeline_add_span(struct timeline *timeline, const struct trace_span *span,
                       const struct trace_detail *detail, const uint64_t *more, uint32_t kind);
void timeline_add_link(struct timeline *timeline, const struct trace_link *link);

/* Writes summaries (elements cells0, cells1 ... from fine to coarse) and tiles. False if anything
 * is missing. */
bool timeline_write(struct timeline *timeline, struct page_data *data, uint64_t budget_bytes,
                    struct detail_taken *taken, unsigned *levels_out);

#endif /* TIMELINE_H */
