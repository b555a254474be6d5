/* SPDX-License-Identifier: Apache-2.0 */
/*
 * waiter.h - a thread that waits: when, for what, who ended it.
 *
 *     struct wait wait WAIT_CLEANED;
 *     wait_begin(&wait, WAIT_SEMAPHORE, (uint64_t)sem);
 *     int result = REAL(sem_wait)(sem);
 *     wait_end(&wait, result == 0 ? WAIT_WOKEN : WAIT_FAILED);
 *
 * A run interval is a work item, from the end of one wait to the beginning of the next. The
 * interval ends when the wait begins, so that a program that is killed leaves no thread running
 * that waited; a call that did not block after all takes the end back. Where the thread's last call
 * of the kind did not block, the next one is not expected to: then the interval ends afterwards. A
 * wait becomes a row when it is over (SPEC.md, section 9.3), or when the session ends.
 *
 * Nothing is recorded of a thread that is not one of ours (made by clone, or by a library on its
 * own way, the session's own), of calls inside the recorder, and of what a signal handler waits for
 * in the middle of another wait.
 *
 * A forked child is recorded, from its first wait on, where the session has files for children
 * (rbwp_session_config.children). One that was made without fork's handlers (clone, _Fork) finds
 * its threads' places wiped by the kernel, and records nothing.
 */
#ifndef WAITER_H
#define WAITER_H

#include "hash.h"
#include "rbwp_record.h"
#include "record_extend.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- who signalled whom ---------------------------------------------------------------------- */

enum { WAKES_BUCKETS = 1024, WAKES_KEPT = 8 };

struct wake {
    _Atomic uint64_t state; /* 0: being written; else 4 x (number + 1), and flags (waiter.c) */
    _Atomic uint64_t object, ticks, thread_id;
};

struct wakeup_bucket {
    _Atomic uint32_t waiting;                                   /* threads */
    _Atomic uint32_t next;                                      /* number of the next note */
    struct wake notes[WAKES_KEPT] __attribute__((aligned(32))); /* none lies in two lines */
} __attribute__((aligned(64)));

extern struct wakeup_bucket wakeup_buckets[WAKES_BUCKETS];

static inline struct wakeup_bucket *wakeup_bucket_of(uint64_t object)
{
    return &wakeup_buckets[hash_place(object >> 3) >> 22];
}

enum wakeup_whose { WAKES_ONE, WAKES_ALL };
__attribute__((hot)) void wakeup_note(struct wakeup_bucket *bucket, uint64_t object,
                                      enum wakeup_whose whose);

/* Before the object is signalled. */
static inline void wakeup_tell(uint64_t object, enum wakeup_whose whose)
{
    struct wakeup_bucket *bucket = wakeup_bucket_of(object);
    if (__builtin_expect(atomic_load_explicit(&bucket->waiting, memory_order_relaxed) != 0, 0))
        wakeup_note(bucket, object, whose);
}

static inline void wakeup_join(struct wakeup_bucket *bucket)
{
    atomic_fetch_add_explicit(&bucket->waiting, 1, memory_order_seq_cst);
}
static inline void wakeup_leave(struct wakeup_bucket *bucket)
{
    atomic_fetch_sub_explicit(&bucket->waiting, 1, memory_order_relaxed);
}

struct wakeup_found {
    uint64_t ticks, thread_id;
};
/* Which of several notes: threads that were signalled one by one run in that order; a lock came
 * from whoever released it last. */
enum wakeup_which { WAKES_OLDEST, WAKES_LATEST };
/* A note about the object that was left in [since, until]. False: there is none. */
__attribute__((hot)) bool wakeup_take(struct wakeup_bucket *bucket, uint64_t object, uint64_t since,
                                      uint64_t until, enum wakeup_which which,
                                      struct wakeup_found *found_out);

/* ---- waiter ---------------------------------------------------------------------------------- */

enum { WAIT_MPI_KINDS = 17 };

