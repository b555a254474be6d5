/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rbwp_job.h - the job that this process is a node of, and how far its clock is from the other
 * nodes'.
 *
 * Each session writes down what job, rank and machine it is of, as the launcher's variables say
 * it (Open MPI, PMIx, MPICH, Slurm, ...), so a program needs none of this. Who knows better, as a
 * communication layer does, says it here:
 *
 *     before the session   rbwp_job_set: rank, number of ranks, job, common zero time
 *     while it runs        rbwp_clock_offset_add: after each comparison with rank 0's clock
 *
 * rbwp merge puts the files of a job onto the time line of rank 0 by these comparisons.
 *
 * No call here blocks on anything but a short lock. Any thread, any time.
 */
#ifndef RBWP_JOB_H
#define RBWP_JOB_H

#include "rbwp_format.h"

RBWP_C_BEGIN_

#define RBWP_JOB_TEXT_BYTES_MAX 255 /* of each text */

/* Zero in a field: as the launcher's variables and the system say. */
struct rbwp_job {
    size_t size;           /* sizeof(struct rbwp_job) */
    const char *id;        /* of the job: files of different ones do not belong together */
    const char *step;      /* the same of a part of the job */
    const char *node_name; /* of the machine; else the host's name */
    const char *launcher;  /* who says rank and ranks, "MPI" */
    const char *hardware;  /* one line about the machine; else its processor, CPUs and memory */
    uint32_t rank;         /* of this process, from 0; only with ranks */
    uint32_t ranks;        /* processes of the job */
    int64_t zero_ns; /* the instant that all nodes agreed to call 0, on this process's rbwp_now_ns;
                        else each takes the start of its session */
};

/*
 * Describes the job, for sessions that start from now on: rank is the node id in their files and
 * names (unless -bgworkprofile_node says another one). Strings are copied. NULL: what was given is
 * forgotten. RBWP_E_USAGE, and nothing is changed: rank is not below ranks, or is given without
 * them; RBWP_E_LIMIT: a text is longer than RBWP_JOB_TEXT_BYTES_MAX. error may be NULL.
 */
RBWP_API RBWP_MUST_USE enum rbwp_status rbwp_job_set(const struct rbwp_job *job,
                                                     struct rbwp_error *error);

/* What a session that started now would write down. May grow at its end. */
struct rbwp_job_facts {
    uint32_t rank, ranks;                 /* 0 and 1 without a launcher */
    char id[RBWP_JOB_TEXT_BYTES_MAX + 1]; /* empty: not known; the same of the others */
    char step[RBWP_JOB_TEXT_BYTES_MAX + 1];
    char node_name[RBWP_JOB_TEXT_BYTES_MAX + 1];
    char launcher[RBWP_JOB_TEXT_BYTES_MAX + 1];
    char hardware[RBWP_JOB_TEXT_BYTES_MAX + 1];
    int64_t started_ns; /* when the process was started, by the wall clock; 0 unknown */
    int64_t zero_ns;    /* as given; 0 = the start of the session */
    int64_t parent;     /* process id of the process's parent; 0 unknown */
};
/* facts_bytes: their size where the caller was compiled; what the library does not know is 0. */
RBWP_API void rbwp_job_get_sized(struct rbwp_job_facts *facts_out, size_t facts_bytes);
static inline void rbwp_job_get(struct rbwp_job_facts *facts_out)
{
    rbwp_job_get_sized(facts_out, sizeof *facts_out);
}

/*
 * A comparison with the clock of rank 0: when this process's rbwp_now_ns was local_ns, that of rank
 * 0 was local_ns + offset_ns, give or take bound_ns (after a ping-pong: half its round trip). Both
 * sessions have to run, since their start sets rbwp_now_ns to the wall clock's line. Comparisons
 * are kept for the session that runs, a few hundred of them evenly thinned, the last one always;
 * also by repair when the process dies. Rank 0 needs none.
 *
 * RBWP_E_STATE: no session runs, or it is strict. RBWP_E_INVALID: local_ns is not behind that of
 * the comparison before (nothing is kept), or bound_ns is above INT64_MAX.
 */
RBWP_API enum rbwp_status rbwp_clock_offset_add(int64_t local_ns, int64_t offset_ns,
                                                uint64_t bound_ns);

RBWP_C_END_
#endif /* RBWP_JOB_H */
