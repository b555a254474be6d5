/* SPDX-License-Identifier: Apache-2.0 */
/* The part that held the answer before holds one that is nearly right, which rules most parts out.
 */
#include "launch_ring.h"

#include <stdbool.h>

enum { PART = LAUNCH_RING_PART };

void launch_ring_sum_up(struct launch_ring *ring, uint32_t part)
{
    const int64_t *begin_ns = ring->begin_ns + part * PART;
    int64_t least_ns = begin_ns[0], most_ns = begin_ns[0];
    uint32_t turn = PART, turns = 0;
    for (uint32_t i = 1; i < PART; i++) {
        const bool turned = begin_ns[i - 1] > begin_ns[i];
        turn = turned ? i : turn;
        turns += turned;
        least_ns = begin_ns[i] < least_ns ? begin_ns[i] : least_ns;
        most_ns = begin_ns[i] > most_ns ? begin_ns[i] : most_ns;
    }
    ring->least_ns[part] = least_ns;
    ring->most_ns[part] = most_ns;
    ring->turn[part] = (uint8_t)(turns < 2 ? turn : 0);
}

/* Each: of the times that are not later than time_ns, and of least_ns, the latest. */
static int64_t latest_of(const int64_t *begin_ns, uint32_t count, int64_t time_ns, int64_t least_ns)
{
    for (uint32_t i = 0; i < count; i++) {
        int64_t here_ns = begin_ns[i] <= time_ns ? begin_ns[i] : INT64_MIN;
        least_ns = here_ns > least_ns ? here_ns : least_ns;
    }
    return least_ns;
}

static int64_t latest_of_ascending(const int64_t *begin_ns, uint32_t count, int64_t time_ns,
                                   int64_t least_ns)
{
    if (count == 0 || begin_ns[0] > time_ns)
        return least_ns;
    uint32_t low = 0;
    for (uint32_t high = count; high - low > 1;) {
        const uint32_t middle = low + (high - low) / 2;
        const bool begun = begin_ns[middle] <= time_ns;
        low = begun ? middle : low;
        high = begun ? high : middle;
    }
    return begin_ns[low] > least_ns ? begin_ns[low] : least_ns;
}

/* Of a part that was filled. */
static inline int64_t latest_of_part(const struct launch_ring *ring, uint32_t part, int64_t time_ns,
                                     int64_t least_ns)
{
    const int64_t *begin_ns = ring->begin_ns + part * PART;
    const uint32_t turn = ring->turn[part];
    if (ring->most_ns[part] <= least_ns || ring->least_ns[part] > time_ns)
        return least_ns;
    if (ring->most_ns[part] <= time_ns)
        return ring->most_ns[part];
    if (turn == 0)
        return latest_of(begin_ns, PART, time_ns, least_ns);
    least_ns = latest_of_ascending(begin_ns, turn, time_ns, least_ns);
    return latest_of_ascending(begin_ns + turn, PART - turn, time_ns, least_ns);
}

/* The latest time up to now, later than least_ns, and the first part that has it. */
struct latest {
    int64_t ns;
    uint32_t part;
};

static inline void take_parts(const struct launch_ring *ring, uint32_t first, uint32_t end,
                              int64_t time_ns, struct latest *latest)
{
    for (uint32_t part = first; part < end; part++) {
        const int64_t ns = latest_of_part(ring, part, time_ns, latest->ns);
        if (ns > latest->ns)
            *latest = (struct latest){ns, part};
    }
}

uint32_t launch_ring_find(struct launch_ring *ring, int64_t time_ns)
{
    const uint32_t all = LAUNCH_RING_CALLS;
    const uint32_t kept = ring->count < all ? (uint32_t)ring->count : all;
    const uint32_t parts = kept / PART, filling = (uint32_t)(ring->count % all) / PART;
    const uint32_t rest = kept - filling * PART < PART ? kept - filling * PART : PART;
    struct latest latest = {INT64_MIN, LAUNCH_RING_NONE};
    if (ring->found < parts && ring->found != filling) {
        latest.ns = latest_of_part(ring, ring->found, time_ns, INT64_MIN);
        latest.ns -= latest.ns > INT64_MIN; /* so that it is found again, or before */
    }
    /* Some calls of the part that is being filled are new, and the others still count. */
    take_parts(ring, 0, filling < parts ? filling : parts, time_ns, &latest);
    const int64_t ns = latest_of(ring->begin_ns + filling * PART, rest, time_ns, latest.ns);
    if (ns > latest.ns)
        latest = (struct latest){ns, filling};
    take_parts(ring, filling + 1, parts, time_ns, &latest);
    if (latest.part == LAUNCH_RING_NONE)
        return LAUNCH_RING_NONE;
    uint32_t at = latest.part * PART;
    while (ring->begin_ns[at] != latest.ns)
        at++;
    ring->found = latest.part;
    return at;
}