enum wait_kind {
    WAIT_NONE,  /* nobody's place */
    WAIT_START, /* a thread was made, and has not run yet */
    WAIT_CONDITION,
    WAIT_MUTEX,
    WAIT_RWLOCK,
    WAIT_BARRIER,
    WAIT_SEMAPHORE,
    WAIT_FUTEX,
    WAIT_JOIN,
    WAIT_SLEEP,
    WAIT_EPOLL,
    WAIT_POLL,
    WAIT_SELECT,
    WAIT_CHILD,
    WAIT_SIGNAL,
    WAIT_MPI, /* the first of its calls, whose names wrap_mpi.c has */
    WAIT_READ = WAIT_MPI + WAIT_MPI_KINDS,
    WAIT_WRITE,
    WAIT_FSYNC,
    WAIT_ACCEPT,
    WAIT_CONNECT,
    WAIT_FILE_LOCK,
    WAIT_SEMAPHORE_SET,
    WAIT_KINDS,
    WAIT_RUNS /* it waits for nothing */
};

enum wait_outcome { WAIT_WOKEN = 0, WAIT_FAILED = 1, WAIT_GOES_ON = 2 };

/* A thread's place. */
struct waiter {
    _Atomic uint32_t used;
    _Atomic uint32_t kind;  /* what it waits for */
    _Atomic uintptr_t busy; /* it is recording: where on its stack; else 0 */
    uint64_t short_kinds;   /* bits: of these kinds the last call did not block */
    uint32_t ready_kinds; /* of them, when the last one was made, the one before had not, either */
    bool jumps;           /* a handler that interrupted the recording leaves something by longjmp */
    bool begun;           /* its first interval has */
    _Atomic uint64_t since_ticks, object;
    _Atomic uint64_t thread_id; /* 0: it has not attached yet */
    pthread_t thread;
} __attribute__((aligned(64)));

extern _Thread_local struct waiter *waiter_mine __attribute__((tls_model("initial-exec")));

static inline uint64_t waiter_thread_id(void)
{
    return waiter_mine ? atomic_load_explicit(&waiter_mine->thread_id, memory_order_relaxed) : 0;
}

static inline bool wait_is_mpi(enum wait_kind kind)
{
    return kind >= WAIT_MPI && kind < WAIT_READ;
}

struct wait {
    struct waiter *waiter;        /* NULL: nothing is recorded */
    struct wakeup_bucket *bucket; /* NULL: nobody signals it */
    uint64_t object, since_ticks;
    enum wait_kind kind;
    bool ended;            /* the interval has */
    bool ran;              /* all the time; of one that has not */
    uint64_t *item, *mark; /* if so: what it was, and where */
    unsigned rest_slot; /* if so, and for good: 1 + what goes on if the wait was none; 0: it can be
                           taken back */
    int64_t peer;       /* of calls of MPI alone: a rank, -1 none or not known */
    uint64_t bytes;
    int64_t for_ns; /* of sleeps alone: how long was asked for */
};

/* The calling thread becomes one whose waits are recorded: known by its name (NULL: its number),
 * made by this thread at that time (0: not known). Without room it stays one that is not. */
void waiter_attach(const char *name, uint64_t maker, uint64_t made_ticks);
/* The thread's last interval ends. */
void waiter_detach(void);
/* A thread has another name from now on. */
void waiter_rename(pthread_t thread, const char *name);

/* What is shorter did not block. */
extern uint64_t waiter_least_ticks[WAIT_KINDS];

/* The rest of wait_begin and wait_end, for a thread whose waits are recorded. */
__attribute__((hot)) void waiter_end_stretch(struct wait *wait);
__attribute__((hot)) void waiter_ended(struct wait *wait, enum wait_outcome outcome,
                                       enum wakeup_which which, uint64_t stop_ticks);

/* The thread is about to leave what it does by longjmp: a wait as well, if it is in one. */
void waiter_jumps(void);

/* The session ends: rows of all threads that wait now say so. */
void waiter_tell_waiting(void);

/* Once, before the first thread: names, the table. False, and nothing is recorded: no room. */
bool waiter_prepare(uint64_t least_io_ns);
/* The same of calls of MPI, before the first of them: their names. */
bool waiter_prepare_mpi(const char *const names[WAIT_MPI_KINDS]);
/* When the session has begun: how long a tick is. */
void waiter_start_clock(void);
/* In a forked child, whose only thread this is. */
void waiter_forked(void);
/* The first thread of the program's has been made: there are more that look at the clock. */
void waiter_has_company(void);

