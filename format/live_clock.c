/* SPDX-License-Identifier: Apache-2.0 */
/* live_clock.c - see live_clock.h. Bounded as the runtime's own line: when full, it is thinned. */
#include "live_clock.h"

#include "rules.h"

#include <stdlib.h>

#define NS_MOST 1e18 /* from a sample, 31 years: ticks of a clock gone wild do no harm */

enum rbwp_status live_clock_init(struct live_clock *clock, uint64_t ticks_per_second)
{
    *clock = (struct live_clock){.ns_per_tick = 1};
    if (ticks_per_second)
        clock->ns_per_tick = 1e9 / (double)ticks_per_second;
    clock->samples = calloc(LIVE_SAMPLES_MAX, sizeof *clock->samples);
    return clock->samples ? RBWP_OK : RBWP_E_MEMORY;
}

void live_clock_free(struct live_clock *clock)
{
    free(clock->samples);
    *clock = (struct live_clock){0};
}

static bool possible(int64_t time_ns)
{
    return time_ns >= 0 && (uint64_t)time_ns <= TIME_MASK;
}

/* Every second sample goes, but for the first. */
static void thin_out(struct live_clock *clock)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < clock->count; i += 2)
        clock->samples[kept++] = clock->samples[i];
    clock->count = kept;
}

void live_clock_add(struct live_clock *clock, const struct rbwp_clock_sample *sample)
{
    const struct rbwp_clock_sample *last = clock->count ? &clock->samples[clock->count - 1] : NULL;
    if (!possible(sample->time_ns) ||
        (last && (sample->ticks <= last->ticks || sample->time_ns < last->time_ns)))
        return;
    if (clock->count == LIVE_SAMPLES_MAX)
        thin_out(clock);
    clock->samples[clock->count++] = *sample;
}

static double rate(const struct rbwp_clock_sample *a, const struct rbwp_clock_sample *b)
{
    return (double)(b->time_ns - a->time_ns) / (double)(b->ticks - a->ticks);
}

/* The last sample at or before ticks, else the first one. */
static uint32_t find_sample(const struct live_clock *clock, uint64_t ticks)
{
    uint32_t low = 0, high = clock->count; /* samples before low are not behind ticks */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (clock->samples[middle].ticks <= ticks)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? low - 1 : 0;
}

int64_t live_clock_ns(const struct live_clock *clock, uint64_t ticks)
{
    uint32_t at = find_sample(clock, ticks), last = clock->count - 1;
    const struct rbwp_clock_sample *sample = &clock->samples[at];
    double ns_per_tick = clock->ns_per_tick;
    if (at < last)
        ns_per_tick = rate(sample, sample + 1);
    else if (last > 0)
        ns_per_tick = rate(&clock->samples[0], sample);
    double ns = ticks >= sample->ticks ? (double)(ticks - sample->ticks) * ns_per_tick
                                       : -(double)(sample->ticks - ticks) * ns_per_tick;
    ns = ns < NS_MOST ? ns : NS_MOST;
    ns = ns > -NS_MOST ? ns : -NS_MOST;
    int64_t time_ns = sample->time_ns + (int64_t)ns; /* below 2^62 + 2^60 */
    time_ns = time_ns > 0 ? time_ns : 0;
    return time_ns < (int64_t)TIME_MASK ? time_ns : (int64_t)TIME_MASK;
}
