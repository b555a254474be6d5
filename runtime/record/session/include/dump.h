/* SPDX-License-Identifier: Apache-2.0 */
/* dump.h - what a session that keeps its newest data has now, into a file, while it records. */
#ifndef DUMP_H
#define DUMP_H

#include "rotate.h"

struct rbwp_session;

/* As rbwp_session_dump, of the session in progress. path_out has room for DUMP_PATH_BYTES_MAX: the
 * file that was written. Blocks: not for recording threads. */
dump_fn dump_now;

/* The same of a session that does not end meanwhile; one at a time. */
enum rbwp_status dump_session(struct rbwp_session *session, const struct dump_wish *wish,
                              char *path_out, struct rbwp_error *error);

#endif /* DUMP_H */
