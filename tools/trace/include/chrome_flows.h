/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chrome_flows.h - flow events of Chrome JSON as links between spans.
 *
 * A flow event names no span: it binds to the one around its time on its
 * track, or to the next one. So it goes through the same span_sorter as the
 * spans, as a marker; when all comes out in order, the span it binds to is at
 * hand. Its other end may be anywhere: the trace joins both by their key.
 */
#ifndef CHROME_FLOWS_H
#define CHROME_FLOWS_H

#include "span_sorter.h"

enum flow_shape {
    FLOW_START,       /* s */
    FLOW_START_ALONE, /* the same, also where there is no span around */
    FLOW_STEP,        /* t */
    FLOW_END,         /* f with bp "e" */
    FLOW_END_AT_NEXT  /* f */
};

struct chrome_flow {
    uint64_t key; /* what all events of one flow share, and those of no other one, in any file */
    int64_t time_ns;
    uint32_t track, label;
    enum trace_link_kind kind;
    enum flow_shape shape;
};

struct chrome_flows {
    uint64_t lone; /* ends that bind to no span */
    bool failed;
};

void chrome_flows_mark(struct span_sorter *spans, const struct chrome_flow *flow);
/* Instead of span_sorter_finish: spans go to the trace, and ends of links. */
void chrome_flows_finish(struct chrome_flows *flows, struct span_sorter *spans,
                         struct trace *trace);

#endif /* CHROME_FLOWS_H */
