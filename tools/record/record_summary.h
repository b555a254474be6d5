/* SPDX-License-Identifier: Apache-2.0 */
/* record_summary.h - a few lines of what a run's profiles say, on standard error. */
#ifndef RECORD_SUMMARY_H
#define RECORD_SUMMARY_H

#include "out.h"
#include "stats.h"

/* asked: sources that the user named (record.h): those that left nothing are told. False with the
 * message given. */
bool record_summary_say(struct operands files, unsigned asked);

/* What GPUs did, in which ranges. shown: the files, for people. */
void gpu_summary_say(const char *shown, const struct stats *stats);
bool gpu_summary_any(const struct stats *stats);
/* So many ranges of the program, where no GPU worked in them. */
void ranges_summary_say(const char *shown, const struct stats *stats, uint64_t count);
/* What threads did and waited for. */
void threads_summary_say(const char *shown, const struct stats *stats);

#endif /* RECORD_SUMMARY_H */
