/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rbwp_durations.h - what decoded spans come to: a table of durations, and rows for those that
 * overlap.
 *
 * Thread rules: any thread, one at a time for one struct rbwp_durations.
 */
#ifndef RBWP_DURATIONS_H
#define RBWP_DURATIONS_H

#include "rbwp_events.h"
#include "rbwp_lanes.h"

RBWP_C_BEGIN_

/* ---- the table --------------------------------------------------------------------- */

struct rbwp_durations; /* opaque; keeps each duration, 8 bytes */

/* The spans of one event in one group. The layout of this struct does not change. */
struct rbwp_duration {
    uint64_t group; /* of lanes: their group; of device events: the rank */
    int64_t event;
    uint64_t count; /* of spans; the others are 0 without one */
    uint64_t total_ns, min_ns, max_ns;
    uint64_t p50_ns, p99_ns; /* the shortest duration that so many percent do not exceed */
    uint64_t unmatched;      /* begins without an end, ends without a begin */
};
static inline double rbwp_duration_mean_ns(const struct rbwp_duration *duration)
{
    return duration->count ? (double)duration->total_ns / (double)duration->count : 0.0;
}

/* NULL without memory. Free takes NULL. */
RBWP_API struct rbwp_durations *rbwp_durations_new(void);
RBWP_API void rbwp_durations_free(struct rbwp_durations *durations);

/* False without memory; what was added before stands. Instants do not count. */
RBWP_API bool rbwp_durations_add(struct rbwp_durations *durations, uint64_t group, int64_t event,
                                 uint64_t duration_ns);
RBWP_API bool rbwp_durations_add_unmatched(struct rbwp_durations *durations, uint64_t group,
                                           int64_t event);
/* Of struct rbwp_durations; for rbwp_lanes_decode and rbwp_events_decode. */
RBWP_API bool rbwp_durations_take_lanes(void *durations, const struct rbwp_lane_span *spans,
                                        size_t count);
RBWP_API bool rbwp_durations_take_events(void *durations, const struct rbwp_device_event *events,
                                         size_t count);

/* The rows, by group, then event; *count_out of them, valid until the next call with durations. */
RBWP_API const struct rbwp_duration *rbwp_durations_rows(struct rbwp_durations *durations,
                                                         size_t *count_out);

/* ---- rows for spans that overlap ---------------------------------------------------- */

/*
 * Viewers draw the spans of a track as a stack: two of them must be disjoint, or one must enclose
 * the other. Gives each span the first row of its track where that holds. Spans need no order.
 * RBWP_E_MEMORY; RBWP_E_LIMIT: a track needs more than 4096 rows; rows_out is not filled then.
 */
RBWP_API RBWP_MUST_USE enum rbwp_status rbwp_overlap_rows(const uint64_t *tracks,
                                                          const int64_t *starts_ns,
                                                          const int64_t *stops_ns, size_t count,
                                                          uint16_t *rows_out);

RBWP_C_END_
#endif /* RBWP_DURATIONS_H */
