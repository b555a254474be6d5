/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rbwp_mpi.h - the nodes of an MPI job: who they are, their clocks, and a transport between them.
 *
 * In a library of its own, librbwp-mpi, which alone is linked with MPI (pkg-config rbwp-mpi; CMake:
 * find_package(rbwp COMPONENTS mpi), rbwp::mpi). A program that uses it needs nothing of MPI
 * itself.
 *
 *     rbwp_mpi_start(NULL, &argc, &argv, &mpi, &error);       MPI_Init_thread, unless it is done
 *     rbwp_session_start(&config, &session, &error);          knows its node by then
 *     rbwp_mpi_compare_clocks(mpi, &error);
 *     rbwp_mpi_transport(mpi, &transport, &error);
 *     rbwp_endpoint_new(manager, transport, NULL, &endpoint, &error);       rbwp_message.h
 *     ...
 *     rbwp_endpoint_free(endpoint);
 *     rbwp_mpi_compare_clocks(mpi, &error);
 *     rbwp_session_stop(session, NULL);
 *     rbwp_mpi_stop(mpi, &error);                             MPI_Finalize, if start initialised
 *
 * Lost nodes: MPI libraries do not report a node that died; this one looks for itself. Processes
 * on the same machine are watched by the kernel's handles for them, which show an end within
 * 0.1 s; other machines are asked for a sign of life. What then waits for the others returns
 * RBWP_E_IO with a line that names the node, the endpoint learns it, and config->lost is called.
 * The profile of a node that lives can be ended as ever. How long there is time for that is up to
 * who started the job: Open MPI's mpirun sends SIGTERM to the rest after about a second, MPICH's
 * SIGKILL at once (what was recorded is then in FILE and FILE.live, for rbwp repair).
 *
 * Threads: one thread, each. No call inside a do_work. Collective calls are to be made by all
 * nodes, in the same order; they block until all have come, or one is lost. The transport's calls
 * and the background's use MPI from several threads (MPI_THREAD_MULTIPLE), on communicators of
 * their own. Not in a forked child.
 */
#ifndef RBWP_MPI_H
#define RBWP_MPI_H

#include "rbwp_message.h"

RBWP_C_BEGIN_

struct rbwp_mpi; /* opaque; one at a time in a process */

#define RBWP_MPI_NEVER UINT64_MAX /* as a time */

/*
 * A node has been lost: once a node. text, one line, says which and why, and is valid
 * during the call. On a thread of the library's; may call anything but this header's calls and
 * rbwp_session_stop.
 */
typedef void (*rbwp_mpi_lost_fn)(void *argument, uint32_t node, const char *text);

/* Zero in a field means its default. */
struct rbwp_mpi_config {
    size_t size;              /* sizeof(struct rbwp_mpi_config) */
    const void *communicator; /* const MPI_Comm *: its ranks are the nodes; default MPI_COMM_WORLD.
                                 Is duplicated. */
    uint64_t clock_every_ns;  /* between comparisons of clocks; default 1 s; RBWP_MPI_NEVER */
    uint64_t lost_after_ns;   /* a node of another machine is lost when it gave no sign of life for
                                 so long; default 30 s; RBWP_MPI_NEVER */
    bool signs_only;          /* watch processes on this machine by their signs of life, too */
    rbwp_mpi_lost_fn lost;    /* may be NULL */
    void *argument;           /* for lost */
};

/*
 * Joins the job: initialises MPI if the program has not, finds out node and nodes, and agrees with
 * the others on the instant that they call 0. Gives all of this to rbwp_job_set, so that sessions
 * that start from now on have it. Collective. config, and argc with argv (MPI may take words of
 * theirs), may be NULL.
 *
 * RBWP_E_UNSUPPORTED: MPI has been initialised without MPI_THREAD_MULTIPLE, or cannot give it;
 * RBWP_E_USAGE: the launcher says that there are several processes, but MPI knows this one alone
 * (the program is linked with another MPI than the launcher's); RBWP_E_STATE: MPI is finalised
 * already; RBWP_E_BUSY: there is one; RBWP_E_IO: what MPI says, or a node is lost; RBWP_E_MEMORY,
 * RBWP_E_INVALID. *mpi_out is then NULL.
 */
RBWP_API RBWP_MUST_USE enum rbwp_status rbwp_mpi_start(const struct rbwp_mpi_config *config,
                                                       int *argc, char ***argv,
                                                       struct rbwp_mpi **mpi_out,
                                                       struct rbwp_error *error);

RBWP_API uint32_t rbwp_mpi_node(const struct rbwp_mpi *mpi);
RBWP_API uint32_t rbwp_mpi_nodes(const struct rbwp_mpi *mpi);

/*
 * Compares each node's clock with node 0's and writes the outcome into the session that runs
 * (rbwp_clock_offset_add): offset, and bound, half of the shortest of at least 64 round
 * trips. From here on
 * the comparison is made again in the background each clock_every_ns. To be called after
 * rbwp_session_start and before rbwp_session_stop, on all nodes, those without a session too;
 * returns at once if no node has one. Collective. RBWP_OK; RBWP_E_IO: a node is lost.
 */
RBWP_API RBWP_MUST_USE enum rbwp_status rbwp_mpi_compare_clocks(struct rbwp_mpi *mpi,
                                                                struct rbwp_error *error);

/* The last comparison of this node, for who wants to know: node 0's clock is ahead of this one's by
 * offset; bound 0 on node 0. RBWP_AGAIN: none yet. */
RBWP_API enum rbwp_status rbwp_mpi_clock_offset(struct rbwp_mpi *mpi, int64_t *offset_ns_out,
                                                uint64_t *bound_ns_out);

/*
 * Makes the transport between the nodes, for rbwp_endpoint_new, which closes it. Packets are at
 * most 4032 bytes. One at a time: RBWP_E_BUSY while there is another; RBWP_E_MEMORY. Not
 * collective; its start, in rbwp_endpoint_start, is.
 */
RBWP_API RBWP_MUST_USE enum rbwp_status rbwp_mpi_transport(struct rbwp_mpi *mpi,
                                                           struct rbwp_transport **transport_out,
                                                           struct rbwp_error *error);

/* RBWP_OK while all nodes are there; else RBWP_E_IO, and error (may be NULL) names the first that
 * was lost. Any thread. */
RBWP_API enum rbwp_status rbwp_mpi_lost(struct rbwp_mpi *mpi, struct rbwp_error *error);

/*
 * Leaves the job and frees mpi; the transport must be closed. Collective: waits until all nodes
 * have come, so that who ends earlier is found. Finalises MPI, if rbwp_mpi_start initialised it and
 * no node is lost: without one MPI_Finalize would wait for ever. RBWP_OK, NULL included; RBWP_E_IO:
 * a node is lost (all is freed but MPI's own; end the process then). RBWP_E_BUSY: the transport is
 * open; nothing was done.
 */
RBWP_API enum rbwp_status rbwp_mpi_stop(struct rbwp_mpi *mpi, struct rbwp_error *error);

RBWP_C_END_
#endif /* RBWP_MPI_H */
