/* SPDX-License-Identifier: Apache-2.0 */
/* dump.h - what a session that keeps its newest data has now, into a file, while it records. */
#ifndef DUMP_H
#define DUMP_H

#include "rbwp_format.h"

struct rbwp_session;

struct dump_wish {
    const char *path;       /* NULL: FILE.dump-N */
    uint64_t last_ns;       /* 0: all that is kept */
    bool while_it_ends;     /* for who ends before the session does */
    bool cut;               /* the next part of a recording that is cut; path, last_ns unused */
    enum rbwp_kept_why why; /* and more of it, for people */
    const char *text;       /* may be NULL */
};

#define DUMP_PATH_BYTES_MAX 4200

/* As rbwp_session_dump, of the session in progress. path_out has room for DUMP_PATH_BYTES_MAX: the
 * file that was written. Blocks: not for recording threads. */
typedef enum rbwp_status dump_fn(const struct dump_wish *wish, char *path_out,
                                 struct rbwp_error *error);
dump_fn dump_now;

/* The same of a session that does not end meanwhile; one at a time. */
enum rbwp_status dump_session(struct rbwp_session *session, const struct dump_wish *wish,
                              char *path_out, struct rbwp_error *error);

#endif /* DUMP_H */
