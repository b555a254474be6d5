/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_facts.h - what the blocks "gpux" of a file say of its GPU work (SPEC.md, section 9.1), found
 * by the record. They may stand anywhere in the file, so it is read once before.
 */
#ifndef GPU_FACTS_H
#define GPU_FACTS_H

#include "input.h"

struct gpu_fact {
    uint64_t proc_id;
    struct rbwp_gpu_extra extra;
};

struct gpu_facts {
    struct gpu_fact *fact; /* in the order of gpu_facts_of's key */
    size_t count, room;
};

/* Before the input's first block is taken and its decoding ahead begins; the input has its names
 * first. Reads nothing if the trailer tells of no GPU. False: no memory. */
bool gpu_facts_load(struct gpu_facts *facts, struct input *input);
void gpu_facts_free(struct gpu_facts *facts);

/* The facts of the GPU work of this processor and these times; NULL: there are none. */
const struct rbwp_gpu_extra *gpu_facts_of(const struct gpu_facts *facts, uint64_t proc_id,
                                          int64_t start_ns, int64_t stop_ns);

#endif /* GPU_FACTS_H */
