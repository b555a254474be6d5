/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_bias.h - GPU work without what noticing its end adds (SPEC.md, sections 9.3 and 10.10),
 * record by record.
 */
#ifndef GPU_BIAS_H
#define GPU_BIAS_H

#include "gpu_activity.h"
#include "input.h"
#include "record_pairs.h"

/* ---- launching calls ------------------------------------------------------------------------- */
/*
 * In which call of a work item GPU work was launched.
 *
 * Facts have thread and time of a launch; the call around it may stand before them in the file or
 * behind. Of each thread the last calls are kept, and the facts whose call has not ended yet wait
 * for it. Both are bounded: a fact that waits too long, or comes too late, has no call.
 */

#define LAUNCH_CALLS_KEPT (64u << 10)    /* calls of a thread */
#define LAUNCH_CALLS_WAITING (16u << 10) /* facts of a thread */

struct launch_calls; /* opaque */

/* ready: takes each fact once, with its call. NULL without memory. */
struct launch_calls *launch_calls_new(gpu_fact_fn *ready, void *context);
/* A call that ended; those of a thread in their order. Others than PAIR_COARSE with both ends are
 * passed over. */
void launch_calls_add(struct launch_calls *calls, const struct record_pair *call);
void launch_calls_fact(struct launch_calls *calls, const struct gpu_fact *fact);
/* Hands out what waits. */
void launch_calls_finish(struct launch_calls *calls);
/* True if facts have no call for want of memory. */
bool launch_calls_failed(const struct launch_calls *calls);
void launch_calls_free(struct launch_calls *calls);

/* ---- all that a file says of its GPU work beside the records, found by the record ------------ */

struct gpu_facts {
    struct gpu_fact *list; /* in the order of gpu_facts_of's key */
    uint32_t count, room;
    struct gpu_devices devices;
    struct rbwp_catalog *catalog; /* of the facts' names; NULL: there are no tables */
};

/*
 * Before the input's first block is taken and its decoding ahead begins; the input has its names
 * first. calls: with the calls in which the work was launched. Reads nothing if the trailer says
 * that there is nothing. False: no memory.
 */
bool gpu_facts_load(struct gpu_facts *facts, struct input *input, bool calls);
void gpu_facts_free(struct gpu_facts *facts);

/* The facts of a GPU_WORK record of these; NULL: there are none. */
const struct gpu_fact *gpu_facts_of(const struct gpu_facts *facts, uint64_t proc_id, int slot,
                                    int64_t start_ns, int64_t stop_ns);

/* ---- gpu bias -------------------------------------------------------------------------------- */

struct gpu_bias {
    const struct gpu_facts *facts; /* NULL: times are as stored */
};

/* Takes what the facts say; gives a message if they say nothing. facts stays in use. */
void gpu_bias_load(struct gpu_bias *bias, const struct input *input, const struct gpu_facts *facts);

/* When the work of a GPU_WORK record stopped; as stored if nothing is known of its GPU. */
int64_t gpu_bias_stop(const struct gpu_bias *bias, uint64_t proc_id, int slot, int64_t start_ns,
                      int64_t stop_ns);

#endif /* GPU_BIAS_H */
