/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_behind.h - a sink that works behind the reader, on another thread.
 *
 * What comes often (spans, samples, links) is copied into batches, which the
 * sink gets in the order in which they came, one at a time. Before anything
 * else happens to the trace its owner waits until the sink has them all
 * (trace_behind_settle): what the sink looks up of the trace stays as it is
 * while it runs, and everything comes in the order that it would have without
 * threads. Memory is a few batches.
 */
#ifndef TRACE_BEHIND_H
#define TRACE_BEHIND_H

#include "ordered_jobs.h"

#include <stdint.h>

struct trace_sink;
struct trace_link;
struct trace_sample;
struct trace_details;
struct trace_span;

struct trace_behind;

/* The sink stays where it is. NULL without memory. */
struct trace_behind *trace_behind_new(const struct trace_sink *sink, struct job_threads *threads);
/* What was not passed on is. NULL is fine. */
void trace_behind_free(struct trace_behind *behind);

/* As the functions of the sink. False without memory. */
bool trace_behind_spans(struct trace_behind *behind, const struct trace_span *spans, size_t count,
                        const struct trace_details *details);
bool trace_behind_samples(struct trace_behind *behind, uint32_t track,
                          const struct trace_sample *samples, size_t count);
bool trace_behind_link(struct trace_behind *behind, const struct trace_link *link);

/* Returns when the sink has all that came. */
void trace_behind_settle(struct trace_behind *behind);
/* Whether the sink says so; while batches are under way, whether it did the last time that it was
 * asked: before each call and behind the last one. */
bool trace_behind_is_full(struct trace_behind *behind);

#endif /* TRACE_BEHIND_H */
