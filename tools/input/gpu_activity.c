/* SPDX-License-Identifier: Apache-2.0 */
/* Columns are found by name, so that later versions may add some and other writers leave some out.
 */
#include "gpu_activity.h"

#include "rbwp_reader.h"
#include "thread_map.h"

#include <stdlib.h>
#include <string.h>

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

static bool is_table(const struct rbwp_rows *rows, const char *name)
{
    const struct rbwp_schema *schema = rows->schema;
    return schema->name_bytes == strlen(name) && memcmp(schema->name, name, strlen(name)) == 0;
}

/* The cells of a column; NULL if there is none of this name and type. */
static const uint64_t *column(const struct rbwp_rows *rows, const char *name, unsigned type)
{
    const struct rbwp_schema *schema = rows->schema;
    for (uint32_t i = 0; i < schema->column_count; i++) {
        const struct rbwp_column *one = &schema->columns[i];
        if (one->type == type && one->name_bytes == strlen(name) &&
            memcmp(one->name, name, one->name_bytes) == 0)
            return rows->cells[i];
    }
    return NULL;
}

static uint64_t cell(const uint64_t *cells, uint32_t row)
{
    return cells ? cells[row] : 0;
}

bool gpu_facts_of_rows(const struct rbwp_rows *rows, gpu_fact_fn *found, void *context)
{
    if (!is_table(rows, GPU_ACTIVITY_TABLE))
        return false;
    const uint64_t *start = column(rows, "start", RBWP_COLUMN_TIME);
    const uint64_t *stop = column(rows, "stop", RBWP_COLUMN_TIME);
    const uint64_t *begin = column(rows, "begin", RBWP_COLUMN_TIME);
    const uint64_t *end = column(rows, "end", RBWP_COLUMN_TIME);
    const uint64_t *processor = column(rows, "processor", RBWP_COLUMN_U64);
    const uint64_t *stream = column(rows, "stream", RBWP_COLUMN_U64);
    const uint64_t *thread = column(rows, "thread", RBWP_COLUMN_U64);
    const uint64_t *slot = column(rows, "slot", RBWP_COLUMN_U64);
    const uint64_t *correlation = column(rows, "correlation", RBWP_COLUMN_U64);
    const uint64_t *idle = column(rows, "idle", RBWP_COLUMN_U64);
    const uint64_t *start_bound = column(rows, "start_bound", RBWP_COLUMN_DURATION);
    const uint64_t *stop_bound = column(rows, "stop_bound", RBWP_COLUMN_DURATION);
    const uint64_t *launching = column(rows, "launching", RBWP_COLUMN_DURATION);
    const uint64_t *name = column(rows, "name", RBWP_COLUMN_NAME);
    const uint64_t *range = column(rows, "range", RBWP_COLUMN_U64);
    const uint64_t *kind = column(rows, "kind", RBWP_COLUMN_U64);
    const uint64_t *bytes = column(rows, "bytes", RBWP_COLUMN_U64);
    const uint64_t *node = column(rows, "graph_node", RBWP_COLUMN_U64);
    const uint64_t *shape = column(rows, "shape", RBWP_COLUMN_U64);
    const uint64_t *call = column(rows, "call", RBWP_COLUMN_NAME);
    for (uint32_t i = 0; i < rows->rows; i++)
        found(context, &(struct gpu_fact){
                           .proc_id = cell(processor, i),
                           .start_ns = (int64_t)cell(start, i),
                           .stop_ns = (int64_t)cell(stop, i),
                           .launch_ns = (int64_t)cell(begin, i),
                           .launched_ns = (int64_t)cell(end, i),
                           .thread_id = cell(thread, i),
                           .start_bound_ns = cell(start_bound, i),
                           .stop_bound_ns = cell(stop_bound, i),
                           .launching_ns = cell(launching, i),
                           .stream = cell(stream, i),
                           .correlation = cell(correlation, i),
                           .range = cell(range, i),
                           .bytes = cell(bytes, i),
                           .graph_node = cell(node, i),
                           .shape = cell(shape, i),
                           .kind = cell(kind, i) == GPU_COPY  ? GPU_COPY
                                   : cell(kind, i) == GPU_SET ? GPU_SET
                                                              : GPU_KERNEL,
                           .name = (uint32_t)cell(name, i), /* names are fewer than 2^32 */
                           .call_name = (uint32_t)cell(call, i),
                           .slot = (int)(cell(slot, i) & (RBWP_SLOTS_MAX - 1)),
                           .idle = cell(idle, i) == 1,
                           .is_row = true,
                       });
    return true;
}

