/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_timeline.h - the spans of a trace as rows that can be drawn at any scale.
 *
 * A row is a track, a lane of it, and a depth: its spans do not overlap. Each
 * row has a summary (summary.h) of all of its spans, and its single spans go
 * to the tiles of detail.h. A page has at most TIMELINE_ROWS rows of depths
 * below TIMELINE_DEPTHS; spans elsewhere are counted as hidden, and the page
 * says so.
 */
#ifndef TIMELINE_H
#define TIMELINE_H

#include "detail.h"
#include "summary.h"
#include "trace.h"

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
    uint32_t *cells; /* hash table of numbers + 1; 0 is a free cell */
    uint32_t count, room, cell_count;
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
                       const uint64_t *more, uint32_t kind);
void timeline_add_link(struct timeline *timeline, const struct trace_link *link);

/* Writes summaries (elements cells0, cells1 ... from fine to coarse) and tiles. False if anything
 * is missing. */
bool timeline_write(struct timeline *timeline, struct page_data *data, uint64_t budget_bytes,
                    struct detail_taken *taken, unsigned *levels_out);

#endif /* TIMELINE_H */
