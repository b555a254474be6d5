/* SPDX-License-Identifier: Apache-2.0 */
/* chrome_gpus.h - what PyTorch's profiler tells of GPUs beside events ("deviceProperties"). */
#ifndef CHROME_GPUS_H
#define CHROME_GPUS_H

#include "json_scan.h"
#include "trace.h"

enum { CHROME_GPUS_MAX = 64 };

/* Zero is none. */
struct chrome_gpus {
    struct chrome_gpu {
        uint32_t id;
        char name[128];
        uint64_t multiprocessors, memory_bytes; /* 0: not known */
    } gpus[CHROME_GPUS_MAX];
    uint32_t count;
};

/* The member's value comes next. */
void chrome_gpus_read(struct chrome_gpus *gpus, struct json_scan *scan);
/* As facts of a process of the trace, as those of RBWP files. */
void chrome_gpus_add_facts(const struct chrome_gpus *gpus, struct trace *trace, uint32_t process);

#endif /* CHROME_GPUS_H */
