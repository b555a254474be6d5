/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rbwp_work.h - background work items run by worker threads.
 *
 * A work item has a slot (0-255), a name and a do_work function. Making it
 * active sets its slot's bit and wakes one sleeping worker; a worker claims
 * the bit and calls do_work, which runs until it has nothing left to do or
 * its time slice is over. One item's do_work never runs on two threads at
 * once. Making an item active while it runs is remembered: it runs again.
 *
 * Every do_work is wrapped in a coarse record (rbwp_record.h) while a
 * profiling session runs; the loop shares its clock reads with the recorder. At
 * level 2 it is given, too, how long the item had been active by then, and which
 * thread had made it so (rbwp_queue.h).
 *
 * Threads: every call here may be made from any thread, do_work included,
 * unless it says otherwise. No call but the ones that say so blocks. A forked
 * child has none of the workers: it must not use the parent's managers, but may
 * start its own.
 */
#ifndef RBWP_WORK_H
#define RBWP_WORK_H

#include "rbwp_format.h"

RBWP_C_BEGIN_

/* When a do_work should return, in recorder ticks (rbwp_now_ticks()). */
struct rbwp_deadline {
    uint64_t ticks;
};
/* True once the time slice is over. One clock read. */
RBWP_API bool rbwp_deadline_passed(struct rbwp_deadline deadline);

/*
 * The work. Returns true to run again soon (requeue), false when nothing is
 * left until the next rbwp_work_make_active. A call that found nothing to do
 * says so with rbwp_set_worked(false) and leaves no record, unless it exceeded
 * its deadline. Runs on a worker thread, outside all locks, and may call
 * anything here but rbwp_work_remove of itself, rbwp_work_run, rbwp_work_drain
 * and rbwp_work_stop. Two do_works that remove each other's items at the same
 * time wait for each other for ever.
 */
typedef bool (*rbwp_do_work_fn)(void *argument, struct rbwp_deadline deadline);

/*
 * Names a work item of one manager: slot and the slot's generation, so that a
 * handle to a removed item is recognised. {0,0} is no item.
 */
struct rbwp_work_handle {
    uint16_t slot;
    uint32_t generation; /* never 0 for an item */
};

struct rbwp_work_manager; /* opaque */

/* How a manager is made. Zero in a field means its default. */
struct rbwp_work_config {
    size_t size;      /* sizeof(struct rbwp_work_config) */
    uint32_t workers; /* -bgwork N: worker threads per NUMA domain in use; default 1 */
    bool no_workers;  /* start none: callers lend threads with rbwp_work_run */
    bool numa;        /* -bgnuma 0|1: one set of workers per NUMA domain */
    bool pin;         /* -bgworkpin 0|1: each worker on a CPU of its own, while there are some */
    bool numa_pin;    /* -bgnumapin 0|1: each worker on the CPUs of its domain */
    uint64_t stack_bytes; /* -bgstack KB: worker stack; default the system's */
    uint64_t spin_ns;  /* -bgspin US: idle time spent spinning before sleeping; default 0 = 20 us */
    bool no_spin;      /* sleep at once */
    uint64_t slice_ns; /* -bgslice US: time slice of a do_work; default 100 us */
};

/*
 * Reads -bgwork, -bgnuma, -bgworkpin, -bgnumapin, -bgstack, -bgspin, -bgslice from RBWP_FLAGS in
 * the environment and then from argv, in all the forms and with the refusals of rbwp_session_parse;
 * what is recognised in argv is removed (argc shrinks, argv stays NULL-terminated). argc and argv
 * may be NULL. -bgwork 0 sets no_workers, -bgspin 0 sets no_spin. RBWP_OK; RBWP_E_USAGE with one
 * clear line in error, or RBWP_E_INVALID if config->size is not set; config is then unchanged.
 */
RBWP_API RBWP_MUST_USE enum rbwp_status rbwp_work_parse(struct rbwp_work_config *config, int *argc,
                                                        char **argv, struct rbwp_error *error);

/* Starts a manager and its workers. Blocks until they run. RBWP_E_MEMORY, RBWP_E_INVALID, RBWP_E_IO
 * (threads). */
RBWP_API RBWP_MUST_USE enum rbwp_status rbwp_work_start(const struct rbwp_work_config *config,
                                                        struct rbwp_work_manager **manager_out,
                                                        struct rbwp_error *error);

/*
 * Adds a work item: takes the lowest free slot, registers name (copied, at most
 * RBWP_NAME_BYTES_MAX bytes) for the profiler. domain: NUMA domain that should run it, -1 any.
 * RBWP_E_LIMIT when all 256 slots are taken, RBWP_E_STATE after stop, RBWP_E_INVALID.
 */
RBWP_API RBWP_MUST_USE enum rbwp_status rbwp_work_add(struct rbwp_work_manager *manager,
                                                      const char *name, rbwp_do_work_fn do_work,
                                                      void *argument, int domain,
                                                      struct rbwp_work_handle *handle_out);

/* Makes the item active and wakes a sleeper, if there is one and nobody is looking for work. What
 * the caller wrote before is seen by the run that follows. RBWP_E_INVALID for a stale handle,
 * RBWP_E_STATE once a stop without finish has begun. A call that races with the removal of the same
 * item may activate the slot's next item, once. */
RBWP_API enum rbwp_status rbwp_work_make_active(struct rbwp_work_manager *manager,
                                                struct rbwp_work_handle handle);

/*
 * Removes an item and releases its slot for reuse. Waits for a do_work of it that is running now;
 * queued activations are dropped. Not from the item's own do_work (RBWP_E_STATE).
 */
RBWP_API enum rbwp_status rbwp_work_remove(struct rbwp_work_manager *manager,
                                           struct rbwp_work_handle handle);

/*
 * Lends the calling thread: runs active items, whatever their domain, until none is active or
 * limit_ns has passed (0 = one round: each active item once; an hour or more = no limit). The
 * thread's records are its own affair: it is attached if the caller has attached it. Returns
 * RBWP_OK if it ran something, RBWP_AGAIN if nothing was active, RBWP_E_STATE inside a do_work and
 * once the manager is stopped.
 */
RBWP_API enum rbwp_status rbwp_work_run(struct rbwp_work_manager *manager, uint64_t limit_ns);

/*
 * Waits until nothing is active or running; in a manager without workers the calling thread runs
 * it. Inside a do_work it returns at once.
 */
RBWP_API void rbwp_work_drain(struct rbwp_work_manager *manager);

/* Slots of this manager that are active or asked for requeue, one bit a slot, for "hand back". */
struct rbwp_slot_set {
    uint64_t bits[RBWP_SLOTS_MAX / 64];
};

/*
 * Stops the workers and frees the manager. With finish, workers go on until nothing is active;
 * without, each do_work that runs is let finish and what is still queued is handed back in
 * *queued_out (may be NULL). With finish and no workers the calling thread runs what is left. An
 * item that asks for requeue for ever keeps finish waiting for ever. All slots are released.
 * Blocks; waits for threads inside rbwp_work_run too; no other call may be under way or follow,
 * except from a do_work. NULL manager is fine. RBWP_E_STATE inside a do_work.
 */
RBWP_API enum rbwp_status rbwp_work_stop(struct rbwp_work_manager *manager, bool finish,
                                         struct rbwp_slot_set *queued_out);

RBWP_C_END_
#endif /* RBWP_WORK_H */
