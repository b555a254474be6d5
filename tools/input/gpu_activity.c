/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu_activity.h"

#include "table_bind.h"
#include "thread_map.h"

#include <stdlib.h>

enum { GPU_DEVICES_MAX = 4096 };

/* ---- gpux ------------------------------------------------------------------- */

bool gpu_facts_of_block(const struct rbwp_block *block, gpu_fact_fn *found, void *context)
{
    uint64_t proc_id;
    uint32_t count;
    if (!rbwp_gpu_extras(block, &proc_id, &count))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        struct rbwp_gpu_extra extra;
        rbwp_gpu_extra_get(block, i, &extra);
        found(context, &(struct gpu_fact){.proc_id = proc_id,
                                          .start_ns = extra.start_ns,
                                          .stop_ns = extra.stop_ns,
                                          .launch_ns = extra.launch_ns,
                                          .launched_ns = extra.launched_ns,
                                          .thread_id = extra.thread_id,
                                          .start_bound_ns = extra.start_gap_ns,
                                          .stop_bound_ns = extra.stop_gap_ns,
                                          .launching_ns = extra.launching_ns,
                                          .slot = GPU_ANY_SLOT,
                                          .idle = extra.flags & RBWP_GPU_EXTRA_IDLE});
    }
    return true;
}

/* ---- tables ----------------------------------------------------------------- */

bool gpu_facts_of_rows(const struct rbwp_rows *rows, gpu_fact_fn *found, void *context)
{
    const uint64_t *cells[COLUMNS_gpu_activity];
    if (!table_bind_rows(rows, KNOWN_gpu_activity, cells))
        return false;
#define CELL(name) table_cell(cells[AT_gpu_activity_##name], i)
    for (uint32_t i = 0; i < rows->rows; i++)
        found(context, &(struct gpu_fact){
                           .proc_id = CELL(processor),
                           .start_ns = (int64_t)CELL(start),
                           .stop_ns = (int64_t)CELL(stop),
                           .launch_ns = (int64_t)CELL(begin),
                           .launched_ns = (int64_t)CELL(end),
                           .thread_id = CELL(thread),
                           .start_bound_ns = CELL(start_bound),
                           .stop_bound_ns = CELL(stop_bound),
                           .launching_ns = CELL(launching),
                           .stream = CELL(stream),
                           .correlation = CELL(correlation),
                           .range = CELL(range),
                           .bytes = CELL(bytes),
                           .graph_node = CELL(graph_node),
                           .shape = CELL(shape),
                           .kind = CELL(kind) == GPU_COPY  ? GPU_COPY
                                   : CELL(kind) == GPU_SET ? GPU_SET
                                                           : GPU_KERNEL,
                           .name = (uint32_t)CELL(name), /* names are fewer than 2^32 */
                           .call_name = (uint32_t)CELL(call),
                           .slot = (int)(CELL(slot) & (RBWP_SLOTS_MAX - 1)),
                           .idle = CELL(idle) == 1,
                           .is_row = true,
                       });
#undef CELL
    return true;
}

#define CELL(name) table_cell(cells[AT_gpu_device_##name], row)

static struct rbwp_gpu_info device_of(const uint64_t *const *cells, uint32_t row,
                                      const struct rbwp_catalog *catalog)
{
    struct rbwp_text name = {"", 0};
    if (catalog)
        name = rbwp_catalog_name(catalog, CELL(name));
    return (struct rbwp_gpu_info){
        .name = name.text,
        .name_bytes = (uint16_t)(name.bytes < UINT16_MAX ? name.bytes : UINT16_MAX),
        .proc_id = CELL(processor),
        .api = (uint32_t)CELL(api),
        .rounds = (uint32_t)CELL(rounds),
        .bias_ns = (int64_t)CELL(bias),
        .spread_ns = (int64_t)CELL(bias_spread),
        .idle_rounds = (uint32_t)CELL(idle_rounds),
        .idle_bias_ns = (int64_t)CELL(idle_bias),
        .idle_spread_ns = (int64_t)CELL(idle_bias_spread),
    };
}

bool gpu_properties_of_rows(const struct rbwp_rows *rows, gpu_properties_fn *found, void *context)
{
    const uint64_t *cells[COLUMNS_gpu_device];
    if (!table_bind_rows(rows, KNOWN_gpu_device, cells))
        return false;
    for (uint32_t row = 0; row < rows->rows; row++)
        found(context, &(struct gpu_properties){.proc_id = CELL(processor),
                                                .multiprocessors = CELL(multiprocessors),
                                                .memory_bytes = CELL(memory),
                                                .name = (uint32_t)CELL(name)});
    return true;
}

#undef CELL

/* ---- devices ---------------------------------------------------------------- */

static bool gpu_activity_add(struct gpu_devices *devices, struct rbwp_gpu_info gpu)
{
    uint32_t at = 0;
    while (at < devices->count && devices->list[at].proc_id != gpu.proc_id)
        at++;
    if (at == GPU_DEVICES_MAX)
        return true; /* a hostile file */
    if (!GROW_ZEROED(devices->list, devices->room, at + 1))
        return false;
    devices->list[at] = gpu;
    devices->count += at == devices->count;
    return true;
}

bool gpu_devices_add(struct gpu_devices *devices, const struct rbwp_gpu_info *gpus, uint32_t count)
{
    bool good = true;
    for (uint32_t i = 0; good && i < count; i++) {
        struct rbwp_gpu_info gpu = gpus[i];
        gpu.name = "";
        gpu.name_bytes = 0;
        good = gpu_activity_add(devices, gpu);
    }
    return good;
}

bool gpu_devices_take(struct gpu_devices *devices, const struct rbwp_rows *rows,
                      const struct rbwp_catalog *catalog)
{
    const uint64_t *cells[COLUMNS_gpu_device];
    bool good = true, is = table_bind_rows(rows, KNOWN_gpu_device, cells);
    for (uint32_t i = 0; good && is && i < rows->rows; i++)
        good = gpu_activity_add(devices, device_of(cells, i, catalog));
    return good;
}

void gpu_devices_free(struct gpu_devices *devices)
{
    free(devices->list);
    *devices = (struct gpu_devices){0};
}

/* The bias of work, idle or not; 0: not known. */
static int64_t bias_of(const struct rbwp_gpu_info *gpu, bool idle)
{
    const bool apart = idle && gpu->idle_rounds > 0;
    const int64_t bias_ns = apart ? gpu->idle_bias_ns : gpu->rounds > 0 ? gpu->bias_ns : 0;
    return bias_ns > 0 ? bias_ns : 0;
}

bool gpu_devices_know_bias(const struct gpu_devices *devices)
{
    for (uint32_t i = 0; i < devices->count; i++)
        if (bias_of(&devices->list[i], false) || bias_of(&devices->list[i], true))
            return true;
    return false;
}

int64_t gpu_devices_stop(const struct gpu_devices *devices, uint64_t proc_id, int64_t start_ns,
                         int64_t stop_ns, bool idle)
{
    for (uint32_t i = 0; i < devices->count && stop_ns > start_ns; i++) {
        const struct rbwp_gpu_info *gpu = &devices->list[i];
        if (gpu->proc_id != proc_id)
            continue;
        uint64_t length_ns = (uint64_t)stop_ns - (uint64_t)start_ns;
        int64_t bias_ns = bias_of(gpu, idle);
        return length_ns > (uint64_t)bias_ns ? stop_ns - bias_ns : start_ns;
    }
    return stop_ns;
}
