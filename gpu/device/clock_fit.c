/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device's timer against the host's clocks. Of a set of samples the quickest counts: the timer
 * was read somewhere between the host's two readings, so the middle is wrong by half of their
 * distance at most. Two sets give the drift.
 */
#include "gpu_backend.h"
#include "rbwp_device_buffers.h"
#include "ticks.h"

static bool is_possible(const struct rbwp_device_clock_sample *sample)
{
    const int64_t far = INT64_MAX / 4;
    return sample->before_ns <= sample->after_ns &&
           sample->monotonic_before_ns <= sample->monotonic_after_ns && sample->before_ns >= -far &&
           sample->after_ns <= far && sample->monotonic_before_ns >= -far &&
           sample->monotonic_after_ns <= far;
}

/* NULL: there is none that can be. */
static const struct rbwp_device_clock_sample *best(const struct rbwp_device_clock_sample *samples,
                                                   size_t count)
{
    const struct rbwp_device_clock_sample *found = NULL;
    for (size_t i = 0; i < count; i++)
        if (is_possible(&samples[i]) && (!found || samples[i].after_ns - samples[i].before_ns <
                                                       found->after_ns - found->before_ns))
            found = &samples[i];
    return found;
}

static int64_t middle(int64_t before_ns, int64_t after_ns)
{
    return before_ns + (after_ns - before_ns) / 2;
}

/* Half of what the host's readings lie apart, and what a tick rounds away. */
static uint64_t bound(const struct rbwp_device_clock_sample *sample, uint64_t hz)
{
    uint64_t apart_ns = (uint64_t)(sample->after_ns - sample->before_ns);
    uint64_t monotonic_ns = (uint64_t)(sample->monotonic_after_ns - sample->monotonic_before_ns);
    apart_ns = monotonic_ns > apart_ns ? monotonic_ns : apart_ns;
    return (apart_ns + 1) / 2 + (TICKS_NS_HZ + hz - 1) / hz;
}

static int64_t offset(const struct rbwp_device_clock_sample *sample, uint64_t hz)
{
    return (int64_t)((uint64_t)ticks_ns(sample->ticks, hz) -
                     (uint64_t)middle(sample->before_ns, sample->after_ns));
}

/* How much more the device's clock went than the host's, of 10^9. */
static int64_t drift(const struct rbwp_device_clock_sample *from,
                     const struct rbwp_device_clock_sample *to, uint64_t hz)
{
    int64_t device_ns, more_ns;
    if (__builtin_sub_overflow(ticks_ns(to->ticks, hz), ticks_ns(from->ticks, hz), &device_ns) ||
        __builtin_sub_overflow(offset(to, hz), offset(from, hz), &more_ns) || device_ns <= 0)
        return 0;
    return ticks_rounded((double)more_ns / (double)device_ns * 1e9);
}

enum rbwp_status
rbwp_device_clock_fit(const struct rbwp_device_clock_sample *first, size_t first_count,
                      const struct rbwp_device_clock_sample *last, size_t last_count, uint64_t hz,
                      struct rbwp_device_clock_line *line_out, struct rbwp_error *error)
{
    const struct rbwp_device_clock_sample *from = best(first, first_count);
    const struct rbwp_device_clock_sample *to = last ? best(last, last_count) : NULL;
    if (!hz || hz > TICKS_HZ_MAX || !from || (last && !to) || (to && to->ticks < from->ticks))
        return gpu_failure(error, RBWP_E_INVALID,
                           "clocks: no sample that can be, or they run backwards");
    struct rbwp_device_clock_line line = {
        .size = line_out->size,
        .hz = hz,
        .offset_ns = offset(from, hz),
        .monotonic_offset_ns =
            (int64_t)((uint64_t)ticks_ns(from->ticks, hz) -
                      (uint64_t)middle(from->monotonic_before_ns, from->monotonic_after_ns)),
        .bound_ns = bound(from, hz),
        .from_ticks = from->ticks,
    };
    if (to) {
        line.drift_ppb = drift(from, to, hz);
        line.bound_ns = bound(to, hz) > line.bound_ns ? bound(to, hz) : line.bound_ns;
    }
    sized_give(line_out, line.size, &line, sizeof line);
    return RBWP_OK;
}

int64_t rbwp_device_clock_ns(const struct rbwp_device_clock_line *line, int64_t ticks)
{
    int64_t ns = ticks_ns(ticks, line->hz), since_ns, drifted_ns = 0;
    if (line->drift_ppb &&
        !__builtin_sub_overflow(ns, ticks_ns(line->from_ticks, line->hz), &since_ns))
        drifted_ns = ticks_drifted_ns(since_ns, line->drift_ppb);
    if (__builtin_sub_overflow(ns, line->offset_ns, &ns) ||
        __builtin_sub_overflow(ns, drifted_ns, &ns))
        return ns < 0 ? INT64_MAX : INT64_MIN;
    return ns;
}
