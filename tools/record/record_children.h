/* SPDX-License-Identifier: Apache-2.0 */
/* record_children.h - which processes the program forked that have no file, as all have the same
 * one. */
#ifndef RECORD_CHILDREN_H
#define RECORD_CHILDREN_H

#include "record_child.h"

/* The program's library is to note them. False with the message given. */
bool record_children_set_up(struct record_environment *environment);

/* One line, if there were any that the file does not tell of. Once, in any case. */
void record_children_say(const char *file);

#endif /* RECORD_CHILDREN_H */
