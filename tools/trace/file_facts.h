/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_facts.h - what a trailer says of the file as a whole and the model has no other place for.
 *
 * Which part of its recording is in it (KEPT), what its tables lack (LEFT), its job (JOBM),
 * and losses of causes that are not known: "process.0.kept.why", "process.0.left_out.threads",
 * "process.0.job.rank", "process.0.lost.cause_77".
 */
#ifndef FILE_FACTS_H
#define FILE_FACTS_H

#include "trace.h"

/* ---- a process's life ------------------------------------------------------------------------ */
/*
 * When a process of a family began to record, and how that ended: two marks on a track above its
 * threads.
 */

struct life {
    uint32_t process;          /* of the trace */
    uint64_t os_id, parent;    /* process ids; parent: 0 where it is not known */
    int64_t start_ns, last_ns; /* on the trace's axis */
    bool has_start, has_last;  /* else that mark is not wanted */
    enum trace_life end;
};

/* Nothing where no mark is wanted. False without memory: they have no arguments then. */
bool life_marks_add(struct trace *trace, const struct life *life);

/* ---- facts of a file ------------------------------------------------------------------------- */

void file_facts_add(struct trace *trace, uint32_t process, const struct rbwp_trailer *trailer);

#endif /* FILE_FACTS_H */
