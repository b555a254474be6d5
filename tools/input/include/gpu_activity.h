/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_activity.h - what a file says of its GPU work beside the records: entries of blocks "gpux"
 * and rows of the tables gpu_activity and gpu_device (SPEC.md, sections 9.1, 9.3 and 10.10).
 */
#ifndef GPU_ACTIVITY_H
#define GPU_ACTIVITY_H

#include "rbwp_table.h"

#define GPU_ANY_SLOT (-1)

enum gpu_work_kind { GPU_KERNEL = 0, GPU_COPY = 1, GPU_SET = 2 }; /* as in the table */

struct gpu_fact {
    uint64_t proc_id;
    int64_t start_ns, stop_ns;              /* as in the record */
    int64_t launch_ns;                      /* when the call that launched it began to */
    int64_t launched_ns;                    /* when that call had been made; 0 not known */
    uint64_t thread_id;                     /* that made it; 0 one that does not record */
    uint64_t start_bound_ns, stop_bound_ns; /* start and stop may be wrong by so much */
    uint64_t launching_ns;                  /* the stream had been free for so long before start */
    uint64_t stream, correlation;           /* 0 not known */
    uint64_t range;                         /* in which it was launched, 0 none */
    uint64_t call;                     /* id of the span in which it was launched, 0 not known */
    uint64_t bytes, graph_node, shape; /* as in the table; 0 not known, or none */
    uint32_t name, call_name;          /* of the file's names, 0 not known */
    enum gpu_work_kind kind;
    int slot; /* GPU_ANY_SLOT: not known */
    bool idle;
    bool is_row; /* of gpu_activity: work even where no record is */
};

/* Certainly it ran so long of a duration, and at most so long. */
static inline uint64_t gpu_fact_least_ns(const struct gpu_fact *fact, uint64_t duration_ns)
{
    uint64_t gaps_ns = fact->start_bound_ns + fact->stop_bound_ns;
    bool none = gaps_ns < fact->stop_bound_ns || gaps_ns > duration_ns;
    return none ? 0 : duration_ns - gaps_ns;
}
static inline uint64_t gpu_fact_most_ns(const struct gpu_fact *fact, uint64_t duration_ns)
{
    return duration_ns + fact->launching_ns + fact->start_bound_ns + fact->stop_bound_ns;
}

typedef void gpu_fact_fn(void *context, const struct gpu_fact *fact);

/* Each hands out the facts of a block, in the order of the file; false if it holds none. */
bool gpu_facts_of_block(const struct rbwp_block *block, gpu_fact_fn *found, void *context);
bool gpu_facts_of_rows(const struct rbwp_rows *rows, gpu_fact_fn *found, void *context);

/* GPUs and how late their completions are seen; of those with the same processor the last counts.
 */
struct gpu_devices {
    struct rbwp_gpu_info *list;
    uint32_t count, room;
};
/* Both false without memory. Names are not read by the first, and are the catalog's in the second
 * (NULL: none); rows of other tables add nothing. */
bool gpu_devices_add(struct gpu_devices *devices, const struct rbwp_gpu_info *gpus, uint32_t count);
bool gpu_devices_take(struct gpu_devices *devices, const struct rbwp_rows *rows,
                      const struct rbwp_catalog *catalog);
/* What is known of a GPU itself; 0: not known. */
struct gpu_properties {
    uint64_t proc_id, multiprocessors, memory_bytes;
    uint32_t name; /* of the file's names */
};
typedef void gpu_properties_fn(void *context, const struct gpu_properties *properties);
/* Of the rows of gpu_device; false if it is another table. */
bool gpu_properties_of_rows(const struct rbwp_rows *rows, gpu_properties_fn *found, void *context);

void gpu_devices_free(struct gpu_devices *devices);

/* True if the bias of one of them is known. */
bool gpu_devices_know_bias(const struct gpu_devices *devices);
/* When work stopped that was seen to stop then: the bias earlier, but not before its start. As
 * stored if nothing is known of its GPU. */
int64_t gpu_devices_stop(const struct gpu_devices *devices, uint64_t proc_id, int64_t start_ns,
                         int64_t stop_ns, bool idle);

#endif /* GPU_ACTIVITY_H */
