/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_tracks.h - where rows of the tables lane_span, device_event and kernel_block are shown:
 * below the GPU that their kernel ran on.
 *
 *     GPU -> "lanes" -> SM, or block where the SM is not known -> group
 *     GPU -> "events" -> chiplet and compute unit
 *     GPU -> "blocks" -> SM -> warp; or block -> thread where the SM is not known
 *
 * They are ranges: the GPU's work is counted by the kernel around them.
 */
#ifndef KERNEL_TRACKS_H
#define KERNEL_TRACKS_H

#include "trace.h"

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
    struct kernel_track *cells; /* hash table */
    uint32_t count, cell_count;
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

#endif /* KERNEL_TRACKS_H */
