/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rbwp_foreign.h - record from languages that call C functions but compile no C headers: the calls
 * of rbwp_record.h, rbwp_args.h and rbwp_range.h that are inline, as functions of the library
 * (Python's ctypes, Rust, Java, Go).
 *
 *     if (rbwp_foreign_begin(slot, id) == RBWP_FOREIGN_NOT_ATTACHED) {
 *         rbwp_thread_attach("worker 3");
 *         rbwp_foreign_begin(slot, id);
 *     }
 *     do_work();
 *     rbwp_foreign_end();
 *
 * Names, sessions and threads: the functions of rbwp_record.h and rbwp_session.h. In C and C++ use
 * the inline calls, which cost less. Threads: each for itself; not from signal handlers.
 */
#ifndef RBWP_FOREIGN_H
#define RBWP_FOREIGN_H

#include "rbwp_session.h"

RBWP_C_BEGIN_

/* What begin found, when it is not the level of the running session (0: none, nothing is
 * recorded). */
#define RBWP_FOREIGN_NOT_ATTACHED (-1) /* nothing has begun: attach the thread and call again */

/*
 * A call of slot begins; where the thread is inside of one begun by this function, the sub-item id
 * instead, which level 2 records. Each wants its end, whatever the session did meanwhile.
 */
RBWP_API int rbwp_foreign_begin(unsigned slot, unsigned id);
/* What this thread began last ends. Without a begin it does nothing. */
RBWP_API void rbwp_foreign_end(void);
/* An argument of the open call, at level 2: type is of enum rbwp_arg_type, up to RBWP_ARG_NAME. */
RBWP_API void rbwp_foreign_arg(uint64_t key, unsigned type, uint64_t bits);
RBWP_API void rbwp_foreign_arg_text(uint64_t key, const char *text);
/* As rbwp_range_start and rbwp_range_stop. */
RBWP_API uint64_t rbwp_foreign_range_start(uint64_t name, uint64_t id);
RBWP_API void rbwp_foreign_range_stop(uint64_t range);
/* Reads the flags of rbwp_session_parse from argv (it may be NULL) and RBWP_FLAGS, and starts a
 * session by them: rbwp_session_start. */
RBWP_API RBWP_MUST_USE enum rbwp_status rbwp_foreign_start(int argc, char **argv,
                                                           struct rbwp_session **session_out,
                                                           struct rbwp_error *error);

RBWP_C_END_
#endif /* RBWP_FOREIGN_H */
