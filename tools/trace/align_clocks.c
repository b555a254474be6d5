/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A comparison that was disturbed (a process was not running, the network was busy) has a large
 * bound; a line through it would be worse than one without it.
 */
#include "align_clocks.h"
#include "message.h"

#include <inttypes.h>
#include <stdlib.h>

/* A bound is good up to so many times the least one, and this more. */
enum { TIMES_LEAST = 4, MORE_NS = 2000 };

struct clock_group clock_group_find(const struct trace_source *sources, int count)
{
    struct clock_group group = {.first = -1, .root = -1};
    for (int i = 0; i < count && group.first < 0; i++)
        if (sources[i].facts.clock_count)
            group.first = i;
    if (group.first < 0)
        return group;
    const struct trace_facts *first = &sources[group.first].facts;
    group.reference = first->clocks[0].reference;
    for (int i = 0; i < count && group.root < 0; i++) {
        const struct trace_facts *facts = &sources[i].facts;
        if (facts->clock_count == 0 && facts->job.ranks && facts->job.rank == group.reference &&
            trace_same_job(&facts->job, &first->job))
            group.root = i;
    }
    return group;
}

bool clock_group_has(const struct clock_group *group, const struct trace_source *sources, int i)
{
    return group->first >= 0 && i != group->root && sources[i].facts.clock_count &&
           sources[i].facts.clocks[0].reference == group->reference &&
           trace_same_job(&sources[i].facts.job, &sources[group->first].facts.job);
}

static uint64_t good_bound_ns(const struct trace_facts *facts)
{
    uint64_t least_ns = INT64_MAX / (2 * TIMES_LEAST);
    for (uint32_t i = 0; i < facts->clock_count; i++)
        if (facts->clocks[i].bound_ns < least_ns)
            least_ns = facts->clocks[i].bound_ns;
    return TIMES_LEAST * least_ns + MORE_NS;
}

/* How many points; *impossible_out: comparisons that contradict the ones before them. */
static uint32_t find_points(const struct trace_facts *facts, struct trace_axis_point *points,
                            uint64_t *bound_ns_out, uint32_t *impossible_out)
{
    static const struct trace_axis_point before_all = {.time_ns = -(INT64_C(1) << 61) + 1};
    uint64_t most_ns = good_bound_ns(facts);
    uint32_t count = 0;
    *bound_ns_out = 0;
    *impossible_out = 0;
    for (uint32_t i = 0; i < facts->clock_count; i++) {
        const struct rbwp_node_clock *clock = &facts->clocks[i];
        const struct trace_axis_point point = {clock->time_ns, clock->offset_ns};
        if (clock->bound_ns > most_ns)
            continue;
        if (!trace_axis_follows(count ? &points[count - 1] : &before_all, &point)) {
            ++*impossible_out;
            continue;
        }
        points[count++] = point;
        *bound_ns_out = clock->bound_ns > *bound_ns_out ? clock->bound_ns : *bound_ns_out;
    }
    return count;
}

bool align_by_clocks(const struct trace_source *source, int64_t base_ns, struct alignment *made)
{
    const struct trace_facts *facts = &source->facts;
    uint64_t bound_ns;
    uint32_t impossible;
    struct trace_axis_point *points = calloc(facts->clock_count, sizeof *points);
    if (!points)
        return message_fail("%s: out of memory for its comparisons of clocks", source->name);
    uint32_t count = find_points(facts, points, &bound_ns, &impossible);
    if (impossible)
        message("%s: %" PRIu32 " of its %" PRIu32
                " comparisons with another node's clock cannot be; dropped",
                source->name, impossible, facts->clock_count);
    if (count == 0) {
        free(points);
        return false;
    }
    for (uint32_t i = 0; i < count; i++)
        points[i].shift_ns += base_ns;
    *made = (struct alignment){
        .placed = true,
        .method = "comparing clocks",
        .axis = {.shift_ns = points[count / 2].shift_ns, .points = points, .point_count = count},
        .points = points,
        .bounded = true,
        .error_ns = bound_ns + facts->error_ns,
    };
    return true;
}
