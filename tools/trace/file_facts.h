/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_facts.h - what a trailer says of the file as a whole and the model has no other place for.
 *
 * Which part of its recording is in it (KEPT), what its tables lack (LEFT), its job (JOBM),
 * and losses of causes that are not known: "process.0.kept.why", "process.0.left_out.threads",
 * "process.0.job.rank", "process.0.lost.cause_77".
 */
#ifndef FILE_FACTS_H
#define FILE_FACTS_H

#include "rbwp_format.h"
#include "trace.h"

void file_facts_add(struct trace *trace, uint32_t process, const struct rbwp_trailer *trailer);

#endif /* FILE_FACTS_H */
