/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span_sorter.h - any number of spans into the order of their tracks.
 *
 * For sources whose order says nothing: GPU work comes when it is found to be
 * complete, other profilers write as they please. SPAN_SORTER_SPANS at a time
 * are sorted in memory and put into a temporary file; the pieces are merged
 * when all have come. Memory is bounded, whatever comes.
 */
#ifndef SPAN_SORTER_H
#define SPAN_SORTER_H

#include "trace.h"

#define SPAN_SORTER_SPANS (256u << 10)

/* A flag of spans that go in, not of those that come out: parent is their group. Those of different
 * groups lie side by side, even where one could enclose the other. */
#define SPAN_SORTER_GROUPED 0x40

struct span_sorter {
    struct trace_span *spans;
    size_t count, room;
    int fd;          /* of the temporary file, -1 none yet */
    uint64_t pieces; /* of SPAN_SORTER_SPANS spans each, in the file */
    bool failed;     /* the user was told; spans are missing */
};

void span_sorter_start(struct span_sorter *sorter);
void span_sorter_add(struct span_sorter *sorter, const struct trace_span *span);
/* Passes all on, track by track, with lanes and depths. */
void span_sorter_finish(struct span_sorter *sorter, struct trace *trace);
void span_sorter_stop(struct span_sorter *sorter);

#endif /* SPAN_SORTER_H */
