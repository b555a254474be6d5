/* SPDX-License-Identifier: Apache-2.0 */
/*
 * node.h - which node of a job this process is, as its launcher's variables say, and what its file
 * is called.
 *
 * Job launchers give each process its rank and the job's size in environment
 * variables. They are asked in the order of specificity: MPI's own before a
 * batch system's, which may be set for a script that starts MPI itself.
 */
#ifndef NODE_H
#define NODE_H

#include "rbwp_format.h"

/* Rank and size from the environment; 0 and 1 without a launcher. Its name, NULL without one. */
const char *node_from_launcher(uint32_t *rank_out, uint32_t *ranks_out);

/* What the batch system, or else the launcher, calls the job; the part of it; the machine. NULL:
 * not known. The text is the environment's. */
const char *node_job_id(void);
const char *node_job_step(void);
const char *node_machine_name(void);

#define NODE_FILE_PATTERN "bgwork_%.bin" /* where no name is given */

/* What the keys in a file name stand for. */
struct node_keys {
    uint32_t node; /* the file's */
    uint32_t rank; /* the launcher's; the same unless the program says otherwise */
    uint32_t part; /* of a recording that is cut into files; 0 the one that is being recorded */
    const char *job;
};

/*
 * Expands % and %n (node), %r (rank), %h (host), %p (process id), %j (job id, "0" without one),
 * %t (part), %{VAR} (environment) and %% in a file name. is_own_out: whether the node, the rank or
 * the process is in it, so that no other node of the job has the name (but a process of the same id
 * on another host, where %p stands without %h). RBWP_E_USAGE for another key or a name that gets
 * too long, with error filled.
 */
enum rbwp_status node_file_name(const char *pattern, const struct node_keys *keys, char *name_out,
                                size_t name_bytes, bool *is_own_out, struct rbwp_error *error);

/* Whether %p is among its keys. */
bool node_file_has_process(const char *pattern);
/* The pattern (NULL: NODE_FILE_PATTERN) with more before its extension, cut to room. */
void node_file_with(const char *pattern, const char *more, char *pattern_out, size_t room);

#endif /* NODE_H */
