/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ptx_whole.h - where a lane's time went: into records, into the probes in them, and between two.
 *
 * Between an END and the next START a lane runs what the probe stores, and code that has no probes;
 * in modes that time all of a kernel that is the probes' cost alone.
 */
#ifndef PTX_WHOLE_H
#define PTX_WHOLE_H

#include "ptx_matrix.h"

struct out;

struct ptx_whole {
    uint64_t lanes, records; /* lanes that have any */
    uint64_t cycles;         /* of all lanes, from the first START to the last END */
    uint64_t probes;         /* of these, in records, by what an empty pair costs */
    uint64_t gaps, between;  /* from an END to the next START: how often, cycles */
};

/* Records without a start, or whose clocks run backwards, are left out. */
void ptx_whole_add(struct ptx_whole *whole, const struct ptx_matrix *matrix, uint32_t pair_cost);

/* One line; none where there is no time. */
void ptx_whole_write(struct out *out, const struct ptx_whole *whole);

#endif /* PTX_WHOLE_H */
