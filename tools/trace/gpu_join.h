/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_join.h - GPU work and what the file says of it beside its record.
 *
 * Records and facts come in any order, however far apart; when all have come,
 * each record has found its fact: the first that is left of those with the
 * same processor, start, stop and, if the fact tells it, slot. Memory is
 * bounded.
 */
#ifndef GPU_JOIN_H
#define GPU_JOIN_H

#include "gpu_activity.h"
#include "merge_sorter.h"
#include "trace.h"

/* A GPU_WORK record. */
struct gpu_work {
    uint64_t proc_id, thread_id; /* thread_id: whose record it is */
    int64_t start_ns, stop_ns, record_ns;
    uint64_t id; /* of the file's spans */
    int slot;
    uint32_t inferred_track; /* TRACE_NONE: no launch was inferred */
    int64_t inferred_ns;     /* on the trace's axis */
};

struct gpu_join {
    struct merge_sorter items;
    uint64_t next;
};

void gpu_join_start(struct gpu_join *join);
void gpu_join_work(struct gpu_join *join, const struct gpu_work *work);
void gpu_join_fact(struct gpu_join *join, const struct gpu_fact *fact);
/* found: of each record, fact NULL if it has none; of each row without a record, work NULL. In the
 * order of processors and starts. False if some are missing, which the user was told. */
bool gpu_join_finish(struct gpu_join *join,
                     void (*found)(void *context, const struct gpu_work *work,
                                   const struct gpu_fact *fact),
                     void *context);
void gpu_join_stop(struct gpu_join *join);

#endif /* GPU_JOIN_H */
