/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worker.h - a work manager's inside, and the threads that run its items.
 *
 * A runner is a thread that runs items: a worker of the manager, or a thread
 * that was lent (rbwp_work_run). Workers come in groups: one, or one for each
 * NUMA domain. A group has a doorbell, and a filter with the slots that its
 * workers may run; a lent thread runs any.
 *
 * A manager's phases follow each other: open (items come, go and run), closing
 * (as before, but no new items; only when what is queued is to be finished),
 * closed (nothing more is claimed; runners leave).
 */
#ifndef WORKER_H
#define WORKER_H

#include "doorbell.h"
#include "numa.h"
#include "rbwp_queue.h"
#include "work_extend.h"
#include "work_mask.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* ---- whether a group's further workers are worth having -------------------------------------- */

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

/* The slow side of crowd_count. May step aside. */
void crowd_judge(struct work_runner *runner, uint64_t now);

/* ---- what is in a slot ----------------------------------------------------------------------- */

struct work_slot {
    /* writer: the owner; readers: all, see above */
    _Alignas(WORK_LINE_BYTES) _Atomic uint32_t generation;
    uint32_t last_generation; /* owner only */
    rbwp_do_work_fn do_work;  /* writer: the owner while generation is 0 */
    void *argument;           /* likewise */
    /* When the item was made active, for the first time since it was last run, and by which thread
     * (rbwp_queue.h); 0: not known. Of two that make it active at once either may be given. */
    _Atomic uint64_t enqueued_ticks, enqueued_by;
};

/* The generation of the item in the slot; 0 if free. */
static inline uint32_t work_slot_generation(const struct work_slot *slot)
{
    /* Acquire: pairs with the release in fill. Sequentially consistent: see above. */
    return atomic_load_explicit(&slot->generation, memory_order_seq_cst);
}

static inline bool work_slot_is_named_by(const struct work_slot *slot, uint32_t generation)
{
    return generation != 0 && work_slot_generation(slot) == generation;
}

/* Whether the item was handed over at level 2 and not taken up since. The level may have changed
 * meanwhile, so the ticket is to be taken at any level. */
static inline bool work_slot_has_ticket(const struct work_slot *slot)
{
    return atomic_load_explicit(&slot->enqueued_ticks, memory_order_relaxed) != 0;
}

/* Hands the item over, and takes up the ticket of that. */
void work_slot_enqueue(struct work_slot *slot, unsigned number);

/* Puts an item into a free slot. Its generation. */
uint32_t work_slot_fill(struct work_slot *slot, rbwp_do_work_fn do_work, void *argument);

/* Frees the slot of the item of that generation. False if the item is not in it (any more). */
bool work_slot_empty(struct work_slot *slot, uint32_t generation);

/* ---- worker ---------------------------------------------------------------------------------- */

enum work_phase { WORK_OPEN, WORK_CLOSING, WORK_CLOSED };

struct work_group {
    struct doorbell bell;
    struct crowd crowd;
    struct work_filter filter;
    int domain;            /* the kernel's number, -1: all of the machine */
    uint32_t worker_count; /* set once */
};

struct work_runner {
    /* Line of its own: the runner writes it at each run. */
    _Alignas(WORK_LINE_BYTES) struct rbwp_work_manager *manager; /* set once */
    struct work_group *group;                                    /* set once; NULL: lent */
    struct work_cursor cursor;                                   /* the runner alone */
    int slot;            /* whose do_work it is in, -1 none; the runner alone */
    uint64_t spin_ticks; /* of the next spin; the runner alone */
    uint32_t spins;      /* likewise */
    struct crowd_share crowd;
    _Atomic uint64_t runs; /* runs ended; writer: the runner; reader: work_is_quiet */

    struct work_runner *next; /* guarded by manager->lock */
    pthread_t thread;         /* workers; start and stop */
    unsigned number;          /* likewise */
    const unsigned *cpus;     /* workers, until they are ready: where to run */
    unsigned cpu_count;       /* 0: anywhere */
};

struct rbwp_work_manager {
    struct work_mask mask;

    /* Read at each run, written at start and stop only. */
    _Alignas(WORK_LINE_BYTES) _Atomic int phase; /* enum work_phase; only grows */
    uint64_t slice_ticks;
    uint64_t spin_ticks;  /* the longest spin; 0: workers sleep at once */
    uint64_t yield_ticks; /* spinning, between offers of the CPU to others */
    struct crowd_times crowd_times;
    struct work_group *groups;
    unsigned group_count;
    /* Signalled when a runner finds nothing to do, when a slot's last run has ended, and when an
     * activation is dropped; without workers also when something becomes a candidate. */
    struct event settled;
    bool is_lent_only; /* no workers: who waits does the work */

    struct work_slot slots[RBWP_SLOTS_MAX];

    /* Guards what is below. Innermost: nothing is taken or called inside it. */
    pthread_mutex_t lock;
    pthread_cond_t changed;      /* of what the lock guards */
    struct work_runner *runners; /* workers and lent threads, now */
    unsigned lent;               /* lent threads among them */
    uint64_t runs_of_gone;       /* runs of lent threads that have left */
    unsigned workers_ready;
    enum rbwp_status worker_status; /* first failure of a worker to get ready */
    int worker_errno;               /* of that one, if the kernel refused its CPUs */

    struct work_runner *workers; /* start and stop only, not guarded */
    unsigned worker_count;
};

/* The calling thread as a runner of any manager, NULL if it is none. */
struct work_runner *work_runner_here(void);
bool work_is_closed(const struct rbwp_work_manager *manager);

/* Wakes somebody for a slot that has become a candidate. */
void work_wake_for(struct rbwp_work_manager *manager, unsigned slot);

/* All other workers of the group sleep or have stepped aside. */
bool work_is_alone(const struct work_group *group);

/* True if at some moment during the call no slot was active or running. */
bool work_is_quiet(struct rbwp_work_manager *manager);

/*
 * Starts the manager's workers as the config says, and waits until all are ready. On failure some
 * may be running: work_stop_workers.
 */
enum rbwp_status work_start_workers(struct rbwp_work_manager *manager,
                                    const struct rbwp_work_config *config,
                                    const struct numa_map *map, struct rbwp_error *error);
/* Ends the workers of a closed manager. Blocks until they have left. */
void work_stop_workers(struct rbwp_work_manager *manager);

/*
 * The calling thread runs what is active until nothing is, limit_ticks (a time) has passed, or
 * with one_round each active item has run once. RBWP_OK if it ran something, RBWP_AGAIN if not,
 * RBWP_E_STATE if the manager is closed.
 */
enum rbwp_status work_lend(struct rbwp_work_manager *manager, uint64_t limit_ticks, bool one_round);

#endif /* WORKER_H */
