/* SPDX-License-Identifier: Apache-2.0 */
/* trace_span.h - a span of a trace (trace.h). */
#ifndef TRACE_SPAN_H
#define TRACE_SPAN_H

#include "trace_category.h"
#include "trace_cpu.h"
#include "trace_detail.h"

#include <stddef.h>

enum trace_flag {
    TRACE_UNFINISHED = 1, /* its end is not known; stop is the last time at which it was seen */
    TRACE_LATE = 2,       /* its row has had a later one (trace.h) */
    TRACE_INSTANT = 4,    /* a point in time; start equals stop */
    /* With TRACE_UNFINISHED: it still ran at the last sign of life (the session's stop, the last
     * that is known of a process that died, now), and stop is that time. */
    TRACE_OPEN = 8,
    TRACE_CUT = 16,   /* a part of it, which lies outside the window asked for, was dropped */
    TRACE_WAITS = 32, /* a call of a work item that waits: its thread is not busy with it */
    TRACE_RAN = 128   /* its thread was on a CPU all the time; see trace_cpu_of */
};

struct trace_span {
    int64_t start_ns, stop_ns; /* start <= stop */
    uint64_t id;               /* unique in the trace, from 1 */
    uint64_t parent;           /* id of the enclosing span of the track, 0 none or not known */
    uint32_t track, name;
    uint32_t item;
    uint32_t detail;  /* where trace_detail_of finds more; 0: there is no more */
    uint16_t row;     /* of those side by side in which partly overlapping spans are shown */
    uint16_t depth;   /* number of enclosing spans, at most UINT16_MAX */
    uint8_t category; /* enum trace_category */
    uint8_t flags;    /* enum trace_flag */
};
/* Nobody is busy with it, but with what it encloses. */
static inline bool trace_is_waiting(const struct trace_span *span)
{
    return span->category == TRACE_WAITING || span->flags & TRACE_WAITS;
}

static inline uint64_t trace_duration_ns(const struct trace_span *span)
{
    return (uint64_t)span->stop_ns - (uint64_t)span->start_ns;
}

/* For formats whose integers have a sign: at most INT64_MAX, which is 292 years. */
static inline int64_t trace_signed_duration_ns(const struct trace_span *span)
{
    uint64_t duration_ns = trace_duration_ns(span);
    return duration_ns > INT64_MAX ? INT64_MAX : (int64_t)duration_ns;
}

/* NULL: there is no more. */
static inline const struct trace_detail *trace_detail_of(const struct trace_details *details,
                                                         const struct trace_span *span)
{
    return span->detail ? (const void *)(details->words + span->detail) : NULL;
}
/* Spans that have arguments. */
static inline uint64_t trace_count_arguments(const struct trace_span *spans, size_t count,
                                             const struct trace_details *details)
{
    uint64_t found = 0;
    for (size_t i = 0; details && i < count; i++) {
        const struct trace_detail *detail = trace_detail_of(details, &spans[i]);
        found += detail && detail->arg_count;
    }
    return found;
}

/* At most what is left of the duration, of which it is taken off; nothing of what is not known. */
static inline uint64_t trace_cpu_part(int64_t part_ns, uint64_t *left_ns)
{
    uint64_t known_ns = part_ns < 0                    ? 0
                        : (uint64_t)part_ns < *left_ns ? (uint64_t)part_ns
                                                       : *left_ns;
    *left_ns -= known_ns;
    return known_ns;
}

static inline struct trace_cpu trace_cpu_of(const struct trace_span *span,
                                            const struct trace_detail *detail)
{
    struct trace_cpu cpu = {0};
    uint64_t left_ns = trace_duration_ns(span);
    if (span->flags & TRACE_RAN) {
        cpu.running_ns = left_ns;
    } else if (detail && detail->flags & TRACE_HAS_CPU) {
        cpu.running_ns = trace_cpu_part(detail->running_ns, &left_ns);
        cpu.runnable_ns = trace_cpu_part(detail->runnable_ns, &left_ns);
        if (detail->running_ns >= 0 && detail->runnable_ns >= 0)
            cpu.waiting_ns = left_ns;
    }
    return cpu;
}

enum { TRACE_CPU_PARTS = 3 };
static const char *const trace_cpu_part_name[TRACE_CPU_PARTS] = {"running_ns", "runnable_ns",
                                                                 "waiting_ns"};

/* The parts of a span that has TRACE_HAS_CPU, by these names; -1: not known. */
static inline void trace_cpu_parts(const struct trace_span *span, const struct trace_detail *detail,
                                   int64_t parts_out[TRACE_CPU_PARTS])
{
    const bool both = detail->running_ns >= 0 && detail->runnable_ns >= 0;
    parts_out[0] = detail->running_ns;
    parts_out[1] = detail->runnable_ns;
    parts_out[2] = both ? (int64_t)trace_cpu_of(span, detail).waiting_ns : -1;
}

#endif /* TRACE_SPAN_H */
