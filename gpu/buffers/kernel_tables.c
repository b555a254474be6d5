/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel_tables.h"

static const struct rbwp_column lane_columns[] = {
    RBWP_COLUMN(TIME, START, "start", ""),   RBWP_COLUMN(TIME, STOP, "stop", ""),
    RBWP_COLUMN(U64, NONE, "processor", ""), RBWP_COLUMN(U64, NONE, "launch", ""),
    RBWP_COLUMN(U64, NONE, "block", ""),     RBWP_COLUMN(NAME, NONE, "group", ""),
    RBWP_COLUMN(U64, NONE, "sm", ""),        RBWP_COLUMN(NAME, LABEL, "event", ""),
    RBWP_COLUMN(U64, NONE, "kind", ""),      RBWP_COLUMN(DURATION, NONE, "bound", ""),
};
static const struct rbwp_column event_columns[] = {
    RBWP_COLUMN(TIME, START, "start", ""),    RBWP_COLUMN(TIME, STOP, "stop", ""),
    RBWP_COLUMN(U64, NONE, "rank", ""),       RBWP_COLUMN(U64, NONE, "processor", ""),
    RBWP_COLUMN(U64, NONE, "launch", ""),     RBWP_COLUMN(NAME, LABEL, "event", ""),
    RBWP_COLUMN(U64, NONE, "program", ""),    RBWP_COLUMN(I64, NONE, "pid_m", ""),
    RBWP_COLUMN(I64, NONE, "pid_n", ""),      RBWP_COLUMN(I64, NONE, "target_rank", ""),
    RBWP_COLUMN(U64, NONE, "xcc", ""),        RBWP_COLUMN(U64, NONE, "cu", ""),
    RBWP_COLUMN(U64, NONE, "address", ""),    RBWP_COLUMN(U64, NONE, "op", ""),
    RBWP_COLUMN(U64, NONE, "bytes", "bytes"), RBWP_COLUMN(DURATION, NONE, "bound", ""),
};
const struct rbwp_schema kernel_lane_schema = RBWP_SCHEMA("lane_span", 1, lane_columns);
const struct rbwp_schema kernel_event_schema = RBWP_SCHEMA("device_event", 1, event_columns);

_Static_assert(sizeof lane_columns / sizeof lane_columns[0] == KERNEL_LANE_COLUMNS, "lanes");
_Static_assert(sizeof event_columns / sizeof event_columns[0] == KERNEL_EVENT_COLUMNS, "events");

/* Times of a damaged buffer may be anything. */
static uint64_t shifted(const struct kernel_place *place, int64_t time_ns)
{
    return (uint64_t)time_ns + (uint64_t)place->shift_ns;
}

void kernel_lane_cells(const struct kernel_place *place, const struct rbwp_lane_span *span,
                       uint64_t group, uint64_t event, uint64_t cells[KERNEL_LANE_COLUMNS])
{
    cells[KERNEL_LANE_START] = shifted(place, span->start_ns);
    cells[KERNEL_LANE_STOP] = shifted(place, span->stop_ns);
    cells[KERNEL_LANE_PROCESSOR] = place->processor;
    cells[KERNEL_LANE_LAUNCH] = place->launch;
    cells[KERNEL_LANE_BLOCK] = span->block;
    cells[KERNEL_LANE_GROUP] = group;
    cells[KERNEL_LANE_SM] = span->sm == RBWP_LANES_SM_UNKNOWN ? KERNEL_SM_UNKNOWN : span->sm;
    cells[KERNEL_LANE_EVENT] = event;
    cells[KERNEL_LANE_KIND] = span->kind;
    cells[KERNEL_LANE_BOUND] = place->bound_ns;
}

void kernel_event_cells(const struct kernel_place *place, const struct rbwp_device_event *event,
                        uint64_t name, uint64_t cells[KERNEL_EVENT_COLUMNS])
{
    cells[KERNEL_EVENT_START] = shifted(place, event->start_ns);
    cells[KERNEL_EVENT_STOP] = shifted(place, event->stop_ns);
    cells[KERNEL_EVENT_RANK] = (uint32_t)event->rank;
    cells[KERNEL_EVENT_PROCESSOR] = place->processor;
    cells[KERNEL_EVENT_LAUNCH] = place->launch;
    cells[KERNEL_EVENT_EVENT] = name;
    cells[KERNEL_EVENT_PROGRAM] = (uint32_t)event->program;
    cells[KERNEL_EVENT_PID_M] = (uint64_t)(int64_t)event->pid_m;
    cells[KERNEL_EVENT_PID_N] = (uint64_t)(int64_t)event->pid_n;
    cells[KERNEL_EVENT_TARGET_RANK] = (uint64_t)(int64_t)event->target_rank;
    cells[KERNEL_EVENT_XCC] = (uint32_t)event->xcc;
    cells[KERNEL_EVENT_CU] = (uint32_t)event->cu;
    cells[KERNEL_EVENT_ADDRESS] = (uint64_t)event->address;
    cells[KERNEL_EVENT_OP] = (uint32_t)event->op;
    cells[KERNEL_EVENT_BYTES] = (uint32_t)event->bytes;
    cells[KERNEL_EVENT_BOUND] = place->bound_ns;
}
