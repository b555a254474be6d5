/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel_tables.h"

const struct rbwp_schema kernel_lane_schema = KNOWN_SCHEMA(lane_span);
const struct rbwp_schema kernel_event_schema = KNOWN_SCHEMA(device_event);

/* Times of a damaged buffer may be anything. */
static uint64_t shifted(const struct kernel_place *place, int64_t time_ns)
{
    return (uint64_t)time_ns + (uint64_t)place->shift_ns;
}

void kernel_lane_cells(const struct kernel_place *place, const struct rbwp_lane_span *span,
                       uint64_t group, uint64_t event, uint64_t cells[COLUMNS_lane_span])
{
    cells[AT_lane_span_start] = shifted(place, span->start_ns);
    cells[AT_lane_span_stop] = shifted(place, span->stop_ns);
    cells[AT_lane_span_processor] = place->processor;
    cells[AT_lane_span_launch] = place->launch;
    cells[AT_lane_span_block] = span->block;
    cells[AT_lane_span_group] = group;
    cells[AT_lane_span_sm] = span->sm == RBWP_LANES_SM_UNKNOWN ? KERNEL_SM_UNKNOWN : span->sm;
    cells[AT_lane_span_event] = event;
    cells[AT_lane_span_kind] = span->kind;
    cells[AT_lane_span_bound] = place->bound_ns;
}

void kernel_event_cells(const struct kernel_place *place, const struct rbwp_device_event *event,
                        uint64_t name, uint64_t cells[COLUMNS_device_event])
{
    cells[AT_device_event_start] = shifted(place, event->start_ns);
    cells[AT_device_event_stop] = shifted(place, event->stop_ns);
    cells[AT_device_event_rank] = (uint32_t)event->rank;
    cells[AT_device_event_processor] = place->processor;
    cells[AT_device_event_launch] = place->launch;
    cells[AT_device_event_event] = name;
    cells[AT_device_event_program] = (uint32_t)event->program;
    cells[AT_device_event_pid_m] = (uint64_t)(int64_t)event->pid_m;
    cells[AT_device_event_pid_n] = (uint64_t)(int64_t)event->pid_n;
    cells[AT_device_event_target_rank] = (uint64_t)(int64_t)event->target_rank;
    cells[AT_device_event_xcc] = (uint32_t)event->xcc;
    cells[AT_device_event_cu] = (uint32_t)event->cu;
    cells[AT_device_event_address] = (uint64_t)event->address;
    cells[AT_device_event_op] = (uint32_t)event->op;
    cells[AT_device_event_bytes] = (uint32_t)event->bytes;
    cells[AT_device_event_bound] = place->bound_ns;
}
