/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job.h - the session's side of rbwp_job.h: what the trailer and the live file say of the job, and
 * of the other nodes' clocks.
 */
#ifndef JOB_H
#define JOB_H

#include "node_clocks.h"
#include "rbwp_job.h"

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

#endif /* JOB_H */
