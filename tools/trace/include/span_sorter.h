/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span_sorter.h - any number of spans into the order of their tracks.
 *
 * For sources whose order says nothing: GPU work comes when it is found to be
 * complete, other profilers write as they please. Memory is bounded, whatever
 * comes (merge_sorter.h).
 */
#ifndef SPAN_SORTER_H
#define SPAN_SORTER_H

#include "merge_sorter.h"
#include "trace.h"

struct span_sorter {
    struct merge_sorter spans;
    bool failed; /* a message was given; spans are missing */
};

void span_sorter_start(struct span_sorter *sorter);
/* detail: what more the span has, NULL for nothing; it is copied. A span may be SPAN_GROUPED
 * (span_batch.h). */
void span_sorter_add(struct span_sorter *sorter, const struct trace_span *span,
                     const struct trace_detail *detail);
/* Passes all on, track by track, with rows and depths. */
void span_sorter_finish(struct span_sorter *sorter, struct trace *trace);
void span_sorter_stop(struct span_sorter *sorter);

/* Any number of samples of counters into the order of their times. */

struct sample_sorter {
    struct merge_sorter samples;
    uint64_t added;
};

void sample_sorter_start(struct sample_sorter *sorter);
/* Of those of one track and time the order of adding stays. */
void sample_sorter_add(struct sample_sorter *sorter, uint32_t track,
                       const struct trace_sample *sample);
/* Passes all on, track by track. False, with the message given, when some are missing. */
bool sample_sorter_finish(struct sample_sorter *sorter, struct trace *trace);
void sample_sorter_stop(struct sample_sorter *sorter);

#endif /* SPAN_SORTER_H */
