/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inside_kernels.h - what groups of warps did inside kernels, added up by kernel and group.
 *
 * Takes the spans that kernels noted: on tracks below GPU -> "lanes" -> SM or block -> group, and
 * below GPU -> "events" and GPU -> "blocks" (of which all make one group). A span belongs to the
 * GPU's work whose correlation its row has as launch, else to that which encloses it, give or take
 * its bound.
 *
 * What is counted, of each block of each launch:
 * - the block's time: from the first start to the last stop that any of its groups noted;
 * - a group is busy while it is in a span and the innermost span is no waiting one, and waits while
 *   it is one; the rest of the block's time nothing is known;
 * - the overlap of two groups: both are busy.
 * A span waits if its event's name begins with "wait", is "barrier", or is what an id of 3072 to
 * 4095 without a name is called ("event_3100").
 *
 * Spans go through a sorter (merge_sorter.h), so memory is bounded by the GPU's work: 40 bytes for
 * each piece on a GPU that has lanes.
 */
#ifndef INSIDE_KERNELS_H
#define INSIDE_KERNELS_H

#include "histogram.h"
#include "merge_sorter.h"
#include "trace_track.h"

/* ---- source lines of kernels ----------------------------------------------------------------- */
/*
 * What probes recorded in kernels (table kernel_block), added up by source line, and who followed
 * whom.
 *
 * Lanes are the threads that recorded, of each launch for itself. Of a line's records: how many,
 * their cycles (without what a probe costs) and quantiles of these, within 1.6 %; and how far lanes
 * lie apart, 1 - least / greatest of the sums of those that have any: the mean over launches by
 * their cycles. An edge is a step of a lane from one probe to the next: inside a record whose
 * numbers differ (a branch that was taken), and from a record's end to the next one's start.
 *
 * Records go through sorters, so memory is bounded by the number of lines and edges.
 */

struct trace_detail;
struct trace_span;

#define KERNEL_LINES_MAX (1u << 16) /* of all kernels; the rest is counted */
#define KERNEL_EDGES_MAX (1u << 17) /* likewise */

struct kernel_line {
    struct trace_text place, file; /* file: its path, empty not known */
    uint64_t line;                 /* 0 not known */
    uint64_t count, cycles, p50, p99, most;
    double spread;
};

/* A probe, and its line: in its kernel's lines. */
struct kernel_probe {
    uint64_t id, count, cycles; /* of the records that begin with it */
    uint32_t line, unused;
};

struct kernel_edge {
    uint64_t from, to, count;
};

struct kernel_sums {
    struct trace_text name;
    uint64_t launches, lanes, records, cycles;
    uint64_t recorded_ns, between_ns; /* in records; from one to the next of its lane */
    uint32_t first_line, line_count;  /* by file and line */
    uint32_t first_probe, probe_count;
    uint32_t first_edge, edge_count;
    uint32_t number, unused; /* used while they are put in order */
};

struct kernel_lines {
    struct kernel_sums *kernels; /* after finish: most cycles first */
    struct kernel_line *lines;
    struct kernel_probe *probes;
    struct kernel_edge *edges;
    uint32_t kernel_count, line_count, probe_count, edge_count;
    uint64_t dropped; /* lines, probes and edges beyond the most */
    bool failed;      /* out of memory or of disk, with a message */

    /* While spans come. */
    struct merge_sorter records, lanes;
    uint32_t category, keys[8]; /* numbers of names + 1, 0: not met yet */
    uint32_t kernel_room, line_room, probe_room, edge_room;
};

void kernel_lines_start(struct kernel_lines *lines);
void kernel_lines_name(struct kernel_lines *lines, uint32_t number, struct trace_text name);
/* gpu: the track of the GPU, which distinguishes launches with the same id. */
void kernel_lines_span(struct kernel_lines *lines, const struct trace_span *span,
                       const struct trace_detail *detail, uint32_t gpu);
/* names: by number; their texts must stay. */
void kernel_lines_finish(struct kernel_lines *lines, const struct trace_text *names,
                         uint32_t count);
void kernel_lines_free(struct kernel_lines *lines);

/* ---- what ran inside ------------------------------------------------------------------------- */

#define INSIDE_KERNELS_MAX 4096u /* what comes beyond goes into the last one, "(others)" */
#define INSIDE_GROUPS_MAX 16u    /* of a kernel; likewise */
#define INSIDE_PAIRS_MAX (INSIDE_GROUPS_MAX * (INSIDE_GROUPS_MAX - 1) / 2)

