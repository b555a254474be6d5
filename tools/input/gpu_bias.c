/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu_bias.h"

#include "message.h"

/* The bias of work, idle or not; 0: not known. */
static int64_t bias_of(const struct rbwp_gpu_info *gpu, bool idle)
{
    const bool apart = idle && gpu->idle_rounds > 0;
    const int64_t bias_ns = apart ? gpu->idle_bias_ns : gpu->rounds > 0 ? gpu->bias_ns : 0;
    return bias_ns > 0 ? bias_ns : 0;
}

void gpu_bias_load(struct gpu_bias *bias, const struct input *input, const struct gpu_facts *facts)
{
    const struct rbwp_trailer *trailer = rbwp_reader_trailer(input->reader);
    *bias = (struct gpu_bias){0};
    if (trailer)
        *bias = (struct gpu_bias){trailer->gpus, trailer->gpu_count, facts};
    bool any = false;
    for (uint32_t i = 0; i < bias->count; i++)
        any |= bias_of(&bias->gpus[i], false) || bias_of(&bias->gpus[i], true);
    if (!any)
        message_plain("%s: the file knows no bias of a GPU; times are as stored", input->name);
}

static bool is_idle(const struct gpu_bias *bias, const struct rbwp_record *record)
{
    const struct rbwp_gpu_extra *extra =
        gpu_facts_of(bias->facts, record->proc_id, record->start_ns, record->stop_ns);
    return extra && extra->flags & RBWP_GPU_EXTRA_IDLE;
}

int64_t gpu_bias_stop(const struct gpu_bias *bias, const struct rbwp_record *record)
{
    for (uint32_t i = bias->count; i > 0; i--) { /* of entries for one GPU the last one counts */
        const struct rbwp_gpu_info *gpu = &bias->gpus[i - 1];
        if (gpu->proc_id != record->proc_id)
            continue;
        if (record->stop_ns <= record->start_ns)
            return record->stop_ns;
        uint64_t length = (uint64_t)record->stop_ns - (uint64_t)record->start_ns;
        int64_t bias_ns = bias_of(gpu, is_idle(bias, record));
        return length > (uint64_t)bias_ns ? record->stop_ns - bias_ns : record->start_ns;
    }
    return record->stop_ns;
}
