/* SPDX-License-Identifier: Apache-2.0 */
/* sample_sorter.h - any number of samples of counters into the order of their times. */
#ifndef SAMPLE_SORTER_H
#define SAMPLE_SORTER_H

#include "merge_sorter.h"
#include "trace.h"

struct sample_sorter {
    struct merge_sorter samples;
    uint64_t added;
};

void sample_sorter_start(struct sample_sorter *sorter);
/* Of those of one track and time the order of adding stays. */
void sample_sorter_add(struct sample_sorter *sorter, uint32_t track,
                       const struct trace_sample *sample);
/* Passes all on, track by track. False when some are missing; the user was told. */
bool sample_sorter_finish(struct sample_sorter *sorter, struct trace *trace);
void sample_sorter_stop(struct sample_sorter *sorter);

#endif /* SAMPLE_SORTER_H */
