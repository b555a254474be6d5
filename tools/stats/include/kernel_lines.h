/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_lines.h - what probes recorded in kernels (table kernel_block), added up by source line,
 * and who followed whom.
 *
 * Lanes are the threads that recorded, of each launch for itself. Of a line's records: how many,
 * their cycles (without what a probe costs) and quantiles of these, within 1.6 %; and how far lanes
 * lie apart, 1 - least / greatest of the sums of those that have any: the mean over launches by
 * their cycles. An edge is a step of a lane from one probe to the next: inside a record whose
 * numbers differ (a branch that was taken), and from a record's end to the next one's start.
 *
 * Records go through sorters, so memory is bounded by the number of lines and edges.
 */
#ifndef KERNEL_LINES_H
#define KERNEL_LINES_H

#include "histogram.h"
#include "merge_sorter.h"
#include "trace_text.h"

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

#endif /* KERNEL_LINES_H */
