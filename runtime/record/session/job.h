/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job.h - the session's side of rbwp_job.h: what the trailer and the live file say of the job, and
 * of the other nodes' clocks.
 */
#ifndef JOB_H
#define JOB_H

#include "node_clocks.h"
#include "rbwp_format.h"
#include "rbwp_job.h"

#include <stdbool.h>

#define JOB_WHATS (RBWP_JOB_PARENT + 1)

/* The job as it is now, for a session that starts. */
void job_look(struct rbwp_job_facts *facts_out);

/* From here on comparisons are taken, unless the session is strict; the facts, which stay where
 * they are until its end, and the comparisons go to the live file. */
void job_begin_session(const struct rbwp_job_facts *facts, bool strict);
void job_end_session(void);
/* All of it into the live file, during a session. */
void job_log(void);

/* The facts that are known, at most JOB_WHATS; texts point into facts. How many. */
uint32_t job_facts_list(const struct rbwp_job_facts *facts, struct rbwp_job_fact *list_out);
/* The comparisons so far. How many. */
uint32_t job_clocks(struct rbwp_node_clock clocks_out[NODE_CLOCKS_MAX]);

/* ---- what identifies this process, and what it calls itself ------------------------ */

#define PROCESS_TITLE_BYTES_MAX 64u
#define PROCESS_COMMAND_BYTES_MAX 4096u

struct process_facts {
    struct rbwp_process_info info; /* its title points into command */
    uint32_t command_bytes;
    char command[PROCESS_COMMAND_BYTES_MAX]; /* arguments with 0 between them */
};

/* As it is now; what the system does not say is 0 or empty. */
void process_look(struct process_facts *facts);
/* Whether this process, and none that had its number before, was there at both of these times: one
 * clock may be set, the other begins anew with the system. */
bool process_was_there(int64_t realtime_ns, int64_t monotonic_ns);
/* Into the live file, for the case that it does not get to write it itself. */
void process_log(void);
/* What it calls itself by now, as well: where the clock is looked at. */
void process_look_at_title(void);

#endif /* JOB_H */
