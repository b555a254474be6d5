/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crowd.h - whether a group's further workers are worth having.
 *
 * Items of some ten nanoseconds are run faster by one worker than by two: each claim moves cache
 * lines from core to core. So a group's first worker always works, and the others measure what
 * they bring. A worker whose runs take much longer than the first one's did while it was alone
 * steps aside: it pauses for a moment, looks, and pauses for longer as long as the first goes on
 * running items. Nobody has measured yet: it steps aside once, so that the first one can.
 *
 * A worker that is aside is like one that is in an item: it is in no count of the doorbell, so
 * nobody makes a system call to wake it, and it comes back to what there is, after PAUSE_NS_MAX at
 * the latest. So nothing waits for longer than that behind an item that turns out to be long. Items
 * whose runs take longer than a microsecond are run by all.
 *
 * Where the process has no more CPUs than the manager has workers, further workers also step aside
 * instead of looking for work, as long as the first one finds some: whoever arms it needs a CPU.
 */
#ifndef CROWD_H
#define CROWD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct work_runner;

#define CROWD_RUNS 32u /* what is measured at once */

struct crowd {
    /* writer: the first worker; readers: the others */
    _Alignas(64) _Atomic uint64_t
        alone_ticks;           /* of CROWD_RUNS runs, alone; 0: not known, or long */
    _Atomic uint64_t alone_at; /* when that was */
    /* writers: the others */
    _Alignas(64) _Atomic uint32_t aside;
    struct work_runner *first; /* set once */
};

/* Durations in ticks. Set once. */
struct crowd_times {
    uint64_t run_max, fresh, again;
    bool is_tight; /* no more CPUs than workers */
};

/* A runner's part; its own alone. */
struct crowd_share {
    uint32_t runs;
    uint64_t ticks; /* of them */
    bool was_alone;
    bool has_company;  /* set once: its group has other workers */
    uint64_t tried_at; /* for others to measure */
    uint64_t pause_ns;
    uint64_t first_runs; /* when it last came back from waiting */
};

void crowd_set_times(struct crowd_times *times, unsigned workers, unsigned cpus);

/* The slow side of crowd_count. May step aside. */
void crowd_judge(struct work_runner *runner, uint64_t now);

/* A worker that may spin found nothing to do. May step aside; then it looks and sleeps as usual. */
void crowd_wait(struct work_runner *runner);

#endif /* CROWD_H */
