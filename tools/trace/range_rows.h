/* SPDX-License-Identifier: Apache-2.0 */
/*
 * range_rows.h - the table of ranges (SPEC.md, section 9.3): each on a track below its thread; and
 * when the work that was launched in one ran, on a track for each stream below its GPU.
 *
 * A range whose row had gone to the file before it ended has two rows, which may stand far
 * apart. Annotations that the file has are shown as it has them, and no others are made then.
 */
#ifndef RANGE_ROWS_H
#define RANGE_ROWS_H

#include "gpu_activity.h"
#include "table_rows.h"

struct rbwp_annotator;

struct range_rows {
    struct table_rows_host host;
    struct trace *trace;
    const struct trace_read_options *options;
    uint32_t process;
    bool filtered;
    int64_t last_ns;   /* of the session, on the file's axis: ranges that are open end there */
    int64_t unsure_ns; /* ends of those that began before it may be missing */

    struct merge_sorter halves; /* of ranges that may have two rows */
    struct span_sorter spans;
    struct detail_maker detail;
    struct thread_map threads;
    uint32_t *tracks, track_room; /* of each thread's ranges, + 1 */
    uint32_t *names, name_room;   /* labels of the file's names */
    uint32_t keys[5];             /* labels of arguments */
    uint32_t stream_track;        /* of the annotation that came last, */
    uint64_t stream_gpu, stream;  /* and whose */
    bool any_stream;
    struct rbwp_annotator *annotator; /* NULL: nothing to annotate */
    bool annotated;                   /* the file has annotations */
    bool failed;                      /* out of memory */
};

/* host to last_ns are set. */
void range_rows_start(struct range_rows *ranges);
/* False: they are no ranges, and somebody else's (annotations are, too). */
bool range_rows_take(struct range_rows *ranges, const struct rbwp_catalog *catalog,
                     const struct rbwp_rows *rows);
/* Work of a GPU, and its span. */
void range_rows_work(struct range_rows *ranges, const struct gpu_fact *fact,
                     const struct trace_span *span);
/* Passes on what was gathered, when all works have come. False, with the message given,
 * when some is missing. */
bool range_rows_finish(struct range_rows *ranges);
void range_rows_stop(struct range_rows *ranges);

#endif /* RANGE_ROWS_H */
