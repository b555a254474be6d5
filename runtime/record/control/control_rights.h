/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control_rights.h - who may control the recording (rbwp ctl): nobody gets done by this process
 * what he could not do himself.
 *
 * Asked anew for each caller, of the thread that would carry it out: a process changes its users,
 * groups and capabilities as it goes.
 */
#ifndef CONTROL_RIGHTS_H
#define CONTROL_RIGHTS_H

#include <stdbool.h>

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

#endif /* CONTROL_RIGHTS_H */
