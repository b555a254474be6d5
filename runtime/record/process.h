/* SPDX-License-Identifier: Apache-2.0 */
/* process.h - what tells this process from any other, and what it calls itself. */
#ifndef PROCESS_H
#define PROCESS_H

#include "rbwp_format.h"

#include <stdbool.h>

#define PROCESS_TITLE_BYTES_MAX 64u
#define PROCESS_COMMAND_BYTES_MAX 4096u

struct process_facts {
    struct rbwp_process_info info; /* its title points into command */
    uint32_t command_bytes;
    char command[PROCESS_COMMAND_BYTES_MAX]; /* arguments with 0 between them */
};

/* As it is now; what the system does not tell is 0 or empty. */
void process_look(struct process_facts *facts);
/* Whether this process, and none that had its number before, was there at both of these times: one
 * clock may be set, the other begins anew with the system. */
bool process_was_there(int64_t realtime_ns, int64_t monotonic_ns);
/* Into the live file, for the case that it does not get to write it itself. */
void process_log(void);

#endif /* PROCESS_H */
