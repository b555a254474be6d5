/* SPDX-License-Identifier: Apache-2.0 */
/*
 * completion.h - what other programs get of the commands' options: completions of shells, and
 * the list of options of a manual page. All from the tables that parse them.
 */
#ifndef COMPLETION_H
#define COMPLETION_H

#include "out.h"

/* ---- schemas --------------------------------------------------------------------------------- */
/* JSON Schema of what commands print with --json. */

/* name: the command's, or critical-path; false: there is none. */
bool schema_write(struct out *out, const char *name);

/* ---- completions and manual pages ------------------------------------------------------------ */

struct command_list {
    const struct command *const *commands;
    int count;
};

/* shell: bash, zsh or fish; false if it is none of them. */
bool completion_write(struct out *out, const char *shell, struct command_list list);

/* An mdoc list, to stand in a page. */
void completion_man(struct out *out, const struct command *command);

#endif /* COMPLETION_H */
