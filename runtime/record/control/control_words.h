/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control_words.h - what one may say to a running process: a line of words, the first of which says
 * what to do.
 *
 *     status                    what is recorded, and the limits of slots
 *     start [FILE [LEVEL]]      a new session
 *     stop                      ends the one that runs: its file is whole then
 *     level 0|1|2               0 pauses
 *     enable SLOT, disable SLOT, least SLOT DURATION
 *     reload                    reads the file of settings again
 *     rotate                    what is recorded so far is a file, the rest is another
 *     rule [RULE,...]           more rules, when to dump (dump.h), or those that there are
 *     dump [FILE [DURATION]]    what is kept (of so long), as a file, while it goes on
 *
 * SLOT is a name, of all slots with it, or a number. The answer is text for people and scripts.
 */
#ifndef CONTROL_WORDS_H
#define CONTROL_WORDS_H

#include "rbwp_format.h"
#include "rbwp_session.h"

#include <stdbool.h>

#define CONTROL_REQUEST_BYTES_MAX 8192u
#define CONTROL_WORDS_MAX 16

/* An answer. The first byte of what is sent says whether it was done. */
struct control_answer {
    size_t bytes;
    bool refused;
    char text[49152];
};

/* The configuration that sessions of others have: written while there is no control thread. */
extern struct rbwp_session_config control_kept;

/* A session begins, whoever starts it. */
void control_words_session_began(void);

/* Carries out what count words say, each ended by a 0. The control thread. */
void control_carry_out(char *const *word, size_t count, struct control_answer *answer);
/* The same of words that lie one after the other; what is no request is refused, and what names a
 * file unless that is allowed. */
void control_carry_out_bytes(char *bytes, size_t count, bool may_name_files,
                             struct control_answer *answer);

/* The commands in a file of settings (settings_file.h), when a session starts. RBWP_E_USAGE: one of
 * them is refused. */
enum rbwp_status control_apply_settings(const char *path, struct rbwp_error *error);
/* What the settings of an earlier session said of slots holds no more. */
void control_lift_settings(void);

/* ---- rights ---------------------------------------------------------------------------------- */

/*
 * Who may control the recording (rbwp ctl): nobody gets done by this process
 * what he could not do himself.
 *
 * Asked anew for each caller, of the thread that would carry it out: a process changes its users,
 * groups and capabilities as it goes.
 */

enum control_rights {
    CONTROL_RIGHTS_NONE,
    CONTROL_RIGHTS_NO_FILE, /* he may not say which files are written */
    CONTROL_RIGHTS_ALL
};

/* The process was given more rights by the file that it executes (set-user-id, set-group-id, file
 * capabilities): it listens only where that is asked for. */
bool control_rights_were_raised(void);

/* What he who has connected may have done. was_asked_for: the program, not the default, lets its
 * user control it. */
enum control_rights control_rights_of(int connection, bool was_asked_for);

/* ---- signals --------------------------------------------------------------------------------- */

/*
 * Signals that start, stop and pause the recording, or change its level.
 *
 * A handler only notes the signal and wakes the control thread, which carries it out.
 */

/*
 * "USR2", "USR1=level,USR2=toggle"; NULL is none. RBWP_E_USAGE: a wrong word, a signal that the
 * program uses, or one that cannot be caught; then none is taken.
 */
enum rbwp_status control_signals_take(const char *signals, struct rbwp_error *error);
/* They do nothing any more. A signal's default is not put back: it ends the process, and who sends
 * the signal need not know that recording has ended. Programs that are executed have the default.
 */
void control_signals_give_back(void);
/* Handlers send a byte to this socket. */
struct held;
void control_signals_wake(const struct held *end);
/* The control thread: what came since. */
void control_signals_carry_out(void);
/* Dumps that were not made, since signals asked for too many: so many are made at once, then one a
 * minute. */
#define CONTROL_DUMPS_AT_ONCE 16
uint64_t control_signals_left_out(void);

#endif /* CONTROL_WORDS_H */
