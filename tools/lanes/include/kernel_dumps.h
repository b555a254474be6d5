/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_dumps.h - rbwp lanes and rbwp events: buffers that kernels wrote, out of files.
 *
 * A file is a copy of the memory (.bin), or the same as NumPy saved it (.npy). It
 * becomes a table of durations; the JSON of the systems whose buffers these are;
 * or a profile with the tables of SPEC.md, section 9.3, which every exporter takes.
 */
#ifndef KERNEL_DUMPS_H
#define KERNEL_DUMPS_H

#include "export.h"
#include "rbwp_lanes.h"

struct kernel_options {
    struct export_options export; /* its `to` may also be rbwp, warpscope, iris */
    bool json;                    /* the durations */
    const char *csv;              /* a table of them and of what was found in files; or NULL */
    const char *events, *groups;  /* names: "load,mma,7=store" */
    uint64_t clock_hz;            /* 0: as the file says */
};

struct lanes_options {
    struct kernel_options kernel;
    struct rbwp_lanes_layout layout; /* what is not 0 is given; size is not set */
    bool by_block;                   /* the SM is not in rows */
};
enum exit_code lanes_run(const struct lanes_options *options, struct operands files);

#define EVENTS_OFFSETS_MAX 1024
struct events_options {
    struct kernel_options kernel;
    bool merge, raw_cycles; /* of iris */
    uint32_t max_events;    /* of arrays without a header; 0: as many as there are */
    uint32_t count, rank, ranks;
    bool has_count, has_rank;
    const char *offsets[EVENTS_OFFSETS_MAX]; /* RANK=NS or RANK=NS:BOUND */
    unsigned offset_count;
};
enum exit_code events_run(const struct events_options *options, struct operands files);

/* The documents of the durations. */
extern const struct result_column lanes_columns[], events_columns[];

#endif /* KERNEL_DUMPS_H */
