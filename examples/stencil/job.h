/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job.h - where the other nodes are: in this process, or in those of an MPI job.
 *
 * Built without librbwp-mpi, only the first is there.
 */
#ifndef JOB_H
#define JOB_H

#include "node.h"

/* A launcher of MPI jobs has started this process among others. */
bool job_is_mpi(void);

/* Joins the MPI job; before the session starts. */
bool job_mpi_begin(int *argc, char ***argv, struct rbwp_error *error);
unsigned job_mpi_node(void);
/* Compares clocks, as often as wanted while the session runs. */
bool job_mpi_compare_clocks(struct rbwp_error *error);
bool job_mpi_transport(struct rbwp_transport **transport_out, struct rbwp_error *error);
bool job_mpi_end(struct rbwp_error *error);

/* Runs so many nodes in this process, each on a thread of its own. node 0's error and outcome are
 * in nodes[0]; an error of another is copied there. */
bool job_run_here(struct node *nodes, unsigned count, const struct node_config *config);

#endif /* JOB_H */
