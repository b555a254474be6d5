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

#include "rbwp_format.h"

struct session_settings;

/* What a file made while it is recorded is to hold, and who makes it (dump.h). */
struct dump_wish {
    const char *path;       /* NULL: FILE.dump-N */
    uint64_t last_ns;       /* 0: all that is kept */
    bool while_it_ends;     /* for who ends before the session does */
    bool cut;               /* the next part of a recording that is cut; path, last_ns unused */
    enum rbwp_kept_why why; /* and more of it, for people */
    const char *text;       /* may be NULL */
};

#define DUMP_PATH_BYTES_MAX 4200

typedef enum rbwp_status dump_fn(const struct dump_wish *wish, char *path_out,
                                 struct rbwp_error *error);

/* A session begins; without a wish for it nothing does. */
void rotate_begin_session(const struct session_settings *settings, dump_fn *dump);
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

#endif /* ROTATE_H */
