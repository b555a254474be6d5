/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_cpu.h - whether calls ran: the rows of the tables call_cpu and thread_cpu (SPEC.md, appendix
 * A), brought to the calls that they belong to.
 *
 * They are read beforehand (early_rows.h): 32 bytes of memory for each call that has a row, 16 for
 * each time from which on something is known of a thread.
 */
#ifndef CALL_CPU_H
#define CALL_CPU_H

#include "early_rows.h"
#include "thread_map.h"
#include "trace_detail.h"
#include "trace_track.h"

#define CALL_CPU_MAX (64u << 20) /* rows of a file; of the calls beyond nothing is known */

struct call_cpu {
    struct thread_map map;
    struct cpu_thread *threads;
    uint32_t thread_room;
    uint64_t count;            /* rows of both tables */
    int64_t from_ns, until_ns; /* of the file that is read: its calls */
    int64_t sums_from_ns;      /* how long threads ran counts from then on */
    bool dropped;              /* there are more than CALL_CPU_MAX */
    bool unsure;               /* rows are missing: a call without one may have waited */
    bool failed;               /* out of memory; some are missing */
};

/* Of the files of one recording each: rows from from_ns on and before until_ns. */
void call_cpu_begin_file(struct call_cpu *cpu, int64_t from_ns, int64_t until_ns);
/* Cells as in struct early_rows_user. False without memory. */
bool call_cpu_add_rows(struct call_cpu *cpu, enum early_table table, const uint64_t *const *cells,
                       uint32_t rows);
/* Those of this file come again. */
void call_cpu_forget(struct call_cpu *cpu);
/* Rows may be among what the file lost: of calls without a row nothing is known then. */
void call_cpu_end_file(struct call_cpu *cpu, bool has_losses);
void call_cpu_free(struct call_cpu *cpu);

enum call_ran {
    CALL_NOT_KNOWN,
    CALL_RAN,    /* all the time, if it has ended: it has no row */
    CALL_HAS_ROW /* which is noted in *detail */
};
/* Of the call of the thread that began then, on the file's axis. */
enum call_ran call_cpu_of(struct call_cpu *cpu, uint64_t thread_id, int64_t begin_ns,
                          struct trace_detail *detail);

/* How long the thread ran, on the file's axis. Nothing where rows may be missing. */
struct trace_sum call_cpu_sum(const struct call_cpu *cpu, uint64_t thread_id);

#endif /* CALL_CPU_H */
