/* SPDX-License-Identifier: Apache-2.0 */
/*
 * retired_threads.h - what the file will say of threads that have ended and whose records are all
 * in it.
 *
 * A session may last for months and see millions of threads, so this is bounded: when it is full,
 * the half with the fewest records goes, of equals the older ones, and is only counted (SPEC.md,
 * "LEFT"). Losses beyond a bound are added up by cause. All calls with the registry locked.
 */
#ifndef RETIRED_THREADS_H
#define RETIRED_THREADS_H

#include "thread_registry.h"

struct retired_thread {
    uint64_t thread_id, os_id;
    int64_t attached_monotonic_ns, detached_monotonic_ns;
    uint64_t records;
    char *name;
};

/* Of one thread and cause. Times as struct thread has them: in ns for RBWP_LOSS_IO, else ticks. */
struct retired_loss {
    uint64_t thread_id; /* 0: several */
    uint64_t count;
    uint64_t first, last;
    uint32_t cause;
};

struct retired_threads {
    struct retired_thread *threads;
    struct retired_loss *losses;
    uint32_t thread_count, thread_room, loss_count, loss_room;
    size_t bytes;                                /* of the threads in a file */
    struct retired_loss all_losses[LOSS_CAUSES]; /* that have no entry of their own, by cause */
    uint64_t left_threads, left_records, left_losses;
};

/* Takes over what is known of the thread, its name too. False without memory: nothing has changed.
 */
bool retired_take(struct thread *thread);
const struct retired_threads *retired_threads(void);
void retired_forget(void);
/* In a forked child: empty, whatever state it was in; its memory is given up. */
void retired_abandon(void);

/* What a thread lost, cause by cause, to a visitor. */
void thread_each_loss(const struct thread *thread,
                      void (*visit)(void *context, const struct retired_loss *loss), void *context);

#endif /* RETIRED_THREADS_H */
