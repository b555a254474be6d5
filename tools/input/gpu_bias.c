/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu_bias.h"

#include "message.h"

void gpu_bias_load(struct gpu_bias *bias, const struct input *input, const struct gpu_facts *facts)
{
    *bias = (struct gpu_bias){facts};
    if (!gpu_devices_know_bias(&facts->devices))
        message_plain("%s: the file knows no bias of a GPU; times are as stored", input->name);
}

int64_t gpu_bias_stop(const struct gpu_bias *bias, const struct rbwp_record *record)
{
    if (!bias->facts)
        return record->stop_ns;
    const struct gpu_fact *fact =
        gpu_facts_of(bias->facts, record->proc_id, record->slot, record->start_ns, record->stop_ns);
    return gpu_devices_stop(&bias->facts->devices, record->proc_id, record->start_ns,
                            record->stop_ns, fact && fact->idle);
}
