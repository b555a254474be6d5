/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chrome_ends.h - durations of which doubles make the right ends.
 *
 * Who reads Chrome JSON adds start and duration as doubles of microseconds.
 * Where two spans abut, the sum may lie above the start of the next, and where
 * two end together, the inner one may end after the outer one: a viewer then
 * takes them to overlap (speedscope leaves an end out, and the totals are
 * wrong). Such a span is written a little shorter than it is, by far less than
 * half a nanosecond and by more than doubles are wrong there; of several that
 * end together each by more than the one around it. All others keep their
 * three decimals.
 */
#ifndef CHROME_ENDS_H
#define CHROME_ENDS_H

#include "trace.h"

/* Spans of one lane that are open. Zero is none. */
struct chrome_lane_ends {
    struct chrome_open_end *open;
    uint32_t depth, room;
};

/* The next span of the lane, number at of its batch. *steps becomes by how many steps it is to be
 * shorter, that of earlier spans of the batch (all are in steps) if it shows that they abut. False
 * without memory. */
bool chrome_ends_take(struct chrome_lane_ends *lane, const struct trace_span *span, uint32_t at,
                      uint16_t *steps);
/* No more spans of the batch: those that are still open may abut to whatever comes. */
void chrome_ends_finish_batch(struct chrome_lane_ends *lane, uint16_t *steps);
void chrome_ends_free(struct chrome_lane_ends *lane);

/* Thousandths of a nanosecond by which a span that stops at stop_ns from the origin is shorter. */
uint32_t chrome_ends_shorter(int64_t stop_ns, uint16_t steps);

#endif /* CHROME_ENDS_H */
