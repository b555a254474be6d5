/* SPDX-License-Identifier: Apache-2.0 */
/* trace_axis.h - how times come onto the axis of a trace. */
#ifndef TRACE_AXIS_H
#define TRACE_AXIS_H

#include <stdbool.h>
#include <stdint.h>

/* How the times of one source come onto the axis of the trace.
 *
 * So many ns are added: everywhere the same or, where the source's clock was compared with another
 * one again and again, by a line through these comparisons. Times keep their order on the way, and
 * those of strangers stay in range. */

struct trace_axis_point {
    int64_t time_ns, shift_ns; /* at this time of the source so many ns are added */
};

struct trace_axis {
    int64_t shift_ns;                      /* with points: that of the middle one */
    const struct trace_axis_point *points; /* as trace_axis_follows says */
    uint32_t point_count;                  /* 0: shift_ns everywhere */
};

/* True if a line from one point to the other keeps the order of times: the second is later, and the
 * clocks are apart by less than half of that time more or less. */
bool trace_axis_follows(const struct trace_axis_point *point, const struct trace_axis_point *next);

/* Onto the axis by the line, and back. */
int64_t trace_axis_line(const struct trace_axis *axis, int64_t time_ns);
int64_t trace_axis_line_back(const struct trace_axis *axis, int64_t time_ns);

static inline int64_t trace_shifted(int64_t time_ns, int64_t shift_ns)
{
    int64_t sum;
    if (__builtin_add_overflow(time_ns, shift_ns, &sum))
        return shift_ns < 0 ? INT64_MIN : INT64_MAX;
    return sum;
}

static inline int64_t trace_on_axis(const struct trace_axis *axis, int64_t time_ns)
{
    return axis->point_count ? trace_axis_line(axis, time_ns)
                             : trace_shifted(time_ns, axis->shift_ns);
}

static inline int64_t trace_off_axis(const struct trace_axis *axis, int64_t time_ns)
{
    return axis->point_count ? trace_axis_line_back(axis, time_ns)
                             : trace_shifted(time_ns, -axis->shift_ns);
}

/* Makes first and last lie around what is from and to, too; without any before they are these. */
static inline void trace_widen(bool any, int64_t *first_ns, int64_t *last_ns, int64_t from_ns,
                               int64_t to_ns)
{
    *first_ns = !any || from_ns < *first_ns ? from_ns : *first_ns;
    *last_ns = !any || to_ns > *last_ns ? to_ns : *last_ns;
}

/* Times are far inside; those of a hostile file are moved to the edge. */
static inline int64_t trace_bounded(int64_t time_ns)
{
    const int64_t edge_ns = INT64_MAX / 4;
    return time_ns > edge_ns ? edge_ns : time_ns < -edge_ns ? -edge_ns : time_ns;
}

#endif /* TRACE_AXIS_H */
