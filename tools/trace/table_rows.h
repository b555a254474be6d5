/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_rows.h - the rows of any table as what the roles of its columns say they are.
 *
 * A table with START and STOP becomes spans, one with START and COUNTER
 * counters, one with START alone points in time; what has no START goes to the
 * sink as the table that it is. LABEL names them; THREAD and TRACK (of counters also
 * LABEL) say on which track they are: one below the thread, or the process, for each table and
 * value. LINK_FROM and LINK_TO are keys: of the trace if their column has a unit, and then joined
 * by it, else of the table in this file. Other columns become arguments. What kernels noted lies
 * below their GPU (table_shape.h).
 */
#ifndef TABLE_ROWS_H
#define TABLE_ROWS_H

#include "row_stream.h"
#include "span_batch.h"
#include "span_detail.h"
#include "span_sorter.h"
#include "table_shape.h"
#include "trace_source.h"

#define TABLE_TRACKS_MAX (16u << 10) /* of a file; further values share the last one */

struct table_rows_host {
    void *context;
    uint64_t (*new_ids)(void *context, uint32_t count); /* the first of them */
    /* The thread's track, made if need be; TRACE_NONE: it is not wanted. */
    uint32_t (*thread_track)(void *context, uint64_t thread_id, int64_t time_ns);
    /* Of a row of the table open_call; empty: its stack is not known, or not wanted. */
    struct trace_text (*stack)(void *context, uint64_t thread_id, int64_t time_ns);
    uint32_t (*gpu_track)(void *context, uint64_t processor);
    /* The number of a work item's name. */
    uint32_t (*slot_name)(void *context, uint32_t slot, int64_t time_ns);
    /* On the file's axis. */
    bool (*wanted)(void *context, uint64_t thread_id, int64_t start_ns, int64_t stop_ns);
    bool (*clip)(void *context, struct trace_span *span);
};

struct table_track;

struct table_rows {
    struct table_rows_host host;
    struct trace *trace;
    const struct trace_read_options *options;
    const struct rbwp_trailer *trailer; /* NULL: none */
    uint32_t process;
    bool filtered; /* tables that become nothing else are dropped */

    const struct rbwp_catalog *catalog;
    struct table_shape **shapes; /* by number of the table */
    uint32_t shape_room;
    struct table_track *tracks;
    uint32_t track_count, track_room;
    struct index_map track_places;
    uint32_t *names, name_room; /* labels of the file's names */
    struct kernel_tracks kernels;
    struct span_batch *batch;  /* of rows that come in order */
    struct span_place *places; /* of their tracks */
    uint32_t place_room, first_track;
    struct row_marks marks;   /* of a block whose rows are sorted */
    struct span_sorter spans; /* of the others */
    struct sample_sorter samples;
    struct detail_maker detail;
    bool failed; /* out of memory */
};

/* host, trace, options, trailer, process and filtered are set. */
void table_rows_start(struct table_rows *tables);
void table_rows_take(struct table_rows *tables, const struct rbwp_catalog *catalog,
                     const struct rbwp_rows *rows);
/* Passes on what was gathered. False when some is missing, with a message. */
bool table_rows_finish(struct table_rows *tables);
void table_rows_stop(struct table_rows *tables);

#endif /* TABLE_ROWS_H */
