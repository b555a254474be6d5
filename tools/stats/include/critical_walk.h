/* SPDX-License-Identifier: Apache-2.0 */
/* critical_walk.h - what the critical path is walked back along. */
#ifndef CRITICAL_WALK_H
#define CRITICAL_WALK_H

#include "critical_path.h"

/* At one time, back: a handler that begins, a link that arrives, what ends. */
enum step_what { STEP_HANDLED, STEP_LINK, STEP_SPAN };
enum { STEP_HANDLER_ENDS = TRACE_LINK_KINDS }; /* a link's kind: of a message that was waited for */

struct critical_step {
    int64_t time_ns; /* of a span its end, of a link its arrival, of a message its handler */
    int64_t from_ns; /* when a span began, a link departed, a message was sent */
    uint8_t what;    /* enum step_what */
    uint8_t kind;    /* enum walk_kind; enum trace_link_kind; of a message: it was waited for */
    uint16_t unused;
    uint32_t track; /* a thread, GPU or stream */
    uint32_t other; /* of a span its depth; else the track that it leads from */
    uint32_t name;
    uint32_t payload; /* the sorter's */
    uint32_t unused_too;
};

/* Behind STEP_HANDLED. */
struct critical_message {
    uint64_t words;
    uint64_t key;
    int64_t arrived_ns, start_ns, stop_ns;
};

extern const struct merge_order critical_steps_order;

/* From the end of the run; path->hops, pieces and shares. False without memory. */
bool critical_walk_back(struct critical_path *path);

#endif /* CRITICAL_WALK_H */
