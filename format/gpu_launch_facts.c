/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu_launch_facts.h"

#include "bytes.h"
#include "rbwp_writer.h"

#define TAG_BYTES 4u
#define ENTRY_BYTES_LEAST 40u /* start to stop gap */
#define ENTRIES_AT (TAG_BYTES + RBWP_GPU_EXTRA_HEAD_BYTES)

static bool has_tag(const struct rbwp_block *block)
{
    return block->header.records == 0 && block->header.data_bytes >= TAG_BYTES &&
           memcmp(block->data, RBWP_GPU_EXTRA_TAG, TAG_BYTES) == 0;
}

bool gpu_launch_facts_check(const struct rbwp_block *block)
{
    if (!has_tag(block))
        return true;
    if (block->header.data_bytes < ENTRIES_AT)
        return false;
    uint64_t entry_bytes = load_le32(block->data + 12), count = load_le32(block->data + 16);
    return entry_bytes >= ENTRY_BYTES_LEAST &&
           block->header.data_bytes - ENTRIES_AT == entry_bytes * count;
}

bool rbwp_gpu_extras(const struct rbwp_block *block, uint64_t *proc_id_out, uint32_t *count_out)
{
    if (!has_tag(block))
        return false;
    *proc_id_out = load_le64(block->data + 4);
    *count_out = load_le32(block->data + 16);
    return true;
}

void rbwp_gpu_extra_get(const struct rbwp_block *block, uint32_t index,
                        struct rbwp_gpu_extra *extra_out)
{
    const uint32_t entry_bytes = load_le32(block->data + 12);
    const uint8_t *entry = block->data + ENTRIES_AT + (size_t)index * entry_bytes;
    *extra_out = (struct rbwp_gpu_extra){
        .start_ns = load_le_i64(entry),
        .stop_ns = load_le_i64(entry + 8),
        .launch_ns = load_le_i64(entry + 16),
        .thread_id = load_le64(entry + 24),
        .start_gap_ns = load_le32(entry + 32),
        .stop_gap_ns = load_le32(entry + 36),
    };
    if (entry_bytes < RBWP_GPU_EXTRA_BYTES)
        return;
    extra_out->launched_ns = load_le_i64(entry + 40);
    extra_out->launching_ns = load_le32(entry + 48);
    extra_out->flags = load_le32(entry + 52);
}

uint32_t rbwp_gpu_extra_encode(uint64_t proc_id, const struct rbwp_gpu_extra *extras,
                               uint32_t count, uint8_t *data_out)
{
    store_le64(data_out, proc_id);
    store_le32(data_out + 8, RBWP_GPU_EXTRA_BYTES);
    store_le32(data_out + 12, count);
    uint8_t *entry = data_out + RBWP_GPU_EXTRA_HEAD_BYTES;
    for (uint32_t i = 0; i < count; i++, entry += RBWP_GPU_EXTRA_BYTES) {
        store_le_i64(entry, extras[i].start_ns);
        store_le_i64(entry + 8, extras[i].stop_ns);
        store_le_i64(entry + 16, extras[i].launch_ns);
        store_le64(entry + 24, extras[i].thread_id);
        store_le32(entry + 32, extras[i].start_gap_ns);
        store_le32(entry + 36, extras[i].stop_gap_ns);
        store_le_i64(entry + 40, extras[i].launched_ns);
        store_le32(entry + 48, extras[i].launching_ns);
        store_le32(entry + 52, extras[i].flags);
    }
    return (uint32_t)(entry - data_out);
}