/* True if the thread's last two calls of the kind did not block: the caller asks without waiting
 * first, which costs nothing of ours where that finds something again, and a call more where not.
 */
static inline bool wait_is_unlikely(enum wait_kind kind)
{
    struct waiter *waiter = waiter_mine;
    if (!waiter)
        return false;
    const uint32_t bit = UINT32_C(1) << kind, is_short = (uint32_t)waiter->short_kinds & bit;
    const uint32_t was_short = waiter->ready_kinds & bit;
    waiter->ready_kinds = (waiter->ready_kinds & ~bit) | is_short;
    return is_short & was_short;
}
/* It found nothing: the next call will block. */
static inline void wait_is_likely(enum wait_kind kind)
{
    if (waiter_mine) /* else a handler has forked, and this is the child */
        waiter_mine->short_kinds &= ~(UINT64_C(1) << kind);
}

/* The thread's place is in use: by a call that this one interrupts, or by one that was left by
 * longjmp: then true, and it is free again. */
bool waiter_is_back(struct waiter *waiter, const struct wait *wait);

/* In place: what is made and then copied waits for itself. Not all of it is needed, and it is made
 * often. */
static inline void wait_for(struct wait *wait, enum wait_kind kind, uint64_t object,
                            struct wakeup_bucket *bucket)
{
    struct waiter *waiter = waiter_mine;
    wait->waiter = NULL;
    if (!waiter)
        return;
    if (__builtin_expect(atomic_load_explicit(&waiter->busy, memory_order_relaxed) != 0 ||
                             atomic_load_explicit(&waiter->kind, memory_order_relaxed) != WAIT_RUNS,
                         0) &&
        !waiter_is_back(waiter, wait))
        return;
    wait->waiter = waiter;
    wait->bucket = bucket;
    wait->object = object;
    wait->kind = kind;
    wait->ended = false;
    wait->since_ticks = rbwp_now_ticks();
    atomic_store_explicit(&waiter->since_ticks, wait->since_ticks, memory_order_relaxed);
    atomic_store_explicit(&waiter->object, object, memory_order_relaxed);
    atomic_store_explicit(&waiter->kind, kind, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    if (__builtin_expect(!(waiter->short_kinds >> kind & 1), 0))
        waiter_end_stretch(wait);
    else
        wait->ran = rbwp_extend_ran();
    if (bucket)
        wakeup_join(bucket);
}
/* Something that nobody signals, or nobody that we see. */
static inline void wait_begin(struct wait *wait, enum wait_kind kind, uint64_t object)
{
    wait_for(wait, kind, object, NULL);
}
static inline void wait_begin_woken(struct wait *wait, enum wait_kind kind, const void *object)
{
    wait_for(wait, kind, (uintptr_t)object, wakeup_bucket_of((uintptr_t)object));
}

static inline void wait_end_by(struct wait *wait, enum wait_outcome outcome,
                               enum wakeup_which which)
{
    struct waiter *waiter = wait->waiter;
    if (!waiter)
        return;
    uint64_t stop_ticks = rbwp_now_ticks();
    if (__builtin_expect(!wait->ended && !wait->bucket, 1) &&
        stop_ticks - wait->since_ticks < waiter_least_ticks[wait->kind] &&
        atomic_load_explicit(&waiter->kind, memory_order_relaxed) == wait->kind)
        atomic_store_explicit(&waiter->kind, WAIT_RUNS, memory_order_relaxed);
    else
        waiter_ended(wait, outcome, which, stop_ticks);
    wait->waiter = NULL;
}
static inline void wait_end(struct wait *wait, enum wait_outcome outcome)
{
    wait_end_by(wait, outcome, WAKES_OLDEST);
}

/* A thread that is cancelled leaves its wait by unwinding. */
void wait_left(struct wait *wait);
static inline void wait_abandon(struct wait *wait)
{
    if (__builtin_expect(wait->waiter != NULL, 0))
        wait_left(wait);
}
#define WAIT_CLEANED __attribute__((cleanup(wait_abandon)))

#endif /* WAITER_H */
