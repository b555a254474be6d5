/* SPDX-License-Identifier: Apache-2.0 */
/*
 * busy.h - the union of intervals, as its length and its gaps.
 *
 * For intervals that ascend by start, exactly. One that starts before what
 * was covered adds only what lies behind it: time that a track lived twice
 * counts once.
 */
#ifndef BUSY_H
#define BUSY_H

#include <stdbool.h>
#include <stdint.h>

struct busy {
    bool any;
    int64_t first_ns, from_ns, until_ns; /* of all; of the piece that was covered last */
    uint64_t busy_ns, gaps, longest_gap_ns;
    int64_t longest_gap_at_ns; /* where it begins */
};

/* Of waits of a track in order of their starts, what none before it had: leaves that of *from_ns to
 * to_ns. False if nothing is left. */
static inline bool waits_again(bool any, int64_t waited_to_ns, int64_t *from_ns, int64_t to_ns)
{
    if (any && *from_ns < waited_to_ns)
        *from_ns = waited_to_ns;
    return *from_ns < to_ns;
}

/* True when a piece ended before start_ns: it is *from_out to *until_out. */
static inline bool busy_add(struct busy *busy, int64_t start_ns, int64_t stop_ns, int64_t *from_out,
                            int64_t *until_out)
{
    bool ended = busy->any && start_ns > busy->until_ns;
    if (!busy->any)
        busy->first_ns = busy->from_ns = busy->until_ns = start_ns;
    busy->any = true;
    if (ended) {
        uint64_t gap_ns = (uint64_t)start_ns - (uint64_t)busy->until_ns;
        *from_out = busy->from_ns;
        *until_out = busy->until_ns;
        busy->gaps++;
        if (gap_ns > busy->longest_gap_ns) {
            busy->longest_gap_ns = gap_ns;
            busy->longest_gap_at_ns = busy->until_ns;
        }
        busy->from_ns = busy->until_ns = start_ns;
    }
    if (stop_ns > busy->until_ns) {
        busy->busy_ns += (uint64_t)stop_ns - (uint64_t)busy->until_ns;
        busy->until_ns = stop_ns;
    }
    return ended;
}

#endif /* BUSY_H */
