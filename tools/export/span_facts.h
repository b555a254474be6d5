/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span_facts.h - what tables of spans say of one beside its times and names.
 *
 * Of where it ran: thread, processor and stream, of the track or of those
 * around it. Of its detail: launch, bounds, correlation.
 */
#ifndef SPAN_FACTS_H
#define SPAN_FACTS_H

#include "trace.h"

enum span_fact {
    FACT_THREAD, /* id of the thread that it ran on */
    FACT_PROCESSOR,
    FACT_STREAM,
    FACT_CORRELATION,
    FACT_LAUNCH, /* time, signed */
    FACT_LAUNCH_THREAD,
    FACT_LAUNCH_SPAN,
    FACT_LAUNCH_INFERRED, /* 1 if it was */
    FACT_START_UNCERTAIN,
    FACT_STOP_UNCERTAIN,
    FACT_CERTAIN,
    SPAN_FACTS
};

struct span_facts {
    uint32_t known; /* bits of enum span_fact */
    uint64_t value[SPAN_FACTS];
};
static inline bool span_facts_has(const struct span_facts *facts, enum span_fact fact)
{
    return facts->known >> fact & 1;
}

/* Those of a track, which all its spans share. */
void span_facts_of_track(const struct trace *trace, uint32_t track, struct span_facts *facts);
/* Adds those of a span; detail may be NULL. */
void span_facts_of_detail(const struct trace *trace, const struct trace_detail *detail,
                          struct span_facts *facts);

#endif /* SPAN_FACTS_H */
