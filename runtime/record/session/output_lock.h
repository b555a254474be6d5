/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output_lock.h - FILE and FILE.live for one session, made safely in a folder that others may write
 * to.
 *
 * FILE is locked (flock) before anything in it is changed, so there is one
 * writer a file, whatever path or options it comes by. FILE.live is made anew,
 * for its owner alone, and locked too: that is how a leftover of a dead process
 * is distinguished from a file in use, without trusting process ids. What a process that
 * died left is moved out of the way, both files together, never over another
 * file and never changed. Names that are links, files that belong to somebody
 * else and files of other kinds are refused (docs/design/trust.md).
 */
#ifndef OUTPUT_LOCK_H
#define OUTPUT_LOCK_H

#include "rbwp_format.h"

#define CLAIM_PATH_BYTES_MAX 4200

struct output_lock_request {
    const char *file;
    bool live;           /* make a FILE.live */
    bool live_in_memory; /* it is to be one of live_memory.h */
    bool follow;         /* FILE may be a link */
};

struct output_lock {
    int file_fd;    /* empty, locked if it is a regular file */
    int file_flags; /* that it was opened with */
    int live_fd;    /* empty, locked; -1: there can be none here */
    int live_errno; /* why not, where there should be one */
    unsigned leftovers_removed;
    char live_path[CLAIM_PATH_BYTES_MAX];
};

/*
 * RBWP_E_BUSY: another process records to FILE, or something is in the way. RBWP_E_IO: FILE cannot
 * be opened, or is not ours to empty. Then error has one line, and nothing is held or left.
 */
enum rbwp_status output_lock_files(const struct output_lock_request *wish,
                                   struct output_lock *output_lock_out, struct rbwp_error *error);

/* ---- what dead processes left ---------------------------------------------------------------- */

/*
 * What processes that died have left beside FILE: FILE.crashed-PID and its live file;
 * and FILE.earlier-PID, of a program in whose place this process executed another one.
 *
 * A program that is started again whenever it dies must not fill the disk with them, nor be kept
 * from recording by them. So there are at most LEFTOVERS_MAX of a kind, and they hold no more than
 * the disk has free; the oldest go first. Only files of this user's are removed.
 */

#define LEFTOVERS_MAX 32
#define LEFTOVERS_CRASHED ".crashed-"
#define LEFTOVERS_EARLIER ".earlier-"

/* Makes room for one more beside that FILE. How many were removed. */
unsigned leftovers_trim(const char *file, const char *kind);

#endif /* OUTPUT_LOCK_H */
