/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control.h - a socket by which this user controls the recording of a running process (rbwp ctl).
 *
 * A thread of its own sleeps until somebody connects or a signal comes: it costs nothing before.
 * The socket has a name that stands in no folder (abstract), with user and process in it, so that
 * nothing is left behind by who dies, and nobody can put a link or a file in its way. Who may
 * connect is in control_rights.h, all others are sent away; what they may say in control_words.h.
 */
#ifndef CONTROL_H
#define CONTROL_H

#include "rbwp_session.h"

/*
 * The program starts a session while none runs, or would at another level: listens, if the
 * configuration says so (at level 0, and with raised rights, only where it is asked for), and keeps
 * a copy of it for sessions that others start; what an earlier one said holds no more. That nobody
 * can listen (no memory, no descriptor) is no failure. RBWP_E_USAGE: wrong signals, or a wrong file
 * of settings.
 */
enum rbwp_status control_begin(const struct rbwp_session_config *config, struct rbwp_error *error);
/* A session begins, whoever starts it. */
void control_session_began(void);
/* The program has stopped its session: nobody listens any more, if not at level 0 as well. True:
 * nobody does, and nothing is carried out any more when this returns. */
bool control_session_ended(void);
/* The process exits. Nothing is carried out any more when this returns. */
void control_end(void);
/* In a forked child, where nobody listens. */
void control_after_fork(void);

/* The configuration that sessions of others have. The control thread. */
const struct rbwp_session_config *control_config(void);

/* The name for the next session's file, in path: that of the configuration, with a number where an
 * earlier session of this process has it. The control thread. */
const char *control_fresh_file(const char *logfile, char *path, size_t path_bytes);

#endif /* CONTROL_H */
