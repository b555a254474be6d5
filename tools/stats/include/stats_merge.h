/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stats_merge.h - sums of many files, each added up for itself, put together.
 *
 * All is as if the files had been read one after the other into the same sums, but for these: how
 * many workers were busy at the same time is counted on each node, and then added up; the busy time
 * of all over time is as exact as the nodes' cells (busy_cells.h); what happened inside kernels is
 * left out.
 */
#ifndef STATS_MERGE_H
#define STATS_MERGE_H

#include "stats.h"

/* Puts part, which is finished, into all, which is not; part's times are later there by shift_ns.
 * part has nothing of its own any more, and is to be freed. False when out of memory, which the
 * user was told. */
bool stats_merge(struct stats *all, struct stats *part, int64_t shift_ns);
/* In place of stats_finish. */
void stats_merge_finish(struct stats *all);

#endif /* STATS_MERGE_H */
