/* SPDX-License-Identifier: Apache-2.0 */
/*
 * firefox_profile.h - a profile for the Firefox Profiler being made: what its parts share.
 *
 * export_firefox.c takes spans and counters into columns, firefox_file.c writes
 * the file.
 */
#ifndef FIREFOX_PROFILE_H
#define FIREFOX_PROFILE_H

#include "export.h"
#include "spool.h"
#include "viewer_parts.h"
#include "dropped_report.h"

#define FIREFOX_NONE UINT32_MAX

/* What is kept of a lane's two tables, and of a counter: each a stream, one behind the other, whose
 * values become the columns at the end. */
enum firefox_stream {
    MARKER_DATA,
    MARKER_WHAT,
    MARKER_START,
    MARKER_END,
    SAMPLE_STACK,
    SAMPLE_TIME,
    SAMPLE_WEIGHT,
    LANE_STREAMS,
    COUNTER_TIME = 0,
    COUNTER_CHANGE,
    COUNTER_STREAMS
};

/* A stack: what runs, and the stack that it runs in. */
struct firefox_stack {
    uint32_t prefix, frame;
};

struct firefox_open {
    int64_t stop_ns;
    uint32_t stack;
};

struct firefox_lane {
    bool begun;
    uint32_t streams; /* the first */
    uint64_t markers, samples;
    struct firefox_open *open; /* outermost first */
    uint32_t depth, room;
    /* Since when it has been in which stack, which is not written yet. */
    bool started;
    int64_t since_ns;
    uint32_t stack;
};

struct firefox_row {
    struct trace_track track; /* first, for track_order_all */
    struct firefox_lane *lanes;
    uint32_t lane_count;
    uint64_t samples; /* of a counter */
    uint32_t streams;
    struct trace_sample last;
};

struct firefox {
    struct trace_pass *pass;
    struct spool spool;
    struct spool_print *print; /* at the end */
    struct out data;           /* makes what few markers have of data, */
    struct buffer tail;        /* which then is here */
    struct firefox_row *rows;  /* by track */
    uint32_t row_count, row_room, process_count, name_count;
    struct thread_map frames; /* names and categories */
    struct thread_map stacks; /* prefixes and frames */
    struct firefox_stack *stack_list;
    uint32_t stack_room;
    struct thread_map fields; /* names of arguments */
    char *key;                /* of a field */
    uint32_t key_room;
    bool timed;
    int64_t first_ns, last_ns; /* of all spans and counters, when timed */
    struct kept_facts facts, losses;
    struct viewer_text text;
    struct dropped dropped;
    uint64_t misfits;
};

/* The stack of a span in prefix (FIREFOX_NONE: outermost); FIREFOX_NONE when there are too many. */
uint32_t firefox_stack_of(struct firefox *firefox, uint32_t prefix, uint32_t name,
                          uint8_t category);
static inline uint32_t firefox_frame_name(const struct firefox *firefox, uint32_t frame)
{
    return (uint32_t)(firefox->frames.ids[frame] >> 8);
}
static inline uint32_t firefox_frame_category(const struct firefox *firefox, uint32_t frame)
{
    return (uint32_t)(firefox->frames.ids[frame] & 0xff);
}

/* "arg.NAME": what an argument is called among the data of markers. Valid until the next call. */
struct trace_text firefox_field_key(struct firefox *firefox, uint32_t name);

/* The whole file, of what was taken. */
void firefox_write(struct firefox *firefox);

/* ---- firefox values -------------------------------------------------------------------------- */
/*
 * What of markers and samples is kept until the end, and the columns of JSON
 * that are made of it then, by all threads.
 *
 * A stream has values of one kind, behind each other without a gap.
 */

struct trace_span;

/* Milliseconds with six decimals, so many bytes at most. */
#define FIREFOX_MS_MAX 24
char *firefox_put_ms(char *at, int64_t ns);

/* Each adds a value, and says nothing of a spool that failed. */

/* What every marker has, and tail, the members that few have, each behind a comma. */
void firefox_keep_data(struct spool *spool, uint32_t stream, const struct trace_span *span,
                       const struct buffer *tail);
/* Its name, category, and whether it is an instant. */
void firefox_keep_what(struct spool *spool, uint32_t stream, const struct trace_span *span);
/* A time, on the axis of the trace, or none. */
void firefox_keep_end(struct spool *spool, uint32_t stream, int64_t time_ns, bool there);

/* Of streams of these values. */
value_text_fn firefox_data, firefox_names, firefox_phases, firefox_categories, firefox_ends;
/* Of times that were put as near ones, and of numbers: nanoseconds; stacks, UINT32_MAX for none. */
value_text_fn firefox_times, firefox_lengths, firefox_stacks;

#endif /* FIREFOX_PROFILE_H */
