/* SPDX-License-Identifier: Apache-2.0 */
/* Before the first point and behind the last one their shifts hold. */

#include "trace_axis.h"

#include <stdlib.h>

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
    uint32_t low = 0, high = axis->point_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (is_before(&axis->points[middle], time_ns, on_axis))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
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