static struct rbwp_gpu_info device_of(const struct rbwp_rows *rows, uint32_t row,
                                      const struct rbwp_catalog *catalog)
{
#define CELL(name, type) cell(column(rows, name, type), row)
    struct rbwp_text name = {"", 0};
    if (catalog)
        name = rbwp_catalog_name(catalog, CELL("name", RBWP_COLUMN_NAME));
    return (struct rbwp_gpu_info){
        .name = name.text,
        .name_bytes = (uint16_t)(name.bytes < UINT16_MAX ? name.bytes : UINT16_MAX),
        .proc_id = CELL("processor", RBWP_COLUMN_U64),
        .api = (uint32_t)CELL("api", RBWP_COLUMN_U64),
        .rounds = (uint32_t)CELL("rounds", RBWP_COLUMN_U64),
        .bias_ns = (int64_t)CELL("bias", RBWP_COLUMN_I64),
        .spread_ns = (int64_t)CELL("bias_spread", RBWP_COLUMN_U64),
        .idle_rounds = (uint32_t)CELL("idle_rounds", RBWP_COLUMN_U64),
        .idle_bias_ns = (int64_t)CELL("idle_bias", RBWP_COLUMN_I64),
        .idle_spread_ns = (int64_t)CELL("idle_bias_spread", RBWP_COLUMN_U64),
    };
#undef CELL
}

bool gpu_properties_of_rows(const struct rbwp_rows *rows, gpu_properties_fn *found, void *context)
{
    if (!is_table(rows, GPU_DEVICE_TABLE))
        return false;
    const uint64_t *processor = column(rows, "processor", RBWP_COLUMN_U64);
    const uint64_t *name = column(rows, "name", RBWP_COLUMN_NAME);
    const uint64_t *multiprocessors = column(rows, "multiprocessors", RBWP_COLUMN_U64);
    const uint64_t *memory = column(rows, "memory", RBWP_COLUMN_U64);
    for (uint32_t i = 0; i < rows->rows; i++)
        found(context, &(struct gpu_properties){.proc_id = cell(processor, i),
                                                .multiprocessors = cell(multiprocessors, i),
                                                .memory_bytes = cell(memory, i),
                                                .name = (uint32_t)cell(name, i)});
    return true;
}

/* ---- devices ---------------------------------------------------------------- */

static bool add(struct gpu_devices *devices, struct rbwp_gpu_info gpu)
{
    uint32_t at = 0;
    while (at < devices->count && devices->list[at].proc_id != gpu.proc_id)
        at++;
    if (at == GPU_DEVICES_MAX)
        return true; /* a hostile file */
    if (!thread_array_grow(&devices->list, &devices->room, at + 1, sizeof *devices->list))
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
        good = add(devices, gpu);
    }
    return good;
}

bool gpu_devices_is_table(const struct rbwp_rows *rows)
{
    return is_table(rows, GPU_DEVICE_TABLE);
}

bool gpu_devices_take(struct gpu_devices *devices, const struct rbwp_rows *rows,
                      const struct rbwp_catalog *catalog)
{
    bool good = true;
    for (uint32_t i = 0; good && i < rows->rows && is_table(rows, GPU_DEVICE_TABLE); i++)
        good = add(devices, device_of(rows, i, catalog));
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
