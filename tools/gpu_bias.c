/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu_bias.h"

#include "message.h"

static bool is_known(const struct rbwp_gpu_info *gpu)
{
    return gpu->rounds > 0 && gpu->bias_ns > 0;
}

void gpu_bias_load(struct gpu_bias *bias, const struct input *input)
{
    const struct rbwp_trailer *trailer = rbwp_reader_trailer(input->reader);
    *bias = (struct gpu_bias){0};
    if (trailer)
        *bias = (struct gpu_bias){trailer->gpus, trailer->gpu_count};
    bool any = false;
    for (uint32_t i = 0; i < bias->count; i++)
        any |= is_known(&bias->gpus[i]);
    if (!any)
        message_plain("%s: the file knows no bias of a GPU; times are as stored", input->name);
}

int64_t gpu_bias_stop(const struct gpu_bias *bias, const struct rbwp_record *record)
{
    for (uint32_t i = bias->count; i > 0; i--) { /* of entries for one GPU the last one counts */
        const struct rbwp_gpu_info *gpu = &bias->gpus[i - 1];
        if (gpu->proc_id != record->proc_id)
            continue;
        if (!is_known(gpu) || record->stop_ns <= record->start_ns)
            return record->stop_ns;
        uint64_t length = (uint64_t)record->stop_ns - (uint64_t)record->start_ns;
        return length > (uint64_t)gpu->bias_ns ? record->stop_ns - gpu->bias_ns : record->start_ns;
    }
    return record->stop_ns;
}
