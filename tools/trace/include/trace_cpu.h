/* SPDX-License-Identifier: Apache-2.0 */
/* trace_cpu.h - whether a thread ran. */
#ifndef TRACE_CPU_H
#define TRACE_CPU_H

#include <stdbool.h>
#include <stdint.h>

/* What the thread did during a span: was on a CPU, was ready to run without one, was blocked. Of
 * what is left of the duration nothing is known. */
struct trace_cpu {
    uint64_t running_ns, runnable_ns, waiting_ns;
};

static inline bool trace_cpu_is_known(const struct trace_cpu *cpu)
{
    return cpu->running_ns || cpu->runnable_ns || cpu->waiting_ns;
}

#endif /* TRACE_CPU_H */
