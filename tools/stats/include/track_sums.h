/* SPDX-License-Identifier: Apache-2.0 */
/*
 * track_sums.h - what some tracks have beside busy time: launches of a GPU's work and how sure its
 * times are, and the values of a counter.
 */
#ifndef TRACK_SUMS_H
#define TRACK_SUMS_H

#include "busy.h"
#include "histogram.h"
#include "trace.h"

/* From the beginning of the launching call to the start of the work, where the source tells it. */
struct launch_sums {
    uint64_t count, early; /* early: starts before its launch, by the bounds of both; not counted */
    uint64_t total_ns, min_ns, max_ns;
    struct histogram latencies;
    uint64_t bounded;    /* spans with bounds */
    struct busy certain; /* while they certainly ran */
};
/* False when out of memory. */
bool launch_sums_add(struct launch_sums *sums, const struct trace_span *span,
                     const struct trace_detail *detail);
uint64_t launch_sums_quantile_ns(const struct launch_sums *sums, unsigned permille);
static inline uint64_t launch_sums_mean_ns(const struct launch_sums *sums)
{
    return sums->count ? sums->total_ns / sums->count : 0;
}

/* A value holds until the next one. */
struct counter_sums {
    uint64_t count;
    double min, max, last;
    double area; /* of values times ns until the last sample */
    int64_t first_ns, last_ns;
};
void counter_sums_add(struct counter_sums *sums, const struct trace_sample *samples, size_t count);
/* Over time; of values at one time their last. */
double counter_sums_mean(const struct counter_sums *sums);

#endif /* TRACK_SUMS_H */
