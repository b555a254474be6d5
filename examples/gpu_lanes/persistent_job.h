/* SPDX-License-Identifier: Apache-2.0 */
/*
 * persistent_job.h - what the host gives to the kernel of persistent_kernel.h and expects of it, in
 * C and C++.
 */
#ifndef PERSISTENT_JOB_H
#define PERSISTENT_JOB_H

#include "rbwp_device_buffers.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static const struct rbwp_device_name persistent_groups[] = {{0, "block"}};
static const struct rbwp_device_name persistent_events[] = {{1, "take"}, {2, "sum"}, {3, "store"}};

struct persistent_job {
    unsigned tiles, max_records;
    unsigned *in, *sums; /* sums: one of each tile, from the device */
    size_t in_bytes, sums_bytes;
};

/* Tiles have 1 to 7 units of 4096 numbers. Blocks get 28 of them on average, and lanes have room
 * for eight times as many. False without memory. */
static inline bool persistent_job_make(struct persistent_job *job, unsigned blocks)
{
    const size_t unit = 4096;
    job->tiles = 7 * 4 * blocks;
    job->max_records = 6 * 8 * 28 + 3;
    job->in_bytes = (size_t)4 * blocks * 28 * unit * sizeof *job->in;
    job->sums_bytes = job->tiles * sizeof *job->sums;
    job->in = (unsigned *)malloc(job->in_bytes);
    job->sums = (unsigned *)calloc(1, job->sums_bytes);
    if (!job->in || !job->sums)
        return false;
    for (size_t i = 0; i < job->in_bytes / sizeof *job->in; i++)
        job->in[i] = (unsigned)(i / unit); /* all of a unit have its number */
    return true;
}

/* Whether all sums are right; frees the job. */
static inline bool persistent_job_check(struct persistent_job *job)
{
    bool good = true;
    unsigned unit = 0;
    for (unsigned tile = 0; tile < job->tiles; tile++) {
        unsigned expected = 0;
        for (unsigned i = 0; i <= tile % 7; i++)
            expected += 4096u * unit++;
        good = good && job->sums[tile] == expected;
    }
    printf("results: %s\n", good ? "right" : "WRONG");
    free(job->in);
    free(job->sums);
    return good;
}

#endif
