/* SPDX-License-Identifier: Apache-2.0 */
/*
 * why_gpu.h - whether a run as a whole is launch-bound: a GPU is idle in a good part of the time in
 * which it is used, while a thread on the CPU launches.
 */
#ifndef WHY_GPU_H
#define WHY_GPU_H

#include "gpu_use.h"
#include "trace.h"

struct why_track;

struct why_gpu {
    uint32_t track;
    struct gpu_use use;
    uint64_t running_ns; /* after why_gpus_finish: of the gaps, the thread was on a CPU */
    char *name, *thread; /* after it as well, own memory; thread: "" without launches */
    bool bound;          /* likewise: it is launch-bound */
};

struct why_gpus {
    struct why_gpu *list;
    uint32_t count, room;
    struct why_waits {
        bool known;
        struct busy_cells cells;
    } * waits; /* by thread: when it was not on a CPU */
    uint32_t wait_room;
    uint32_t launched_key; /* 1 + name; 0: it has not come */
    bool failed;
};

/* launcher: the thread that launched it, TRACE_NONE: it is not known. */
void why_gpus_work(struct why_gpus *gpus, const struct trace_span *span,
                   const struct trace_detail *detail, uint32_t launcher);
/* For so long of that time the thread was not on a CPU. */
void why_gpus_wait(struct why_gpus *gpus, uint32_t thread, const struct trace_span *span,
                   uint64_t ns);
void why_gpus_finish(struct why_gpus *gpus, const struct trace *trace, uint64_t least_ns);
/* The one that a run without gaps would gain most at; NULL: none is launch-bound. */
const struct why_gpu *why_gpus_worst(const struct why_gpus *gpus);
void why_gpus_free(struct why_gpus *gpus);

/* The argument of that key, 1 + the number of its name; 0: it has none. */
uint64_t why_argument(const struct trace_detail *detail, uint32_t key);

#endif /* WHY_GPU_H */
