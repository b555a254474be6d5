/* SPDX-License-Identifier: Apache-2.0 */
/* stats_row.h - spans of one kind, added up. */
#ifndef STATS_ROW_H
#define STATS_ROW_H

#include "histogram.h"
#include "trace_cpu.h"
#include "trace_text.h"

struct stats_row {
    uint8_t category; /* enum trace_category */
    uint32_t item;
    struct trace_text name;
    struct trace_text kind; /* what the program calls it; may be empty */
    uint64_t count, unfinished;
    uint64_t open, open_ns;       /* of the unfinished: those that still ran, and their time */
    uint64_t total_ns, nested_ns; /* of the finished ones and those that still ran */
    struct trace_cpu cpu;         /* of total_ns, as far as it is known */
    uint64_t min_ns, max_ns;      /* of the finished ones; min_ns is UINT64_MAX at first */
    struct histogram durations;
};

/* At most UINT64_MAX. */
static inline uint64_t stats_sum(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static inline void stats_cpu_add(struct trace_cpu *sum, const struct trace_cpu *cpu)
{
    sum->running_ns = stats_sum(sum->running_ns, cpu->running_ns);
    sum->runnable_ns = stats_sum(sum->runnable_ns, cpu->runnable_ns);
    sum->waiting_ns = stats_sum(sum->waiting_ns, cpu->waiting_ns);
}

/* 0 where it goes back. */
static inline uint64_t stats_between_ns(int64_t from_ns, int64_t to_ns)
{
    return to_ns > from_ns ? (uint64_t)to_ns - (uint64_t)from_ns : 0;
}

#endif /* STATS_ROW_H */
