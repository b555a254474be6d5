/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jobs_option.h - the option -j N of all commands that use threads.
 */
#ifndef JOBS_OPTION_H
#define JOBS_OPTION_H

#include "options.h"
#include "ordered_jobs.h"

#define JOBS_OPTION_HELP "threads at work; default: one a CPU, at most 8; -j 1 uses no others"

/* Stores an unsigned, 1 to JOB_THREADS_MAX. */
bool jobs_option_store(void *value, const char *text, struct option_error *error);

#endif /* JOBS_OPTION_H */
