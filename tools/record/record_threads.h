/* SPDX-License-Identifier: Apache-2.0 */
/* record_threads.h - what the program's threads waited for: librbwp-threads.so, loaded into it. */
#ifndef RECORD_THREADS_H
#define RECORD_THREADS_H

#include "record.h"
#include "record_child.h"

/* Of a run of this command. False with the message given: nothing would be recorded. */
bool record_threads_set_up(const struct record_options *options, const char *command,
                           struct record_environment *environment);

/* Makes the profile whole, if the program did not get to it, and says what is in it. False with the
 * message given. */
bool record_threads_finish(const struct record_options *options);

#endif /* RECORD_THREADS_H */
