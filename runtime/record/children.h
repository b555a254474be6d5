/* SPDX-License-Identifier: Apache-2.0 */
/*
 * children.h - a forked child records as its parent did (-bgworkprofile_children), into a file of
 * its own.
 *
 * Most children only execute another program, so that the session begins with the first record: in
 * the child the level is the parent's though nothing records, and whoever needs a chunk asks here.
 */
#ifndef CHILDREN_H
#define CHILDREN_H

#include "rbwp_session.h"

/* The program starts a session, now or by others: what its children are to do. */
void children_note(const struct rbwp_session_config *config);

/* In a forked child: its level. It records if its parent did, or was to do so from its first record
 * on, as a daemon that forks its workers at once. */
int children_forked(bool parent_recorded);

/* True where a session records: it may begin now. Inside a recording call. */
bool children_session_there(void);

/* The same for what begins at ticks: in a child whose session begins only now it begins with that,
 * as times before it are not in the file. */
uint64_t children_session_ticks(uint64_t ticks);

/* The child starts a session of its own accord: nothing is waited for any more. */
void children_forget(void);

#endif /* CHILDREN_H */
