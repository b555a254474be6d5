/* SPDX-License-Identifier: Apache-2.0 */
/*
 * progress.h - how far a long run has come, on standard error.
 *
 * One line that is rewritten at most ten times a second, from one second on,
 * and only where standard error is a terminal. A command that may show it
 * calls progress_allow; whoever reads says how many bytes of its input it has
 * seen. The line is taken away before anything else is written there.
 */
#ifndef PROGRESS_H
#define PROGRESS_H

#include "terminal.h"

/* From now on. A command that writes to a terminal while it reads does not. */
void progress_allow(const struct terminal_options *options);
/* done of all bytes of the input were read; all is 0 where that is not known. */
void progress_at(const char *name, uint64_t done, uint64_t all);
/* Takes the line away, if it is there. */
void progress_clear(void);

#endif /* PROGRESS_H */
