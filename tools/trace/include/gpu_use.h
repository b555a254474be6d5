/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_use.h - how well a GPU is fed: for how long it ran, and for how long it was idle because the
 * next work had not been launched.
 *
 * A gap belongs to launching if it is short, or if the call that ends it took most of it. What
 * lies between two works that are far apart in time is none of the time in which a GPU is in use.
 */
#ifndef GPU_USE_H
#define GPU_USE_H

#include "busy_cells.h"

struct trace_detail;
struct trace_span;

struct gpu_use {
    struct busy busy;
    uint64_t used_ns;           /* in which it had work, with gaps that are no pauses */
    uint64_t launches;          /* works of which the launch is known */
    uint64_t paces, pace_ns;    /* from one launch of a thread to its next one, if that is near */
    uint64_t gap_ns, inside_ns; /* idle while it was not launched; of that inside launching calls */
    struct busy_cells gaps;     /* the same over time */
    uint32_t thread;            /* whose launches stand for most of the gaps */
    uint64_t votes_ns;
    uint32_t last_thread;
    int64_t last_launched_ns;
};

/* Whether a thread is launching when a GPU is idle for so long, of that so long inside a call that
 * launches. */
bool gpu_use_is_launching(uint64_t gap_ns, uint64_t inside_ns);
/* In the order of starts. thread: whose launch it is, any number; launched_ns: when the call had
 * been made, at least launch_ns. False without memory. */
bool gpu_use_add(struct gpu_use *use, const struct trace_span *span,
                 const struct trace_detail *detail, uint32_t thread, int64_t launched_ns);
/* At least so long of the gaps its thread was on a CPU; waits: when it was not, NULL: nobody knows
 * beyond the calls that launch. */
uint64_t gpu_use_running_ns(const struct gpu_use *use, const struct busy_cells *waits);
static inline void gpu_use_free(struct gpu_use *use)
{
    busy_cells_free(&use->gaps);
}

#endif /* GPU_USE_H */
