/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stall.h - calls and waits that last, while they last.
 *
 * The writer thread looks, every so often, which item each attached thread has open or what it
 * waits for. What is older than a limit has a row in the table open_call, at the limit and each
 * time that its age has doubled; and where it was asked for, what its thread's stack holds then
 * goes into the table stack_word. Recording calls pay nothing for it (docs/design/stall.md).
 */
#ifndef STALL_H
#define STALL_H

struct drain;
struct session_settings;

/* A session is about to begin, whose writer thread is there: if it wants such rows, or somebody
 * shows waits (rbwp_extend_show_waits), the writer looks from now on. */
void stall_begin_session(const struct session_settings *settings, struct drain *drain);

#endif /* STALL_H */
