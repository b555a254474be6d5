/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record_sources.h - libraries of ours in the program: what GPUs did, ranges, threads; and what it
 * records itself.
 */
#ifndef RECORD_SOURCES_H
#define RECORD_SOURCES_H

#include "record.h"
#include "record_child.h"

#include <time.h>

/* Of a run of this command. False with the message given: nothing would be recorded. */
bool record_sources_set_up(const struct record_options *options, const char *command,
                           struct record_environment *environment);

/* Makes the profiles whole, if the program did not get to it, and says what is in them. since: when
 * the program was started. */
void record_sources_finish(const struct record_options *options, const struct timespec *since);

#endif /* RECORD_SOURCES_H */
