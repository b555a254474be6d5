/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ptx_pairs.h - records of all lanes, summed up by what they are between.
 *
 * By START and END, so that taken branches have a line of their own (an edge k->m), or by source
 * line. The cost of an empty pair is taken off each record.
 */
#ifndef PTX_PAIRS_H
#define PTX_PAIRS_H

#include "ptx_matrix.h"

struct ptx_sum {
    uint64_t key; /* start << 32 | end, or file << 32 | line */
    uint64_t count, cycles, p50, p99, most;
    double spread; /* of the sums of lanes that have any: 1 - least / most */
};
struct ptx_sums {
    struct ptx_sum *sums; /* in order of keys */
    uint32_t count;
    uint64_t cycles; /* of all */
};

/* Records of several launches, whose lanes are distinguished. Zero is none. */
struct ptx_timed;
struct ptx_gathered {
    struct ptx_timed *timed;
    size_t count, room;
    uint32_t lanes;
};
/* Records without a start, or whose clocks run backwards, are dropped. by_line: the map that has
 * lines and files; NULL: by pair. False with the message given. */
bool ptx_gather(struct ptx_gathered *gathered, const struct ptx_matrix *matrix,
                const struct ptx_map *by_line, uint32_t pair_cost);
/* Frees what was gathered. False with the message given; ptx_sums_free only after true. */
bool ptx_gathered_sums(struct ptx_gathered *gathered, struct ptx_sums *sums);

/* Both, of one launch. */
bool ptx_sums_make(struct ptx_sums *sums, const struct ptx_matrix *matrix,
                   const struct ptx_map *by_line, uint32_t pair_cost);
void ptx_sums_free(struct ptx_sums *sums);

/* The table of pairs. */
void ptx_sums_write_pairs(struct out *out, const struct ptx_sums *sums,
                          const struct ptx_loc_map *locs);

/* Where a lane's time went: into records, into the probes in them, and between two.
 *
 * Between an END and the next START a lane runs what the probe stores, and code that has no probes;
 * in modes that time all of a kernel that is the probes' cost alone. */

struct ptx_whole {
    uint64_t lanes, records; /* lanes that have any */
    uint64_t cycles;         /* of all lanes, from the first START to the last END */
    uint64_t probes;         /* of these, in records, by what an empty pair costs */
    uint64_t gaps, between;  /* from an END to the next START: how often, cycles */
};

/* Records without a start, or whose clocks run backwards, are dropped. */
void ptx_whole_add(struct ptx_whole *whole, const struct ptx_matrix *matrix, uint32_t pair_cost);

/* One line; none where there is no time. */
void ptx_whole_write(struct out *out, const struct ptx_whole *whole);

#endif /* PTX_PAIRS_H */
