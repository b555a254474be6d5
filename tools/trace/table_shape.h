/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_shape.h - what the roles of a schema's columns make of its rows.
 */
#ifndef TABLE_SHAPE_H
#define TABLE_SHAPE_H

#include "index_map.h"
#include "table_bind.h"
#include "trace.h"
#include "trace_span.h"

/* Where rows of the tables lane_span, device_event and kernel_block are shown:
 * below the GPU that their kernel ran on.
 *
 *     GPU -> "lanes" -> SM, or block where the SM is not known -> group
 *     GPU -> "events" -> chiplet and compute unit
 *     GPU -> "blocks" -> SM -> warp; or block -> thread where the SM is not known
 *
 * They are ranges: the GPU's work is counted by the kernel around them. */

#define KERNEL_TRACKS_MAX (256u << 10) /* of a file; further ones share the last one */

enum kernel_table { KERNEL_NONE, KERNEL_LANES, KERNEL_EVENTS, KERNEL_BLOCKS };

/* Columns of such a table that are looked at, TABLE_NO_COLUMN where the file lacks one. */
struct kernel_columns {
    enum kernel_table table;
    uint16_t processor, launch, kind, bound, block, group, sm, program, xcc, cu, thread, warp;
};
void kernel_columns_find(struct kernel_columns *columns, const struct rbwp_schema *schema);
/* Its place on a track says what the column does. */
bool kernel_columns_hide(const struct kernel_columns *columns, uint16_t column);

struct kernel_track;
struct kernel_place;

struct kernel_tracks {
    struct trace *trace;
    struct kernel_track *list;
    struct index_map by_key;
    uint32_t count, room;
    struct kernel_place *places; /* that were found last */
    bool failed;                 /* out of memory */
};

/* Where a row is to be shown. */
struct kernel_place_row {
    enum kernel_table table;
    uint64_t processor, block, group, xcc, cu, thread;
    uint64_t sm, warp; /* UINT64_MAX: not known */
};
/* The track, if it was found lately; TRACE_NONE: it was not. */
uint32_t kernel_tracks_known(const struct kernel_tracks *tracks,
                             const struct kernel_place_row *row);
/* The track below that of the processor, which is gpu_track. */
uint32_t kernel_tracks_find(struct kernel_tracks *tracks, uint32_t gpu_track,
                            const struct kernel_place_row *row, struct trace_text group_name);
void kernel_tracks_free(struct kernel_tracks *tracks);

/* ---- message rows ---------------------------------------------------------------------------- */

/* Their columns; key is TABLE_NO_COLUMN of any other table. */
struct message_columns {
    bool handled;
    uint16_t key, arrived, bytes;
};

/* One end of a message, whose span that is. */
struct trace_message_end message_rows_end(const struct message_columns *columns,
                                          const struct rbwp_rows *rows, uint32_t row,
                                          const struct trace_axis *axis,
                                          const struct trace_span *span);

/* ---- what rows of the table wait (SPEC.md, section 9.3) say beyond their roles --------------- */

/* Its columns; waker is TABLE_NO_COLUMN of any other table. */
struct wait_columns {
    uint16_t waker, delay, outcome;
};

struct wait_wake {
    uint64_t waker;          /* thread */
    struct trace_span delay; /* from the signal to the end of the wait: lies inside of it */
};
/* The wait's span gets its flags. False: nobody is known to have ended it. */
bool wait_rows_wake(const struct wait_columns *columns, const struct rbwp_rows *rows, uint32_t row,
                    struct trace_span *span, struct wait_wake *wake_out);

/* ---- table shape ----------------------------------------------------------------------------- */

enum table_kind { TABLE_UNKNOWN, TABLE_SPANS, TABLE_COUNTERS, TABLE_INSTANTS };

struct table_shape {
    enum table_kind kind;
    uint16_t start, stop, label, track, thread; /* columns, TABLE_NO_COLUMN none */
    uint16_t start_bound, stop_bound, from, to, category, link_kind, item;
    uint16_t handed_by; /* of the table queued: the thread that did so */
    uint16_t unit;      /* of counters: a name that is the unit of the row's value */
    bool stop_is_duration;
    uint16_t counters[RBWP_COLUMNS_MAX], args[RBWP_COLUMNS_MAX];
    uint16_t counter_count, arg_count;
    uint32_t keys[RBWP_COLUMNS_MAX];           /* names of the columns as labels, by column */
    uint32_t table;                            /* number in the trace, of TABLE_UNKNOWN; */
    uint32_t label_name, from_space, to_space; /* labels: the table's name, of the keys */
    uint32_t category_word, link_word;         /* of rows whose cell has none, 0 none; */
    uint8_t category_meant, link_meant;        /* what these say */
    struct kernel_columns kernel;
    struct wait_columns wait;
    struct message_columns message;
    bool has_stack;              /* rows of the table open_call: the stack is an argument */
    bool has_bytes;              /* a column of bytes, or a stack */
    struct trace_detail *detail; /* of the row before; NULL: rows have texts, or no detail */
    struct row_stream *stream;   /* of spans; NULL: their order says nothing */
};

/* The category and kind of link (and one more, 0 for a word of nobody) that a word means. Those of
 * records and of what is made of other rows are nobody's. */
uint8_t table_category(struct trace_text word);
uint8_t table_link_kind(struct trace_text word);

/* The first column of a role and of a type that suits it counts; others are arguments. */
void table_shape_find(struct table_shape *shape, const struct rbwp_schema *schema);

#endif /* TABLE_SHAPE_H */