struct inside_group {
    struct trace_text name;   /* that of the track, which stays */
    uint64_t spans, instants; /* instants are no spans */
    uint64_t unended;         /* of the spans: without an end */
    uint64_t lanes, time_ns;  /* blocks of launches that it noted something in; their time */
    uint64_t busy_ns, waiting_ns;
};

struct inside_kernel {
    struct trace_text name;             /* a copy; empty: of spans that no known work is around */
    uint64_t launches, blocks, time_ns; /* of blocks */
    struct inside_group groups[INSIDE_GROUPS_MAX];
    uint32_t group_count, number;       /* number: used while they are put in order */
    uint64_t both_ns[INSIDE_PAIRS_MAX]; /* by inside_pair */
};

/* Work of a GPU with something noted inside. */
struct inside_work {
    uint64_t correlation;
    int64_t start_ns, stop_ns;
    uint32_t gpu, name; /* a track, a name */
    uint32_t kernel;    /* TRACE_NONE until something inside was found */
    uint32_t unused;
};

/* Where a track lies. */
struct inside_track {
    uint32_t gpu, group; /* numbers of tracks + 1, 0: nothing inside kernels */
    bool is_gpu, has_inside, one_group;
    struct trace_text name;
};

struct inside_kernels {
    struct inside_kernel *kernels; /* after finish: by time, most first */
    struct inside_work *works;     /* after finish: by GPU and start */
    uint32_t kernel_count, work_count;
    uint64_t spans; /* that were taken */

    /* While it is filled. */
    struct inside_track *tracks;
    bool *waits;                       /* by name */
    uint32_t block_name, program_name; /* numbers of these arguments' names + 1 */
    struct merge_sorter noted;
    uint32_t track_room, waits_room, kernel_room, work_room;
    bool failed; /* out of memory, or of room for temporary files */
};

void inside_kernels_start(struct inside_kernels *inside);
/* Its name stays as long as inside. */
void inside_kernels_track(struct inside_kernels *inside, const struct trace_track *track);
void inside_kernels_name(struct inside_kernels *inside, uint32_t number, struct trace_text name);
void inside_kernels_span(struct inside_kernels *inside, const struct trace_span *span,
                         const struct trace_detail *detail);
/* names: of spans, by number, count of them. */
void inside_kernels_finish(struct inside_kernels *inside, const struct trace_text *names,
                           uint32_t count);
void inside_kernels_free(struct inside_kernels *inside);

/* Where a span inside a kernel belongs; false: it is none. launch: 0 not known. */
bool inside_kernels_place(const struct inside_kernels *inside, const struct trace_span *span,
                          const struct trace_detail *detail, uint64_t *block_out,
                          uint64_t *launch_out);
/* The track of the GPU that a track inside kernels is below, TRACE_NONE without. */
static inline uint32_t inside_kernels_gpu(const struct inside_kernels *inside, uint32_t track)
{
    return track < inside->track_room && inside->tracks[track].gpu ? inside->tracks[track].gpu - 1
                                                                   : TRACE_NONE;
}
/* Whether what is on a track is of use: such spans, or the work that they belong to. */
static inline bool inside_kernels_takes(const struct inside_kernels *inside, uint32_t track)
{
    return track < inside->track_room &&
           (inside->tracks[track].gpu || inside->tracks[track].has_inside);
}
/* Whether a track is for such spans. Before finish. */
static inline bool inside_kernels_has(const struct inside_kernels *inside, uint32_t track)
{
    return track < inside->track_room && inside->tracks[track].gpu;
}

/* Whether a span whose event has this name waits. */
bool inside_is_wait(struct trace_text name);

/* Where two groups, a < b, have their overlap. */
static inline uint32_t inside_pair(uint32_t a, uint32_t b)
{
    return b * (b - 1) / 2 + a;
}
/* Part of a group's time, 0 to 1. */
static inline double inside_share(const struct inside_group *group, uint64_t part_ns)
{
    return group->time_ns ? (double)part_ns / (double)group->time_ns : 0;
}
/* How much of the time of the one that was less busy both were: 1 if it was wholly hidden behind
 * the other. */
double inside_overlap(const struct inside_kernel *kernel, uint32_t a, uint32_t b);

#endif /* INSIDE_KERNELS_H */
