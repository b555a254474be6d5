/* SPDX-License-Identifier: Apache-2.0 */
#include "inject_rows.h"

#include "hash.h"
#include "inject_library.h"
#include "inject_names.h"
#include "inject_session.h"
#include "known_tables.h"
#include "rbwp_rows.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum { DEVICES_MAX = 64, SHAPES = 8192, SHAPE_COLUMNS = COLUMNS_gpu_shape - 1 };

static const struct rbwp_schema activity = KNOWN_SCHEMA(gpu_activity);
static const struct rbwp_schema rows_devices = KNOWN_SCHEMA(gpu_device);
static const struct rbwp_schema shapes_schema = KNOWN_SCHEMA(gpu_shape);
static const struct rbwp_schema calls_schema = KNOWN_SCHEMA(gpu_call);

static unsigned activity_table, device_table, shape_table, call_table; /* 0: not known */
static unsigned slot;
static atomic_bool met[DEVICES_MAX];
static bool rows_reported[DEVICES_MAX];
static struct device_facts {
    char name[128];
    int processors;
    size_t memory;
} known_devices[DEVICES_MAX];
static atomic_bool looked;

static struct {
    uint64_t cells[SHAPE_COLUMNS];
    uint64_t number; /* 0: empty */
} shapes[SHAPES];
static uint64_t shape_count;

static void make_known(const struct rbwp_schema *schema, unsigned *table)
{
    if (rbwp_table_register(schema, table) != RBWP_OK)
        *table = 0;
}

static void rows_prepare(void)
{
    make_known(&activity, &activity_table);
    make_known(&rows_devices, &device_table);
    make_known(&shapes_schema, &shape_table);
    make_known(&calls_schema, &call_table);
    if (rbwp_work_item_register("GPU", &slot) != RBWP_OK)
        slot = 0;
}

void inject_rows_prepare(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, rows_prepare);
}

static uint64_t processor_of(uint32_t device)
{
    return UINT64_C(1) << 32 | device; /* as rbwp_gpu.h numbers those of CUDA */
}

/* ---- shapes --------------------------------------------------------------------------------- */

static size_t rows_place_of(const uint64_t *cells)
{
    uint64_t hash = 0;
    for (int i = 0; i < SHAPE_COLUMNS; i++)
        hash = hash_pair(hash, cells[i]);
    return hash_place(hash) % SHAPES;
}

/* 0: there are too many. */
static uint64_t shape_of(const uint64_t *cells)
{
    size_t at = rows_place_of(cells);
    while (shapes[at].number && memcmp(shapes[at].cells, cells, sizeof shapes[at].cells) != 0)
        at = (at + 1) % SHAPES;
    if (shapes[at].number)
        return shapes[at].number;
    if (!shape_table || shape_count == SHAPES / 2)
        return 0;
    uint64_t row[1 + SHAPE_COLUMNS] = {++shape_count};
    memcpy(row + 1, cells, sizeof shapes[at].cells);
    memcpy(shapes[at].cells, cells, sizeof shapes[at].cells);
    shapes[at].number = shape_count;
    rbwp_row_add(shape_table, row);
    return shape_count;
}

/* ---- work ----------------------------------------------------------------------------------- */

void inject_rows_work(const struct inject_work *work, const struct inject_call *call)
{
    const uint64_t offset_ns = (uint64_t)inject_line_offset_ns();
    /* CUPTI gives the GPU's clock to about a microsecond: what seems to begin before its call
     * did certainly not. */
    const uint64_t early_ns = call->begin_ns > work->start_ns ? call->begin_ns - work->start_ns : 0;
    const uint64_t bound_ns = work->bound_ns + work->start_bound_ns;
    const uint64_t cells[] = {
        work->start_ns + offset_ns,
        work->end_ns + offset_ns,
        processor_of(work->device),
        work->stream,
        call->thread,
        slot,
        (call->begin_ns ? call->begin_ns : work->start_ns) + offset_ns,
        call->end_ns ? call->end_ns + offset_ns : 0,
        early_ns > bound_ns ? early_ns : bound_ns,
        work->bound_ns,
        work->kind == WORK_KERNEL ? inject_kernel_name(work->name) : inject_name(work->name),
        work->correlation,
        work->launching_ns,
        work->idle,
        call->range,
        work->kind,
        work->bytes,
        work->graph_node,
        work->kind == WORK_KERNEL ? shape_of(work->shape) : 0,
        inject_call_name(call->called, call->function),
    };
    _Static_assert(sizeof cells / sizeof cells[0] == COLUMNS_gpu_activity, "a cell a column");
    if (work->device < DEVICES_MAX)
        atomic_store_explicit(&met[work->device], true, memory_order_relaxed);
    if (activity_table)
        rbwp_row_add(activity_table, cells);
}

/* ---- devices -------------------------------------------------------------------------------- */

static void rows_look(void)
{
    for (int device = 0; device < DEVICES_MAX; device++) {
        struct device_facts *facts = &known_devices[device];
        if (cu.cuDeviceGetName(facts->name, sizeof facts->name - 1, device) != DRIVER_OK) {
            facts->name[0] = '\0';
            break; /* there are no more */
        }
        if (cu.cuDeviceGetAttribute(&facts->processors, CUDA_ATTRIBUTE_MULTIPROCESSOR_COUNT,
                                    device) != DRIVER_OK)
            facts->processors = 0;
        if (!cu.cuDeviceTotalMem_v2 || cu.cuDeviceTotalMem_v2(&facts->memory, device) != DRIVER_OK)
            facts->memory = 0;
    }
    atomic_store_explicit(&looked, true, memory_order_release);
}

void inject_rows_look(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (!atomic_load_explicit(&looked, memory_order_relaxed))
        pthread_once(&once, rows_look);
}

static void tell_device(int device)
{
    static const struct device_facts unknown;
    const struct device_facts *facts =
        atomic_load_explicit(&looked, memory_order_acquire) ? &known_devices[device] : &unknown;
    const uint64_t cells[COLUMNS_gpu_device] = {
        [AT_gpu_device_processor] = processor_of((uint32_t)device),
        [AT_gpu_device_name] = facts->name[0] ? inject_name(facts->name) : 0,
        [AT_gpu_device_multiprocessors] = (uint64_t)facts->processors,
        [AT_gpu_device_memory] = facts->memory};
    rbwp_row_add(device_table, cells);
}

void inject_rows_devices(void)
{
    for (int device = 0; device < DEVICES_MAX && device_table; device++)
        if (!rows_reported[device] && atomic_load_explicit(&met[device], memory_order_relaxed)) {
            rows_reported[device] = true;
            tell_device(device);
        }
}

/* ---- calls that wait ------------------------------------------------------------------------ */

void inject_rows_wait(const char *call, uint64_t begin_ns, uint64_t end_ns, uint32_t correlation)
{
    const uint64_t offset_ns = (uint64_t)inject_line_offset_ns();
    const uint64_t cells[] = {begin_ns + offset_ns, end_ns + offset_ns,
                              inject_thread(),      inject_name(call ? call : "wait"),
                              correlation,          inject_range_now()};
    _Static_assert(sizeof cells / sizeof cells[0] == COLUMNS_gpu_call, "a cell a column");
    if (call_table)
        rbwp_row_add(call_table, cells);
}
