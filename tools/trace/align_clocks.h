/* SPDX-License-Identifier: Apache-2.0 */
/*
 * align_clocks.h - files of one job, by the comparisons of clocks that its processes made
 * (SPEC.md, 10.15).
 *
 * The axis is that of the process with which the others compared their clocks, whether its file is
 * there or not. Each other file comes onto it by a line through its comparisons, so that clocks may
 * run at different rates.
 */
#ifndef ALIGN_CLOCKS_H
#define ALIGN_CLOCKS_H

#include "align.h"

struct clock_group {
    int first;          /* source with comparisons, -1: there is none */
    uint32_t reference; /* rank of the process that the clocks were compared with */
    int root;           /* its source, -1: not there */
};
struct clock_group clock_group_find(const struct trace_source *sources, int count);

/* True if the source, which is not the root, compared its clock with the group's reference. */
bool clock_group_has(const struct clock_group *group, const struct trace_source *sources, int i);

/* The way of a source of the group onto the axis of the reference, to which base_ns is added.
 * Comparisons that are much worse than the best one, and those that cannot be, are dropped. False
 * if none is left, or without memory, which is reported; free with align_free otherwise. */
bool align_by_clocks(const struct trace_source *source, int64_t base_ns, struct alignment *made);

#endif /* ALIGN_CLOCKS_H */
