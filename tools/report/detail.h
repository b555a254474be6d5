/* SPDX-License-Identifier: Apache-2.0 */
/*
 * detail.h - single spans and links, in tiles that the page unpacks when it
 * shows them.
 *
 * All tiles go to a temporary file while the trace is read; only where they
 * are stays in memory. At the end those that the page has room for are
 * chosen by time: the run is cut into DETAIL_WINDOWS windows, and a window is
 * in the page with everything that touches it on all rows, or it is not.
 * First come the windows that were marked (the longest calls, losses), then
 * the first one, then others spread evenly over the run, until the budget is
 * used up.
 *
 * A tile is a row of numbers as varints, column after column (detail.c).
 */
#ifndef DETAIL_H
#define DETAIL_H

#include "page_data.h"
#include "trace.h"

enum { DETAIL_TILE = 1024, DETAIL_WINDOWS = 256, DETAIL_MARKS = 512 };

/* From one time to another. Times of GPU work may be anything: steps too large for a number wrap
 * around, or are told as about what they are. */
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

struct detail_span {
    int64_t start_ns, stop_ns;
    uint32_t kind;  /* number of what it is */
    uint32_t flags; /* enum detail_flag */
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
    int fd;                    /* of the temporary file, -1 none yet */
    uint64_t bytes;            /* in it */
    struct byte_buffer spool;  /* its end, not yet written */
    struct byte_buffer column; /* while a tile is made */
    struct detail_tile *tiles;
    size_t count, room;
    int64_t marks[DETAIL_MARKS]; /* times that should be in the page */
    uint32_t mark_count;
    bool failed; /* the user was told; tiles are missing */
};

/* What of it is in the page. */
struct detail_taken {
    /* Cut into windows; what lies outside counts to the outer ones. */
    int64_t first_ns, last_ns;
    uint8_t windows[DETAIL_WINDOWS]; /* 1: in the page */
    uint64_t spans, links;           /* in the page */
    bool all;
};

void detail_start(struct detail *detail);
void detail_stop(struct detail *detail);
/* Puts at most DETAIL_TILE spans into a tile. has_more: of a row with two more numbers a span. */
void detail_add_spans(struct detail *detail, uint32_t row, const struct detail_span *spans,
                      uint32_t count, bool has_more);
void detail_add_links(struct detail *detail, uint32_t to_track, const struct detail_link *links,
                      uint32_t count);
/* This time should be seen in full; the earlier marks are the more important ones. */
void detail_mark(struct detail *detail, int64_t time_ns);

/*
 * Writes the tiles of the windows that fit into budget_bytes of the page as elements tiles0, tiles1
 * ..., and then where they are, as the element index0. taken has first_ns and last_ns set.
 */
bool detail_write(struct detail *detail, struct page_data *data, uint64_t budget_bytes,
                  struct detail_taken *taken);

#endif /* DETAIL_H */
