/* SPDX-License-Identifier: Apache-2.0 */
/* stacks.h - what each thread was in at a file's last moment: now, of a program that runs. */
#ifndef STACKS_H
#define STACKS_H

#include "result_print.h"
#include "trace_pass.h"

struct stacks_options {
    struct reading_options reading;
    bool json, native; /* native: all frames */
    const char *csv;   /* one of the lists of --json */
};

extern const struct result_column stacks_columns[]; /* a document a line, of its first list */

enum exit_code stacks_show(const struct stacks_options *options, struct operands files);

/* A number that no file has as its name. */
bool stacks_is_pid(const char *word);
/* The file that a process of this machine records into, in memory that the caller frees. NULL, and
 * a message was given: there is no such process, it records nothing, or it may not be looked at. */
char *stacks_file_of(const char *pid);

#endif /* STACKS_H */
