/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu_stream.h"

#include "known_tables.h"
#include "rbwp_rows.h"

#include <string.h>

enum { ACTIVITY_COLUMNS = AT_gpu_activity_range + 1 };
static const struct rbwp_schema activity = KNOWN_SCHEMA_FIRST(gpu_activity, 2, ACTIVITY_COLUMNS);

static const struct rbwp_schema gpu_rows_devices = KNOWN_SCHEMA(gpu_device);

/* Set before any device can be reaped. 0: not known to the process. */
static _Atomic unsigned activity_table, device_table;
static _Atomic uint32_t session = 1; /* counts their ends */

void gpu_rows_prepare(struct rbwp_gpu_device *device)
{
    unsigned number;
    if (rbwp_table_register(&activity, &number) == RBWP_OK)
        atomic_store(&activity_table, number);
    if (rbwp_table_register(&gpu_rows_devices, &number) == RBWP_OK)
        atomic_store(&device_table, number);
    (void)!rbwp_name_intern(device->facts.name, strlen(device->facts.name), &device->name);
}

void gpu_rows_session_ended(void)
{
    atomic_fetch_add(&session, 1);
}

static uint64_t gpu_rows_spread(int64_t ns)
{
    return ns > 0 ? (uint64_t)ns : 0;
}

/* The count is read before it is seen that a session runs: whoever finds the session that has just
 * ended says nothing of the next one. */
void gpu_rows_device(struct rbwp_gpu_device *device)
{
    const uint32_t now = atomic_load(&session);
    const unsigned table = atomic_load_explicit(&device_table, memory_order_relaxed);
    if (atomic_load_explicit(&device->told, memory_order_relaxed) == now || !table ||
        !rbwp_is_on_(1) || atomic_exchange(&device->told, now) == now)
        return;
    const struct rbwp_gpu_facts *facts = &device->facts;
    const uint64_t cells[] = {
        facts->proc_id,
        device->name,
        (uint64_t)device->api,
        facts->bias_rounds,
        (uint64_t)facts->bias_ns,
        gpu_rows_spread(facts->bias_spread_ns),
        facts->idle_rounds,
        (uint64_t)facts->idle_bias_ns,
        gpu_rows_spread(facts->idle_spread_ns),
        facts->multiprocessors,
        facts->memory_bytes,
    };
    _Static_assert(sizeof cells / sizeof cells[0] == COLUMNS_gpu_device, "a cell a column");
    rbwp_row_add(table, cells);
}

void gpu_rows_activity(struct rbwp_gpu_stream *stream, const struct gpu_node *end,
                       const struct gpu_times *times, uint64_t stop_bound_ns)
{
    struct rbwp_gpu_device *device = stream->device;
    const unsigned table = atomic_load_explicit(&activity_table, memory_order_relaxed);
    const uint64_t cells[] = {
        (uint64_t)times->start_ns,
        (uint64_t)times->stop_ns,
        device->facts.proc_id,
        stream->number,
        end->thread,
        end->slot,
        (uint64_t)end->launch_ns,
        (uint64_t)end->launched_ns,
        end->start_gap_ns,
        stop_bound_ns,
        0, /* no name */
        end->correlation,
        (uint64_t)times->launching_ns,
        times->idle,
        end->range,
    };
    _Static_assert(sizeof cells / sizeof cells[0] == ACTIVITY_COLUMNS, "a cell a column");
    gpu_rows_device(device);
    if (table)
        rbwp_row_add(table, cells);
}
