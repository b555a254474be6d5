/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perfetto_spans.h - events of a Perfetto trace as spans, counters and links.
 *
 * A slice is two events, which the track brings together. Its flows wait with
 * it, for a link wants to know the span. Our own exports have arrows as
 * instants, and facts as well: both become what they were.
 */
#ifndef PERFETTO_SPANS_H
#define PERFETTO_SPANS_H

#include "chrome_flows.h"
#include "kept_losses.h"
#include "open_spans.h"
#include "perfetto_event.h"
#include "perfetto_tracks.h"
#include "sample_sorter.h"
#include "trace_filter.h"

struct perfetto_spans {
    struct perfetto_tracks *tracks;
    const struct perfetto_state *state;
    const struct trace_source *opened;
    struct trace *trace;
    int64_t zero_ns; /* of the trace's clock on the axis */
    bool ours;
    struct trace_filter filter;
    struct span_sorter spans;
    struct sample_sorter samples;
    struct chrome_flows flows; /* of our own exports */
    struct open_spans open;
    struct detail_maker detail;
    struct text_buffer json;
    uint64_t strays, unfinished, backwards, crowded, left_out;
    struct kept_losses losses; /* our own exports', and gaps that a trace itself tells of */
};

/* NULL without memory. */
struct perfetto_spans *perfetto_spans_start(struct perfetto_tracks *tracks,
                                            const struct perfetto_state *state,
                                            const struct trace_source *opened, struct trace *trace,
                                            const struct trace_read_options *options);
void perfetto_spans_take(struct perfetto_spans *spans, const struct perfetto_packet *packet,
                         const struct perfetto_event *event, int64_t time_ns);
/* All goes to the trace. False when something is missing, with messages given. */
bool perfetto_spans_finish(struct perfetto_spans *spans);
void perfetto_spans_free(struct perfetto_spans *spans);

#endif /* PERFETTO_SPANS_H */
