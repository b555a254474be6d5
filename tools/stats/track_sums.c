/* SPDX-License-Identifier: Apache-2.0 */
#include "track_sums.h"
#include "stats_row.h"

/* Starts may be early by their bound: busy_add takes intervals that ascend by little less. */
static void add_certain(struct launch_sums *sums, const struct trace_span *span,
                        const struct trace_detail *detail)
{
    int64_t from_ns, until_ns;
    uint64_t tail_ns = detail->stop_uncertain_ns, duration_ns = trace_duration_ns(span);
    sums->bounded++;
    if (detail->certain_ns == 0 || detail->certain_ns > duration_ns ||
        tail_ns > duration_ns - detail->certain_ns)
        return;
    int64_t stop_ns = span->stop_ns - (int64_t)tail_ns;
    (void)busy_add(&sums->certain, stop_ns - (int64_t)detail->certain_ns, stop_ns, &from_ns,
                   &until_ns);
}

bool launch_sums_add(struct launch_sums *sums, const struct trace_span *span,
                     const struct trace_detail *detail)
{
    if (detail->flags & TRACE_HAS_BOUNDS)
        add_certain(sums, span, detail);
    if (!(detail->flags & TRACE_HAS_LAUNCH) || detail->flags & TRACE_INFERRED ||
        span->flags & TRACE_CUT)
        return true;
    if (span->start_ns < detail->launch_ns) {
        sums->early++;
        return true;
    }
    uint64_t latency_ns = (uint64_t)span->start_ns - (uint64_t)detail->launch_ns;
    sums->min_ns = sums->count++ && sums->min_ns < latency_ns ? sums->min_ns : latency_ns;
    sums->max_ns = latency_ns > sums->max_ns ? latency_ns : sums->max_ns;
    sums->total_ns = stats_sum(sums->total_ns, latency_ns);
    return histogram_add(&sums->latencies, latency_ns);
}

uint64_t launch_sums_quantile_ns(const struct launch_sums *sums, unsigned permille)
{
    uint64_t value = histogram_quantile(&sums->latencies, permille);
    value = value < sums->min_ns ? sums->min_ns : value;
    return value > sums->max_ns ? sums->max_ns : value;
}

void counter_sums_add(struct counter_sums *sums, const struct trace_sample *samples, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct trace_sample *sample = &samples[i];
        double value = trace_sample_value(sample);
        if (sums->count == 0) {
            sums->min = sums->max = value;
            sums->first_ns = sums->last_ns = sample->time_ns;
        }
        sums->area += sums->last * (double)((uint64_t)sample->time_ns - (uint64_t)sums->last_ns);
        sums->min = value < sums->min ? value : sums->min;
        sums->max = value > sums->max ? value : sums->max;
        sums->last = value;
        sums->last_ns = sample->time_ns;
        sums->count++;
    }
}

double counter_sums_mean(const struct counter_sums *sums)
{
    uint64_t length_ns = (uint64_t)sums->last_ns - (uint64_t)sums->first_ns;
    return length_ns ? sums->area / (double)length_ns : sums->last;
}
