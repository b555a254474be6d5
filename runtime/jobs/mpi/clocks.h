/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clocks.h - how far this node's clock is from node 0's.
 *
 * A node asks node 0 for its time, again and again, and keeps the answer that came back soonest:
 * the time between must lie in the middle of that round trip, give or take half of it.
 */
#ifndef CLOCKS_H
#define CLOCKS_H

#include "rbwp_format.h"

struct rbwp_mpi;

struct clock_sample {
    int64_t local_ns, offset_ns; /* node 0's clock is ahead by offset_ns at local_ns */
    uint64_t bound_ns;
};

/* Mutex polling guards all of it. */
struct clocks {
    bool compares;      /* in the background: sessions run */
    uint64_t due_ticks; /* next comparison */
    uint32_t burst;     /* number of this comparison: answers to an earlier one are dropped */
    unsigned missing;   /* answers that it waits for, unless one of them is better; 0: none runs */
    unsigned in_vain;   /* so many at a time */
    bool has_best, has_last;
    struct clock_sample best; /* of this comparison */
    struct clock_sample last; /* of the last one that is over */
};

/* All nodes compare, one after the other: a quick answer needs node 0 for itself. Collective. */
enum rbwp_status clocks_compare(struct rbwp_mpi *mpi, struct rbwp_error *error);

/* From the background: begins a comparison when one is due. polling is held. */
void clocks_tick(struct rbwp_mpi *mpi, uint64_t now_ticks);

/* A question and an answer that have come. */
void clocks_answer(struct rbwp_mpi *mpi, uint32_t from, const void *packet, size_t bytes);
void clocks_take(struct rbwp_mpi *mpi, const void *packet, size_t bytes);

#endif /* CLOCKS_H */
