/* SPDX-License-Identifier: Apache-2.0 */
/* inject_control.h - the thread that waits for the window's times and signals (inject_session.h).
 */
#ifndef INJECT_CONTROL_H
#define INJECT_CONTROL_H

#include <stdbool.h>

/* Reads what the environment says of the window. True: it is open from the beginning. */
bool inject_control_start(void);
/* The window has been opened: from now on for_ms count. */
void inject_control_opened(void);
/* Signals are the program's again. */
void inject_control_end(void);
/* In a forked child: there is no such thread. */
void inject_control_forget(void);

/* For it: sources hand over what is finished. */
void inject_session_flush(void);

#endif /* INJECT_CONTROL_H */
