/* SPDX-License-Identifier: Apache-2.0 */
#include "why_gpu.h"

#include "trace_span.h"

#include <stdlib.h>
#include <string.h>

enum { LAUNCHES_LEAST = 100, BOUND_PART = 5 }; /* of the time in use, that it is idle at least */

uint64_t why_argument(const struct trace_detail *detail, uint32_t key)
{
    for (uint32_t i = 0; detail && key && i < detail->arg_count; i++)
        if (trace_args_of(detail)[i].key == key - 1)
            return trace_args_of(detail)[i].value.u64;
    return 0;
}

static struct why_gpu *gpu_of(struct why_gpus *gpus, uint32_t track)
{
    for (uint32_t i = gpus->count; i-- > 0;)
        if (gpus->list[i].track == track)
            return &gpus->list[i];
    if (!grow_zeroed32(&gpus->list, &gpus->room, gpus->count + 1, sizeof *gpus->list)) {
        gpus->failed = true;
        return NULL;
    }
    gpus->list[gpus->count].track = track;
    return &gpus->list[gpus->count++];
}

void why_gpus_work(struct why_gpus *gpus, const struct trace_span *span,
                   const struct trace_detail *detail, uint32_t launcher)
{
    struct why_gpu *gpu = gpu_of(gpus, span->track);
    const int64_t launch_ns = detail ? detail->launch_ns : 0;
    const int64_t launched_ns = (int64_t)why_argument(detail, gpus->launched_key);
    gpus->failed |=
        gpu && !gpu_use_add(&gpu->use, span, launcher == TRACE_NONE ? NULL : detail, launcher,
                            launched_ns > launch_ns ? launched_ns : launch_ns);
}

void why_gpus_wait(struct why_gpus *gpus, uint32_t thread, const struct trace_span *span,
                   uint64_t ns)
{
    if (!grow_zeroed32(&gpus->waits, &gpus->wait_room, thread + 1, sizeof *gpus->waits)) {
        gpus->failed = true;
        return;
    }
    gpus->waits[thread].known = true;
    gpus->failed |=
        ns && !busy_cells_add(&gpus->waits[thread].cells, span->start_ns, span->stop_ns, ns);
}

static char *copy_of(const struct trace *trace, uint32_t track, bool any)
{
    const struct trace_text name = trace_track_of(trace, track)->name;
    return any ? strndup(name.text, name.bytes) : strdup("");
}

void why_gpus_finish(struct why_gpus *gpus, const struct trace *trace, uint64_t least_ns)
{
    for (uint32_t i = 0; i < gpus->count; i++) {
        struct why_gpu *gpu = &gpus->list[i];
        const struct gpu_use *use = &gpu->use;
        const struct why_waits *waits =
            use->thread < gpus->wait_room ? &gpus->waits[use->thread] : NULL;
        gpu->running_ns = gpu_use_running_ns(use, waits && waits->known ? &waits->cells : NULL);
        gpu->bound = use->launches >= LAUNCHES_LEAST && gpu->running_ns >= least_ns &&
                     gpu->running_ns >= use->used_ns / BOUND_PART && gpu->running_ns;
        gpu->name = copy_of(trace, gpu->track, true);
        gpu->thread = copy_of(trace, use->thread, use->gap_ns);
        gpus->failed |= !gpu->name || !gpu->thread;
    }
}

const struct why_gpu *why_gpus_worst(const struct why_gpus *gpus)
{
    const struct why_gpu *worst = NULL;
    for (uint32_t i = 0; i < gpus->count; i++)
        if (gpus->list[i].bound && (!worst || gpus->list[i].running_ns > worst->running_ns))
            worst = &gpus->list[i];
    return worst;
}

void why_gpus_free(struct why_gpus *gpus)
{
    for (uint32_t i = 0; i < gpus->count; i++) {
        gpu_use_free(&gpus->list[i].use);
        free(gpus->list[i].name);
        free(gpus->list[i].thread);
    }
    for (uint32_t i = 0; i < gpus->wait_room; i++)
        busy_cells_free(&gpus->waits[i].cells);
    free(gpus->list);
    free(gpus->waits);
    *gpus = (struct why_gpus){0};
}
