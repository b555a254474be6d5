/* SPDX-License-Identifier: Apache-2.0 */
/* check_messages.h - do the files of a job contradict each other? */
#ifndef CHECK_MESSAGES_H
#define CHECK_MESSAGES_H

#include "input_list.h"

/* Puts files with messages onto one axis, and tells if a message was handled before it was sent by
 * more than the clocks' bounds, which nodes have no file, and which files are not of one job:
 * EXIT_PARTLY then. */
enum exit_code check_messages(const struct input_options *inputs, struct operands files);

#endif /* CHECK_MESSAGES_H */
