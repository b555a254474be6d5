/* SPDX-License-Identifier: Apache-2.0 */
/* The part that held the answer before holds one that is nearly right, which rules most parts out.
 */
#include "launch_ring.h"

enum { PART = LAUNCH_RING_PART };

void launch_ring_sum_up(struct launch_ring *ring, uint32_t part)
{
    const int64_t *begin_ns = ring->begin_ns + part * PART;
    int64_t least_ns = begin_ns[0], most_ns = begin_ns[0];
    bool ascends = true;
    for (uint32_t i = 1; i < PART; i++) {
        ascends &= begin_ns[i - 1] <= begin_ns[i];
        least_ns = begin_ns[i] < least_ns ? begin_ns[i] : least_ns;
        most_ns = begin_ns[i] > most_ns ? begin_ns[i] : most_ns;
    }
    ring->least_ns[part] = least_ns;
    ring->most_ns[part] = most_ns;
    ring->ascends[part] = ascends;
}

/* Of ascending times, the first of which is not later than time_ns, the last such. */
static uint32_t last_by(const int64_t *begin_ns, int64_t time_ns)
{
    uint32_t at = 0;
    for (uint32_t step = PART / 2; step > 0; step /= 2)
        at += begin_ns[at + step] <= time_ns ? step : 0;
    return at;
}

/* Of the times that are not later than time_ns, and of least_ns, the latest. */
static int64_t latest_of(const int64_t *begin_ns, uint32_t count, int64_t time_ns, int64_t least_ns)
{
    for (uint32_t i = 0; i < count; i++) {
        int64_t here_ns = begin_ns[i] <= time_ns ? begin_ns[i] : INT64_MIN;
        least_ns = here_ns > least_ns ? here_ns : least_ns;
    }
    return least_ns;
}

/* The latest of a part that was filled, if it is later than least_ns; else that. */
static inline int64_t latest_of_part(const struct launch_ring *ring, uint32_t part, int64_t time_ns,
                                     int64_t least_ns)
{
    const int64_t *begin_ns = ring->begin_ns + part * PART;
    if (ring->most_ns[part] <= least_ns || ring->least_ns[part] > time_ns)
        return least_ns;
    if (ring->most_ns[part] <= time_ns)
        return ring->most_ns[part];
    if (!ring->ascends[part])
        return latest_of(begin_ns, PART, time_ns, least_ns);
    int64_t latest_ns = begin_ns[last_by(begin_ns, time_ns)];
    return latest_ns > least_ns ? latest_ns : least_ns;
}

/* Of parts, one of which is being filled: some of its calls are new, and the others still count. */
struct parts {
    uint32_t count, filling; /* filling: count if none is */
    uint32_t kept;           /* calls of the one that is being filled */
};

static struct parts parts_of(const struct launch_ring *ring)
{
    uint32_t kept = ring->count < LAUNCH_RING_CALLS ? (uint32_t)ring->count : LAUNCH_RING_CALLS;
    struct parts parts = {.count = (kept + PART - 1) / PART};
    parts.filling = parts.count;
    if (ring->count % PART) {
        parts.filling = (uint32_t)(ring->count % LAUNCH_RING_CALLS) / PART;
        parts.kept = kept - parts.filling * PART < PART ? kept - parts.filling * PART : PART;
    }
    return parts;
}

static int64_t latest_by(const struct launch_ring *ring, const struct parts *parts, int64_t time_ns)
{
    int64_t latest_ns = INT64_MIN;
    if (parts->filling < parts->count)
        latest_ns =
            latest_of(ring->begin_ns + parts->filling * PART, parts->kept, time_ns, INT64_MIN);
    if (ring->found < parts->count && ring->found != parts->filling)
        latest_ns = latest_of_part(ring, ring->found, time_ns, latest_ns);
    for (uint32_t part = 0; part < parts->count; part++)
        if (part != parts->filling)
            latest_ns = latest_of_part(ring, part, time_ns, latest_ns);
    return latest_ns;
}

/* The first place of that time among count; count: there is none. */
static uint32_t first_at(const int64_t *begin_ns, uint32_t count, bool ascends, int64_t time_ns)
{
    uint32_t at = 0;
    if (ascends) {
        at = last_by(begin_ns, time_ns);
        if (begin_ns[at] != time_ns)
            return count;
        while (at > 0 && begin_ns[at - 1] == time_ns)
            at--;
    }
    while (at < count && begin_ns[at] != time_ns)
        at++;
    return at;
}

uint32_t launch_ring_find(struct launch_ring *ring, int64_t time_ns)
{
    const struct parts parts = parts_of(ring);
    const int64_t latest_ns = latest_by(ring, &parts, time_ns);
    for (uint32_t part = 0; part < parts.count && latest_ns != INT64_MIN; part++) {
        const bool filling = part == parts.filling;
        const uint32_t count = filling ? parts.kept : PART;
        if (!filling && (ring->least_ns[part] > latest_ns || ring->most_ns[part] < latest_ns))
            continue;
        const uint32_t at = first_at(ring->begin_ns + part * PART, count,
                                     !filling && ring->ascends[part], latest_ns);
        if (at < count) {
            ring->found = part;
            return part * PART + at;
        }
    }
    return LAUNCH_RING_NONE;
}
