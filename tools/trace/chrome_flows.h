/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chrome_flows.h - flow events of Chrome JSON as links between spans.
 *
 * A flow event names no span: it binds to the one around its time on its
 * track, or to the next one. So it goes through the same span_sorter as the
 * spans, as a marker; when all comes out in order, the span it binds to is at
 * hand. Its other end may be anywhere: both are brought together by a second
 * sorter. Memory does not grow with either.
 */
#ifndef CHROME_FLOWS_H
#define CHROME_FLOWS_H

#include "span_sorter.h"

enum flow_shape {
    FLOW_START,      /* s */
    FLOW_STEP,       /* t */
    FLOW_END,        /* f with bp "e" */
    FLOW_END_AT_NEXT /* f */
};

struct chrome_flows {
    struct span_sorter ends;
    uint64_t lone; /* ends that bind to no span or have no other end */
    bool failed;
};

void chrome_flows_start(struct chrome_flows *flows);
void chrome_flows_stop(struct chrome_flows *flows);
/* key: what all events of one flow share. */
void chrome_flows_mark(struct span_sorter *spans, uint32_t track, int64_t time_ns, uint64_t key,
                       enum flow_shape shape);
/* Instead of span_sorter_finish: spans go to the trace, then links. */
void chrome_flows_finish(struct chrome_flows *flows, struct span_sorter *spans,
                         struct trace *trace);

#endif /* CHROME_FLOWS_H */
