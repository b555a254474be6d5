/* SPDX-License-Identifier: Apache-2.0 */
#include "align_clocks.h"
#include "message.h"
#include "sorted.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- lines through comparisons --------------------------------------------------------------- */
/* Before the first point and behind the last one their shifts hold. */

/* 73 years: differences of such times have room. */
#define TIME_LIMIT (INT64_C(1) << 61)

static bool axis_is_possible(const struct trace_axis_point *point)
{
    return point->time_ns > -TIME_LIMIT && point->time_ns < TIME_LIMIT &&
           point->shift_ns > -TIME_LIMIT && point->shift_ns < TIME_LIMIT;
}

bool trace_axis_follows(const struct trace_axis_point *point, const struct trace_axis_point *next)
{
    if (!axis_is_possible(point) || !axis_is_possible(next) || next->time_ns <= point->time_ns)
        return false;
    return llabs(next->shift_ns - point->shift_ns) <= (next->time_ns - point->time_ns) / 2;
}

/* Whether the point is at or before a time, which is on the axis if on_axis. */
static bool is_before(const struct trace_axis_point *point, int64_t time_ns, bool on_axis)
{
    return (on_axis ? point->time_ns + point->shift_ns : point->time_ns) <= time_ns;
}

/* How many points are at or before it. */
static uint32_t points_before(const struct trace_axis *axis, int64_t time_ns, bool on_axis)
{
    uint32_t at;
    SORTED_FIND(at, axis->point_count, is_before(&axis->points[at], time_ns, on_axis));
    return at;
}

int64_t trace_axis_line(const struct trace_axis *axis, int64_t time_ns)
{
    uint32_t behind = points_before(axis, time_ns, false);
    const struct trace_axis_point *to = &axis->points[behind], *from = to - 1;
    if (behind == 0)
        return trace_shifted(time_ns, axis->points[0].shift_ns);
    if (behind == axis->point_count)
        return trace_shifted(time_ns, from->shift_ns);
    double part = (double)(time_ns - from->time_ns) / (double)(to->time_ns - from->time_ns);
    double exact = part * (double)(to->shift_ns - from->shift_ns);
    int64_t more = (int64_t)exact; /* rounded down, so that later times never come before */
    more -= (double)more > exact;
    return time_ns + from->shift_ns + more;
}

int64_t trace_axis_line_back(const struct trace_axis *axis, int64_t time_ns)
{
    uint32_t behind = points_before(axis, time_ns, true);
    const struct trace_axis_point *to = &axis->points[behind], *from = to - 1;
    if (behind == 0)
        return trace_shifted(time_ns, -axis->points[0].shift_ns);
    if (behind == axis->point_count)
        return trace_shifted(time_ns, -from->shift_ns);
    double length = (double)(to->time_ns - from->time_ns);
    double longer = length + (double)(to->shift_ns - from->shift_ns);
    double passed = (double)(time_ns - from->time_ns - from->shift_ns);
    return from->time_ns + (int64_t)(passed * length / longer);
}

/* ---- files of one job ------------------------------------------------------------------------ */
/*
 * A comparison that was disturbed (a process was not running, the network was busy) has a large
 * bound; a line through it would be worse than one without it.
 */

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

/* How many points; *impossible_out: comparisons that contradict the ones before them. */
static uint32_t find_points(const struct trace_facts *facts, struct trace_axis_point *points,
                            uint64_t *bound_ns_out, uint32_t *impossible_out)
{
    static const struct trace_axis_point before_all = {.time_ns = -(INT64_C(1) << 61) + 1};
    uint64_t least_ns = INT64_MAX / (2 * TIMES_LEAST);
    for (uint32_t i = 0; i < facts->clock_count; i++)
        if (facts->clocks[i].bound_ns < least_ns)
            least_ns = facts->clocks[i].bound_ns;
    uint64_t most_ns = TIMES_LEAST * least_ns + MORE_NS;
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
