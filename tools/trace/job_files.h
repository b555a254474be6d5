/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_files.h - which of the files that were given are of one job (SPEC.md, 10.14).
 *
 * Files that do not tell their job are of any.
 */
#ifndef JOB_FILES_H
#define JOB_FILES_H

#include "trace_source.h"

/* Closes what is not of the job that most files are of, and of two processes of one rank the one
 * that was given later, tells what is left out, and closes the gaps. EXIT_PARTLY if anything was.
 */
enum exit_code job_files_choose(struct trace_source *sources, int *count);

/* Tells which ranks of the job have no file. EXIT_PARTLY if there are any. */
enum exit_code job_files_missing(const struct trace_source *sources, int count);

#endif /* JOB_FILES_H */
