/* SPDX-License-Identifier: Apache-2.0 */
/*
 * in_process.h - the library in somebody else's process: loading and forks, cancelled threads,
 * disks that stand still, limits.
 *
 * When it is loaded it registers its handlers of forks, stays loaded, and nothing else.
 *
 * A child runs handlers in the order in which they were registered. One of the program's that came
 * before ours would record through the child's copy of the state into the chunks that it shares
 * with its parent; as these are registered before main, ours comes first. An allocator's own comes
 * later as well (PartitionAlloc's): it still holds its locks, so ours allocate and free nothing.
 *
 * Among ours each has its place, as the linker's order changes with the names of files: a fork
 * takes the locks of later ones first (extend.c), and a child gives up the session before the
 * registry of its threads.
 */
#ifndef IN_PROCESS_H
#define IN_PROCESS_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* Of a plugin that has this code inside: dlclose does not unload it.
 *
 * The writer thread runs it, and threads that have recorded have a destructor in it. The shared
 * library is linked with -z nodelete; a plugin that has the static one inside is marked when it is
 * loaded. Not later: dlopen waits for a constructor that in turn may wait for the thread that calls
 * us. */

void stay_loaded(void);

/* place: from 0 on. 101 is the first that is not the compiler's own. */
#define ON_LOAD(place) __attribute__((constructor(101 + (place))))
/* Registers these functions for forks, of pthread_atfork. */
#define ON_FORK(place, before, in_parent, in_child)                                                \
    ON_LOAD(place) static void in_child##_is_registered(void)                                      \
    {                                                                                              \
        pthread_atfork(before, in_parent, in_child);                                               \
    }

/* ---- cancelled threads ----------------------------------------------------------------------- */

/*
 * A thread that is cancelled (pthread_cancel) goes on until it is out of here.
 *
 * Some of the system calls behind a recording call and a session are cancellation points: a thread
 * that ended in one would leave a lock held, or a chunk in nobody's hand. Asynchronous cancellation
 * is not covered, as it is by nothing else.
 */

/* What cancel_release wants. */
static inline int cancel_hold(void)
{
    int before;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    return before;
}

static inline void cancel_release(int before)
{
    int held;
    (void)pthread_setcancelstate(before, &held);
}

/* ---- disks that stand still ------------------------------------------------------------------ */

/*
 * Whether a disk stands still.
 *
 * Whatever may wait for a disk says when it begins and when it has ended. Who must not wait for
 * ever looks now and then: no such call has ended between so many looks, and one is under way.
 * Looks are counted, not time, which passes while the whole machine sleeps.
 */

#define DISK_LOOK_NS 10000000 /* between two looks */

/* Any thread; calls may lie inside each other. */
void disk_call_begin(void);
void disk_call_end(void);
/* In a forked child, whose threads those were not. */
void disk_after_fork(void);

struct disk_watch { /* zeros: begins now */
    uint64_t ended;
    int64_t still_ns;
};
/* True when nothing has moved for so long. */
bool disk_stands_still(struct disk_watch *watch, int64_t stall_ns);

/* ---- a limit on the size of files ------------------------------------------------------------ */

/*
 * A file-size limit is an error, not the end of the host program.
 *
 * A write or allocation beyond RLIMIT_FSIZE fails with EFBIG and also sends
 * SIGXFSZ, which kills by default. Between hold and release it is kept from
 * the calling thread, and one that arose in between is taken away.
 */

struct size_signal {
    sigset_t old_mask;
    bool was_pending;
};

void size_signal_hold(struct size_signal *state);
/* Leaves errno alone. */
void size_signal_release(const struct size_signal *state);

#endif /* IN_PROCESS_H */
