/* SPDX-License-Identifier: Apache-2.0 */
/* Filters for spans of other profilers. */
#include "trace_filter.h"
#include "name_pattern.h"
#include "trace_span.h"

void trace_filter_start(struct trace_filter *filter, const struct trace_read_options *options,
                        int64_t zero_ns)
{
    *filter = (struct trace_filter){
        .options = options->filter, .zero_ns = zero_ns, .clip = options->clip};
    if (!filter->options || !filter_is_set(filter->options)) {
        filter->options = NULL;
        return;
    }
    filter->from_ns = filter_time_ns(&filter->options->from, zero_ns, INT64_MIN);
    filter->to_ns = filter_time_ns(&filter->options->to, zero_ns, INT64_MAX);
}

/* A number may be a name here. Of the patterns that fit, *found gets the bits. */
static bool matches(const struct filter_patterns *patterns, uint64_t number, struct trace_text name,
                    uint64_t *found)
{
    uint64_t fit = filter_patterns_fit(patterns, number, name.text, name.bytes);
    for (unsigned i = 0; i < patterns->count; i++)
        if (name_matches(patterns->list[i].text, name.text, name.bytes))
            fit |= UINT64_C(1) << i;
    *found |= fit;
    return fit || patterns->count == 0;
}

/* Notes what was there, wanted or not. */
static bool takes_patterns(const struct trace_filter *filter, struct trace *trace,
                           const struct trace_track *track, const struct trace_span *span)
{
    struct filter_found unasked = {0};
    const struct filter_options *options = filter->options;
    struct filter_found *found = options->found ? options->found : &unasked;
    filter_found_time(found, span->start_ns, span->stop_ns, filter->zero_ns);
    if (track->kind == TRACE_THREAD || track->kind == TRACE_PROCESSOR)
        trace_saw(trace, span->start_ns > filter->from_ns ? span->start_ns : filter->from_ns,
                  span->stop_ns < filter->to_ns ? span->stop_ns : filter->to_ns);
    bool slot =
        matches(&options->slots, span->item, trace_name_of(trace, span->name), &found->slots);
    return matches(&options->threads, track->id, track->name, &found->threads) && slot;
}

bool trace_filter_clip(const struct trace_filter *filter, struct trace_span *span)
{
    return !filter->clip || !filter->options || trace_clip(span, filter->from_ns, filter->to_ns);
}

bool trace_filter_takes_sample(const struct trace_filter *filter, int64_t time_ns)
{
    const struct filter_options *options = filter->options;
    return !options || (!options->kinds && !options->duration.set && !options->slots.count &&
                        !options->threads.count && time_ns >= filter->from_ns &&
                        (!options->to.set || time_ns < filter->to_ns));
}

bool trace_filter_takes(const struct trace_filter *filter, struct trace *trace,
                        const struct trace_span *span)
{
    const struct filter_options *options = filter->options;
    if (!options)
        return true;
    const struct trace_track *track = trace_track_of(trace, span->track);
    bool wanted = takes_patterns(filter, trace, track, span);
    if (options->kinds && !(options->kinds & FILTER_GPU_WORK && track->kind == TRACE_GPU))
        return false;
    if (options->duration.set && trace_duration_ns(span) < (uint64_t)options->duration.ns)
        return false;
    if (span->stop_ns < filter->from_ns ||
        (options->to.set && (span->start_ns >= filter->to_ns || filter->from_ns >= filter->to_ns)))
        return false;
    return wanted;
}
