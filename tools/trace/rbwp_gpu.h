/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rbwp_gpu.h - the GPU work of an RBWP file as spans of a trace.
 *
 * Work is recorded when it is found to be complete, and what else the file
 * says of it stands anywhere, so all is gathered and put in order at the end. Where the
 * file says how a work was launched, its span and its link say that; else the
 * launch is inferred: the latest call of the work's slot that had begun by
 * then, of the last LAUNCH_RING_CALLS ones. Stops are corrected by the bias of their GPU.
 */
#ifndef RBWP_GPU_H
#define RBWP_GPU_H

#include "gpu_bias.h"
#include "launch_ring.h"
#include "span_detail.h"
#include "span_sorter.h"
#include "trace_source.h"

/* ---- GPU work and what the file says of it beside its record --------------------------------- */

/* A GPU_WORK record. */
struct gpu_work {
    uint64_t proc_id, thread_id; /* thread_id: whose record it is */
    int64_t start_ns, stop_ns, record_ns;
    uint64_t id; /* of the file's spans */
    int slot;
    uint32_t inferred_track; /* TRACE_NONE: no launch was inferred */
    int64_t inferred_ns;     /* on the trace's axis */
};

struct gpu_join {
    struct merge_sorter items;
    uint64_t next;
};

/* ---- the ways in which kernels were launched ------------------------------------------------- */

#define GPU_SHAPES_MAX 65536u /* what is beyond is not known */

struct gpu_shape {
    bool known;
    uint64_t grid[3], block[3], registers, shared;
};

struct gpu_shapes {
    struct gpu_shape *list; /* by number */
    uint32_t room;
};

/* ---- rbwp gpu -------------------------------------------------------------------------------- */

#define RBWP_GPUS_MAX 4096
#define RBWP_GPUS_DESCRIBED 64 /* as facts */

/* What the source does for it. */
struct rbwp_gpu_host {
    void *context;
    /* Makes the span of GPU work, but for its track; false if it is not wanted. */
    bool (*make)(void *context, const struct record_pair *work, struct trace_span *made_out);
    /* TRACE_NONE: it has none, or it is not wanted. */
    uint32_t (*thread_track)(void *context, uint64_t thread_id);
    /* Of a name of the file's tables. */
    struct rbwp_text (*name)(void *context, uint32_t number);
    /* Work that is shown, with what the file says of it. */
    void (*work)(void *context, const struct gpu_fact *fact, const struct trace_span *made);
};

enum { RBWP_GPU_KEYS = 9 };

struct rbwp_gpu {
    struct rbwp_gpu_host host;
    struct trace *trace;
    const struct trace_read_options *options;
    int64_t cut_ns; /* links from before it are dropped; INT64_MIN: none are */
    bool limited;   /* rows of no work from from_ns to to_ns, on the file's axis, are dropped */
    int64_t from_ns, to_ns;
    uint32_t process;
    uint64_t first_id, next_id; /* of the trace, less one; of the file, for work without a record */
    struct gpu_devices devices;
    struct gpu_join join;
    struct launch_calls *calls; /* NULL while nothing is about GPUs */
    struct span_sorter spans;
    struct detail_maker detail;
    struct launch_ring *launches[RBWP_SLOTS_MAX];
    struct {
        uint64_t proc_id;
        uint32_t track;
    } gpus[RBWP_GPUS_MAX];
    uint32_t gpu_count;
    struct rbwp_gpu_described {
        struct gpu_properties properties; /* but for its name */
        uint32_t label;                   /* its name */
    } described[RBWP_GPUS_DESCRIBED];
    uint32_t described_count;
    struct gpu_shapes shapes;
    uint32_t keys[RBWP_GPU_KEYS]; /* names of arguments + 1 */
    bool failed;                  /* out of memory */
};

/* host, trace, options and process are set. expected: GPU work may come. */
void rbwp_gpu_start(struct rbwp_gpu *gpu, bool expected);
void rbwp_gpu_stop(struct rbwp_gpu *gpu);

/* Only work of that time is wanted, on the file's axis: no rows of other work are kept. */
void rbwp_gpu_limit(struct rbwp_gpu *gpu, int64_t from_ns, int64_t to_ns);
/* A call of a work item that ended; track and begin on the trace's axis. */
void rbwp_gpu_call(struct rbwp_gpu *gpu, const struct record_pair *call, int64_t begin_ns,
                   uint32_t track);
/* A GPU_WORK record. */
void rbwp_gpu_work(struct rbwp_gpu *gpu, const struct record_pair *work);
/* Rows of a table, and blocks that are none. False if they say nothing of GPUs. */
bool rbwp_gpu_rows(struct rbwp_gpu *gpu, const struct rbwp_rows *rows);
bool rbwp_gpu_block(struct rbwp_gpu *gpu, const struct rbwp_block *block);
/* What a file's trailer says of GPUs. False without memory. */
bool rbwp_gpu_devices(struct rbwp_gpu *gpu, const struct rbwp_gpu_info *gpus, uint32_t count);
/* The track of a GPU, made if need be. */
uint32_t rbwp_gpu_track(struct rbwp_gpu *gpu, uint64_t proc_id);

/* What the file says of GPUs themselves, as facts of the process: "process.0.gpu.1.name", and so
 * on. When all of the file was read. */
void rbwp_gpu_add_facts(struct rbwp_gpu *gpu);

/* Passes all on. last_id: of the file's spans; returns the last with those added here. False when
 * some are missing, with a message. */
bool rbwp_gpu_finish(struct rbwp_gpu *gpu, uint64_t *last_id);

#endif /* RBWP_GPU_H */
