/* SPDX-License-Identifier: Apache-2.0 */
/* record_summary.h - a few lines of what a run's profiles say, on standard error. */
#ifndef RECORD_SUMMARY_H
#define RECORD_SUMMARY_H

#include "out.h"
#include "stats.h"

/* asked: sources that the user named (record.h): those that left nothing are named. False with the
 * message given. */
bool record_summary_say(struct operands files, unsigned asked);

#endif /* RECORD_SUMMARY_H */
