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

/* ---- rules that dump ------------------------------------------------------------------------- */

/*
 * When a flight recorder dumps what it has by itself.
 *
 * Who meets a rule posts it and goes on; a thread of its own, which is there only while there are
 * rules, dumps. At most one dump in a while: what meets a rule before its end is counted.
 *
 * Rules are those of a session and end with it. All calls take a lock of their own, and the
 * registry's inside it.
 */

#define RULES_MAX 64

/* One rule, or several with commas between them (settings_file.h). RBWP_E_USAGE, RBWP_E_MEMORY;
 * RBWP_E_LIMIT; RBWP_E_STATE: no session in progress that could dump. */
enum rbwp_status rules_add(const char *text, struct rbwp_error *error);

/* A rule as it was given, how often it was met, and what came of it last: a file or a reason; why
 * it cannot have been met, for nothing has its name (a typing error, maybe), else NULL. */
typedef void rules_visit_fn(void *context, const char *rule, uint64_t met, const char *outcome,
                            const char *unknown);
void rules_each(rules_visit_fn *visit, void *context);

/* A session that can dump begins. Rules of its settings that cannot be had are dropped. */
void rules_begin_session(const struct session_settings *settings, dump_fn *dump);
/* It ends, and nobody records any more: no dump of a rule is under way, and no rule is left. A line
 * about the first rule whose name nothing had, or an empty one. */
#define RULES_UNKNOWN_BYTES 200
void rules_end_session(char unknown_out[RULES_UNKNOWN_BYTES]);
/* In a forked child, which has no session. */
void rules_after_fork(void);

#endif /* DUMP_H */
