/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_filter.h - the filters of the command line, for spans of other profilers.
 *
 * They have no slots and threads in RBWP's sense: a slot pattern is held
 * against the span's name, a thread pattern against its track's. Numbers
 * match the item and the track's id. Kinds of records are RBWP's alone, but
 * for gpu: spans of a GPU.
 */
#ifndef TRACE_FILTER_H
#define TRACE_FILTER_H

#include "trace_source.h"

struct trace_filter {
    const struct filter_options *options; /* NULL: all is taken */
    int64_t from_ns, to_ns, zero_ns;
    bool clip;
};

/* zero_ns: on the trace's axis, where the file's relative times count from. */
void trace_filter_start(struct trace_filter *filter, const struct trace_read_options *options,
                        int64_t zero_ns);
bool trace_filter_takes(const struct trace_filter *filter, struct trace *trace,
                        const struct trace_span *span);
/* Of a counter: it is in the window, and no filter asks for something that counters have not. */
bool trace_filter_takes_sample(const struct trace_filter *filter, int64_t time_ns);
/* Of a span that is taken, leaves what lies in the window if the options say so. False when
 * nothing does. */
bool trace_filter_clip(const struct trace_filter *filter, struct trace_span *span);

#endif /* TRACE_FILTER_H */
