/* SPDX-License-Identifier: Apache-2.0 */
/* Filters for spans of other profilers. */
#include "trace_filter.h"
#include "name_pattern.h"

void trace_filter_start(struct trace_filter *filter, const struct trace_read_options *options,
                        int64_t zero_ns)
{
    *filter = (struct trace_filter){.options = options->filter};
    if (!filter->options || !filter_is_set(filter->options)) {
        filter->options = NULL;
        return;
    }
    filter->from_ns = filter_time_ns(&filter->options->from, zero_ns, INT64_MIN);
    filter->to_ns = filter_time_ns(&filter->options->to, zero_ns, INT64_MAX);
}

static bool matches(const struct filter_patterns *patterns, uint64_t number, struct trace_text name)
{
    for (unsigned i = 0; i < patterns->count; i++) {
        const struct filter_pattern *pattern = &patterns->list[i];
        if ((pattern->is_number && pattern->number == number) ||
            name_matches(pattern->text, name.text, name.bytes))
            return true;
    }
    return patterns->count == 0;
}

bool trace_filter_takes(const struct trace_filter *filter, const struct trace *trace,
                        const struct trace_span *span)
{
    const struct filter_options *options = filter->options;
    if (!options)
        return true;
    const struct trace_track *track = trace_track_of(trace, span->track);
    if (options->kinds && !(options->kinds & FILTER_GPU_WORK && track->kind == TRACE_GPU))
        return false;
    if (options->duration.set && trace_duration_ns(span) < (uint64_t)options->duration.ns)
        return false;
    if (span->stop_ns < filter->from_ns || (options->to.set && span->start_ns >= filter->to_ns))
        return false;
    return matches(&options->slots, span->item, trace_name_of(trace, span->name)) &&
           matches(&options->threads, track->id, track->name);
}
