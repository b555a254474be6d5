/* SPDX-License-Identifier: Apache-2.0 */
/*
 * processes.h - the processes whose files are given, parents above their children.
 *
 * It reads what files say of themselves at their end, and of unfinished ones FILE.live, and no
 * records: thousands of files take no longer than to open them.
 */
#ifndef PROCESSES_H
#define PROCESSES_H

#include "input_list.h"
#include "result_print.h"

struct processes_options {
    struct input_options inputs;
    struct out_options output;
    struct terminal_options terminal;
    bool json;
    const char *csv; /* one of the lists of --json */
};

extern const struct result_column processes_columns[]; /* a document a line, of its first list */

enum exit_code processes_show(const struct processes_options *options, struct operands files);

#endif /* PROCESSES_H */
