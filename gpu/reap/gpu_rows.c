/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu_rows.h"

#include "rbwp_rows.h"

#include <string.h>

static const struct rbwp_column activity_columns[] = {
    RBWP_COLUMN(TIME, START, "start", ""),
    RBWP_COLUMN(TIME, STOP, "stop", ""),
    RBWP_COLUMN(U64, TRACK, "processor", ""),
    RBWP_COLUMN(U64, NONE, "stream", ""),
    RBWP_COLUMN(U64, THREAD, "thread", ""),
    RBWP_COLUMN(U64, NONE, "slot", ""),
    RBWP_COLUMN(TIME, NONE, "begin", ""),
    RBWP_COLUMN(TIME, NONE, "end", ""),
    RBWP_COLUMN(DURATION, START_BOUND, "start_bound", ""),
    RBWP_COLUMN(DURATION, STOP_BOUND, "stop_bound", ""),
    RBWP_COLUMN(NAME, LABEL, "name", ""),
    RBWP_COLUMN(U64, NONE, "correlation", ""),
    RBWP_COLUMN(DURATION, NONE, "launching", ""),
    RBWP_COLUMN(U64, NONE, "idle", ""),
    RBWP_COLUMN(U64, NONE, "range", ""),
};
static const struct rbwp_schema activity = RBWP_SCHEMA("gpu_activity", 2, activity_columns);

static const struct rbwp_column device_columns[] = {
    RBWP_COLUMN(U64, ID, "processor", ""),
    RBWP_COLUMN(NAME, LABEL, "name", ""),
    RBWP_COLUMN(U64, NONE, "api", ""),
    RBWP_COLUMN(U64, NONE, "rounds", ""),
    RBWP_COLUMN(I64, NONE, "bias", "ns"),
    RBWP_COLUMN(U64, NONE, "bias_spread", "ns"),
    RBWP_COLUMN(U64, NONE, "idle_rounds", ""),
    RBWP_COLUMN(I64, NONE, "idle_bias", "ns"),
    RBWP_COLUMN(U64, NONE, "idle_bias_spread", "ns"),
    RBWP_COLUMN(U64, NONE, "multiprocessors", ""),
    RBWP_COLUMN(U64, NONE, "memory", "bytes"),
};
static const struct rbwp_schema devices = RBWP_SCHEMA("gpu_device", 1, device_columns);

/* Set before any device can be reaped. 0: not known to the process. */
static _Atomic unsigned activity_table, device_table;
static _Atomic uint32_t session = 1; /* counts their ends */

void gpu_rows_prepare(struct rbwp_gpu_device *device)
{
    unsigned number;
    if (rbwp_table_register(&activity, &number) == RBWP_OK)
        atomic_store(&activity_table, number);
    if (rbwp_table_register(&devices, &number) == RBWP_OK)
        atomic_store(&device_table, number);
    (void)!rbwp_name_intern(device->facts.name, strlen(device->facts.name), &device->name);
}

void gpu_rows_session_ended(void)
{
    atomic_fetch_add(&session, 1);
}

static uint64_t spread(int64_t ns)
{
    return ns > 0 ? (uint64_t)ns : 0;
}

/* The count is read before it is seen that a session runs: whoever finds the session that has just
 * ended tells nothing of the next one. */
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
        spread(facts->bias_spread_ns),
        facts->idle_rounds,
        (uint64_t)facts->idle_bias_ns,
        spread(facts->idle_spread_ns),
        facts->multiprocessors,
        facts->memory_bytes,
    };
    _Static_assert(sizeof cells / sizeof cells[0] ==
                       sizeof device_columns / sizeof device_columns[0],
                   "a cell a column");
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
    _Static_assert(sizeof cells / sizeof cells[0] ==
                       sizeof activity_columns / sizeof activity_columns[0],
                   "a cell a column");
    gpu_rows_device(device);
    if (table)
        rbwp_row_add(table, cells);
}
