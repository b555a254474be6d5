/* SPDX-License-Identifier: Apache-2.0 */
/*
 * async_sink.h - a sink that runs on another thread than the reader.
 *
 * What comes often (spans, samples, links) is copied into batches, which the
 * sink gets in the order in which they came, one at a time. Before anything
 * else happens to the trace its owner waits until the sink has them all
 * (async_sink_settle): what the sink looks up of the trace stays as it is
 * while it runs, and everything comes in the order that it would have without
 * threads. Memory is a few batches.
 */
#ifndef ASYNC_SINK_H
#define ASYNC_SINK_H

#include "ordered_jobs.h"

struct trace_sink;
struct trace_link;
struct trace_sample;
struct trace_details;
struct trace_span;

struct async_sink;

/* The sink stays where it is. NULL without memory. */
struct async_sink *async_sink_new(const struct trace_sink *sink, struct job_threads *threads);
/* What was not passed on is. NULL is fine. */
void async_sink_free(struct async_sink *behind);

/* As the functions of the sink. False without memory. */
bool async_sink_spans(struct async_sink *behind, const struct trace_span *spans, size_t count,
                      const struct trace_details *details);
bool async_sink_samples(struct async_sink *behind, uint32_t track,
                        const struct trace_sample *samples, size_t count);
bool async_sink_link(struct async_sink *behind, const struct trace_link *link);

/* Returns when the sink has all that came. */
void async_sink_settle(struct async_sink *behind);
/* Whether the sink says so; while batches are under way, whether it did the last time that it was
 * asked: before each call and behind the last one. */
bool async_sink_is_full(struct async_sink *behind);

#endif /* ASYNC_SINK_H */
