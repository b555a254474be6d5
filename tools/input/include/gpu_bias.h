/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_bias.h - GPU work without what noticing its end adds (SPEC.md, "GPUD").
 */
#ifndef GPU_BIAS_H
#define GPU_BIAS_H

#include "gpu_facts.h"

struct gpu_bias {
    const struct rbwp_gpu_info *gpus; /* the trailer's */
    uint32_t count;
    const struct gpu_facts *facts; /* tell which work was idle */
};

/* Takes what the trailer says; tells on standard error if it says nothing. facts stays in use. */
void gpu_bias_load(struct gpu_bias *bias, const struct input *input, const struct gpu_facts *facts);

/* When the work of a GPU_WORK record stopped; as stored if nothing is known of its GPU. */
int64_t gpu_bias_stop(const struct gpu_bias *bias, const struct rbwp_record *record);

#endif /* GPU_BIAS_H */
