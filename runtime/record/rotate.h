/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rotate.h - a long recording that is cut into files.
 *
 * What is recorded goes into the ring as a flight recorder's does; when enough has come together,
 * by size or time, a thread of its own writes a file of it, and the ring begins anew behind that.
 * The session's own file gets what is left at the stop, and a number like the others.
 */
#ifndef ROTATE_H
#define ROTATE_H

#include "live_layout.h"

struct session_settings;

/* How much the ring has room for, where each file gets so much. */
uint64_t rotate_ring_bytes(uint64_t rotate_bytes);

/* A session begins; without a wish for it nothing does. */
void rotate_begin_session(const struct session_settings *settings);
/* It ends, and its writer thread has ended: no file is under way. */
void rotate_end_session(void);
/* In a forked child, which has no session. */
void rotate_after_fork(void);

/* So much is in the ring behind the last cut: the writer thread, now and then. */
void rotate_look(uint64_t bytes);
/* The ring is full of what no file has: a cut is asked for. False: there will be none soon. */
bool rotate_hurry(void);
/* Cuts now. RBWP_E_STATE: no session in progress that is cut into files. Blocks. */
enum rbwp_status rotate_now(char *path_out, struct rbwp_error *error);

struct folder;
/* The first number behind those of the parts that are in the folder; by the same two names. */
uint32_t rotate_first_number(struct folder *folder, const char *with_0, const char *with_1);

/* The path of a part: of the two names with 0 and 1 where the number stands, or FILE.part-N where
 * they are the same. False: too long. */
bool rotate_path(const char *with_0, const char *with_1, uint32_t part, char *path_out,
                 size_t room);

#endif /* ROTATE_H */
