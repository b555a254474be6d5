/* SPDX-License-Identifier: Apache-2.0 */
#include "span_facts.h"

#include <string.h>

static void span_facts_set(struct span_facts *facts, enum span_fact fact, uint64_t value)
{
    facts->known |= 1u << fact;
    facts->value[fact] = value;
}

void span_facts_of_track(const struct trace *trace, uint32_t number, struct span_facts *facts)
{
    facts->known = 0;
    while (number != TRACE_NONE) {
        const struct trace_track *track = trace_track_of(trace, number);
        if (track->kind == TRACE_THREAD)
            span_facts_set(facts, FACT_THREAD, track->id);
        else if (track->kind == TRACE_GPU || track->kind == TRACE_PROCESSOR)
            span_facts_set(facts, FACT_PROCESSOR, track->id);
        else if (track->kind == TRACE_STREAM)
            span_facts_set(facts, FACT_STREAM, track->id);
        number = track->parent;
    }
}

/* A stream that is no track is an argument. */
static void find_stream(const struct trace *trace, const struct trace_detail *detail,
                        struct span_facts *facts)
{
    for (uint32_t i = 0; i < detail->arg_count; i++) {
        const struct trace_arg *arg = &trace_args_of(detail)[i];
        struct trace_text key = trace_name_of(trace, arg->key);
        if (arg->type == TRACE_ARG_U64 && key.bytes == 6 && memcmp(key.text, "stream", 6) == 0)
            span_facts_set(facts, FACT_STREAM, arg->value.u64);
    }
}

void span_facts_of_detail(const struct trace *trace, const struct trace_detail *detail,
                          struct span_facts *facts)
{
    if (!detail)
        return;
    if (!span_facts_has(facts, FACT_STREAM) && !span_facts_has(facts, FACT_THREAD))
        find_stream(trace, detail, facts);
    if (detail->correlation)
        span_facts_set(facts, FACT_CORRELATION, detail->correlation);
    if (detail->thread_id)
        span_facts_set(facts, FACT_LAUNCH_THREAD, detail->thread_id);
    if (detail->launch_span)
        span_facts_set(facts, FACT_LAUNCH_SPAN, detail->launch_span);
    if (detail->flags & TRACE_HAS_LAUNCH) {
        span_facts_set(facts, FACT_LAUNCH, (uint64_t)detail->launch_ns);
        span_facts_set(facts, FACT_LAUNCH_INFERRED, (detail->flags & TRACE_INFERRED) != 0);
    }
    if (detail->flags & TRACE_HAS_BOUNDS) {
        span_facts_set(facts, FACT_START_UNCERTAIN, detail->start_uncertain_ns);
        span_facts_set(facts, FACT_STOP_UNCERTAIN, detail->stop_uncertain_ns);
        span_facts_set(facts, FACT_CERTAIN, detail->certain_ns);
    }
}
