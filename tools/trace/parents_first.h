/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parents_first.h - processes are shown in the order of their files, parents above their children.
 */
#ifndef PARENTS_FIRST_H
#define PARENTS_FIRST_H

#include "trace_source.h"

/* Moves what a process recorded behind its parent's; all else stays in the order of the command
 * line. Without memory all stays as it is. */
void parents_first(struct trace_source *sources, int count);

#endif /* PARENTS_FIRST_H */
