/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fork_child.h - a forked child records as its parent did (-bgworkprofile_children), into a file of
 * its own.
 *
 * Most children only execute another program, so that the session begins with the first record: in
 * the child the level is the parent's though nothing records, and whoever needs a chunk begins it
 * (recording_is_there).
 */
#ifndef FORK_CHILD_H
#define FORK_CHILD_H

#include "rbwp_session.h"

/* The program starts a session, now or by others: what its children are to do. */
void fork_child_note(const struct rbwp_session_config *config);

/* In a forked child: its level. It records if its parent did, or was to do so from its first record
 * on, as a daemon that forks its workers at once. */
int fork_child_forked(bool parent_recorded);

/* The child starts a session of its own accord: nothing is waited for any more. */
void fork_child_forget(void);

#endif /* FORK_CHILD_H */
