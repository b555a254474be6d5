/* SPDX-License-Identifier: Apache-2.0 */
#include "legion_facts.h"
#include "message.h"

#include <stdio.h>

/* The node that made an event; false for none and for kinds that do not tell. */
static bool event_node(uint64_t event, uint32_t *node_out)
{
    bool barrier = event >> 60 == 2;
    *node_out = (uint32_t)(event >> (barrier ? 44 : 47) & 0xffff);
    return barrier || event >> 63;
}

static void note_message(struct legion_facts *noted, const struct trace_facts *facts,
                         const struct legion_record *record)
{
    uint32_t from;
    uint64_t spawn = record->value[LEGION_SPAWN], create = record->value[LEGION_CREATE];
    if (spawn == 0 || spawn >= LEGION_TIME_MAX || create >= LEGION_TIME_MAX ||
        !event_node(record->value[LEGION_CREATOR], &from) ||
        (facts->has_node && from == facts->node))
        return;
    int64_t latency_ns = (int64_t)(create - spawn);
    uint32_t i = 0;
    while (i < noted->latency_count && noted->latencies[i].from_node != from)
        i++;
    if (i == LEGION_LATENCIES_MAX)
        return;
    if (i == noted->latency_count)
        noted->latencies[noted->latency_count++] = (struct trace_latency){from, latency_ns};
    if (latency_ns < noted->latencies[i].least_ns)
        noted->latencies[i].least_ns = latency_ns;
}

static void note_machine(struct legion_facts *noted, struct trace_facts *facts,
                         const struct legion_record *record)
{
    facts->has_node = true;
    facts->node = (uint32_t)record->value[LEGION_NODE_ID];
    facts->nodes = (uint32_t)record->value[LEGION_NUM_NODES];
    noted->os_id = record->value[LEGION_PROCESS_ID];
    snprintf(noted->host, sizeof noted->host, "%.*s", (int)record->text.bytes, record->text.text);
}

static void note_times(struct legion_facts *noted, const struct legion_record *record)
{
    uint64_t start = record->value[LEGION_START], stop = record->value[LEGION_STOP];
    if (record->kind < LEGION_TASK || start > stop || stop >= LEGION_TIME_MAX || stop == 0)
        return;
    noted->first = start < noted->first ? start : noted->first;
    noted->last = stop > noted->last ? stop : noted->last;
}

void legion_facts_start(struct legion_facts *noted)
{
    noted->first = UINT64_MAX;
}

void legion_facts_note(struct legion_facts *noted, struct trace_facts *facts,
                       const struct legion_record *record)
{
    if (record->kind == LEGION_MACHINE)
        note_machine(noted, facts, record);
    else if (record->kind == LEGION_ZERO_TIME)
        facts->run_zero_ns = (int64_t)record->value[LEGION_VALUE];
    else if (record->kind == LEGION_CALIBRATION_ERROR)
        noted->calibration_error_ns = (int64_t)record->value[LEGION_VALUE];
    else if (record->kind == LEGION_MESSAGE)
        note_message(noted, facts, record);
    note_times(noted, record);
}

/* Zero times that leave no room for times behind them are none. */
void legion_facts_finish(struct legion_facts *noted, struct trace_facts *facts, const char *name)
{
    if (facts->run_zero_ns < 0 || (uint64_t)facts->run_zero_ns > 3 * LEGION_TIME_MAX / 2) {
        message("%s: its zero time is impossible; it is taken for unknown", name);
        facts->run_zero_ns = 0;
    }
    facts->has_zero = facts->run_zero_ns != 0;
    facts->from_run_zero = !facts->has_zero;
    facts->zero_ns = facts->run_zero_ns;
    facts->first_ns = facts->zero_ns;
    facts->last_ns = noted->first <= noted->last ? facts->zero_ns + (int64_t)noted->last : 0;
    facts->host = trace_text(noted->host);
    facts->latencies = noted->latencies;
    facts->latency_count = noted->latency_count;
}
