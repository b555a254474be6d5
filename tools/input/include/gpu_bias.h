/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_bias.h - GPU work without what noticing its end adds (SPEC.md, sections 9.3 and 10.10),
 * record by record.
 */
#ifndef GPU_BIAS_H
#define GPU_BIAS_H

#include "gpu_facts.h"

struct gpu_bias {
    const struct gpu_facts *facts; /* NULL: times are as stored */
};

/* Takes what the facts say; tells on standard error if they say nothing. facts stays in use. */
void gpu_bias_load(struct gpu_bias *bias, const struct input *input, const struct gpu_facts *facts);

/* When the work of a GPU_WORK record stopped; as stored if nothing is known of its GPU. */
int64_t gpu_bias_stop(const struct gpu_bias *bias, const struct rbwp_record *record);

#endif /* GPU_BIAS_H */
