/* SPDX-License-Identifier: Apache-2.0 */
/* Durations that add up: a stack a lane of the spans around the next one. */
#include "chrome_ends.h"
#include "thread_map.h"

#include <stdlib.h>

enum { EARLIER_BATCH = UINT32_MAX };

struct chrome_open_end {
    int64_t stop_ns;
    uint32_t at;    /* in the batch, or EARLIER_BATCH */
    uint16_t inner; /* steps more than the outermost of those that stop with it */
};

static uint16_t one_more(uint16_t steps)
{
    return (uint16_t)(steps < UINT16_MAX ? steps + 1 : steps);
}

static void chrome_ends_pop(struct chrome_lane_ends *lane, int64_t start_ns, uint16_t *steps)
{
    while (lane->depth && lane->open[lane->depth - 1].stop_ns <= start_ns) {
        const struct chrome_open_end *end = &lane->open[--lane->depth];
        if (end->stop_ns == start_ns && end->at != EARLIER_BATCH)
            steps[end->at] = one_more(end->inner);
    }
}

bool chrome_ends_take(struct chrome_lane_ends *lane, const struct trace_span *span, uint32_t at,
                      uint16_t *steps)
{
    struct chrome_open_end made = {.stop_ns = span->stop_ns, .at = at};
    chrome_ends_pop(lane, span->start_ns, steps);
    steps[at] = 0;
    if (span->start_ns == span->stop_ns)
        return true;
    const struct chrome_open_end *outer = lane->depth ? &lane->open[lane->depth - 1] : NULL;
    if (outer && outer->stop_ns == span->stop_ns)
        made.inner = one_more(outer->inner);
    steps[at] = made.inner;
    if (lane->depth == lane->room &&
        !thread_array_grow(&lane->open, &lane->room, lane->depth + 1, sizeof *lane->open))
        return false;
    lane->open[lane->depth++] = made;
    return true;
}

void chrome_ends_finish_batch(struct chrome_lane_ends *lane, uint16_t *steps)
{
    for (uint32_t i = 0; i < lane->depth; i++) {
        struct chrome_open_end *end = &lane->open[i];
        if (end->at == EARLIER_BATCH)
            continue;
        steps[end->at] = end->inner = one_more(end->inner);
        end->at = EARLIER_BATCH;
    }
}

void chrome_ends_free(struct chrome_lane_ends *lane)
{
    free(lane->open);
}

/* A step is at least four times the distance of two doubles at stop_ns. From the thirteenth day on
 * doubles of microseconds do not keep nanoseconds, whatever is written. */
uint32_t chrome_ends_shorter(int64_t stop_ns, uint16_t steps)
{
    enum { MOST = 400 };
    uint64_t us = (stop_ns < 0 ? 0 - (uint64_t)stop_ns : (uint64_t)stop_ns) / 1000;
    uint32_t step = us < UINT64_C(1) << 31   ? 1
                    : us < UINT64_C(1) << 34 ? 10
                    : us < UINT64_C(1) << 37 ? 100
                                             : MOST;
    return steps < MOST / step ? steps * step : steps ? MOST : 0;
}
