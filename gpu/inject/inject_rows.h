/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inject_rows.h - what a GPU did as rows of tables (SPEC.md, section 9.3). Times are of
 * CLOCK_MONOTONIC, and become times of the session here.
 *
 * All but inject_rows_wait and inject_rows_look: one thread at a time.
 */
#ifndef INJECT_ROWS_H
#define INJECT_ROWS_H

#include "inject_calls.h"

enum inject_work_kind { WORK_KERNEL, WORK_COPY, WORK_SET };

struct inject_work {
    enum inject_work_kind kind;
    const char *name; /* of a kernel as the compiler wrote it */
    uint32_t device, correlation;
    uint64_t stream;
    uint64_t start_ns, end_ns, bytes, graph_node;
    /* Where the GPU did not say its times itself, as in the table: by so much they may be wrong,
     * and whether the stream was idle. */
    uint64_t bound_ns, start_bound_ns, launching_ns; /* start_bound: more of the start */
    bool idle;
    /* Of a kernel: grid and block, registers of a thread, bytes of shared memory of a block. */
    uint64_t shape[8];
};

/* Makes the tables known. */
void inject_rows_prepare(void);
/* call: all 0 where it is not known. */
void inject_rows_work(const struct inject_work *work, const struct inject_call *call);
/* Asks the driver what devices there are, once: while it works, as it does in a call. */
void inject_rows_look(void);
/* A row for each device that had work and has none yet. */
void inject_rows_devices(void);

/* A call that waited for a GPU. Any thread. */
void inject_rows_wait(const char *call, uint64_t begin_ns, uint64_t end_ns, uint32_t correlation);

#endif /* INJECT_ROWS_H */
