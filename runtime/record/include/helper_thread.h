/* SPDX-License-Identifier: Apache-2.0 */
/*
 * helper_thread.h - threads of our own in somebody else's process.
 *
 * They get no signals, which are the host program's, have a name, and give way.
 */
#ifndef HELPER_THREAD_H
#define HELPER_THREAD_H

#include "yield_hook.h"
#include "rbwp_record.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The calling thread is inside helper_thread_start: for who stands in for pthread_create. */
extern _Thread_local bool helper_thread_starting RBWP_TLS_MODEL_;

/* 0, or pthread_create's error. name: at most 15 bytes. While threads are held back thread_out
 * stays where it is until the thread has begun or is called off. */
int helper_thread_start(pthread_t *thread_out, const char *name, void *(*run)(void *),
                        void *argument);

/*
 * A program that the library was loaded into may rely on having one thread (unshare(2), a sandbox
 * that forks): there ours begin with the program's own first one, and in its forked children they
 * are held back again. Whoever needs the work of one done meanwhile does it himself. Both on the
 * program's only thread.
 */
void helper_threads_hold(void);
void helper_threads_begin(void);
bool helper_threads_are_held(void);
/* True: the thread has not begun, and will not. Else it is to be joined. */
bool helper_thread_call_off(const pthread_t *thread);

/*
 * How urgent what the calling thread does is beside what the program's threads do. Who gives way
 * takes no CPU from one of them by waking up, but still gets its share (SCHED_BATCH). Lower ones
 * (SCHED_IDLE) can be left by privileged processes alone, and one that is starved holds up what
 * others wait for. Who is urgent gets a CPU for a tenth of a millisecond as soon as it wakes up,
 * if it has not had its share (a slice of its own, from Linux 6.12 on). Where the program's
 * threads have another policy than the usual one, which ours take over, they stay with it.
 */
enum quiet_rank { QUIET_GIVES_WAY, QUIET_USUAL, QUIET_URGENT };
void helper_thread_rank(enum quiet_rank rank);

/* As sched_getattr and sched_setattr take it; C libraries of some age do not know it. */
struct quiet_scheduling {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t slice_ns, deadline_ns, period_ns;
};

/* A pause between two pieces of work, in which whoever was pushed aside goes on: the kernel lets a
 * thread run for some ms in a row. */
void helper_thread_rest(void);

/*
 * A thread that lets others run after so much work in a row: who waits for its CPU goes first
 * then. Where it had to wait for others lately, these wait for it, too, and it rests.
 */
struct helper_pace {
    struct yield_hook yield_hook; /* taken: lets others run if it is time */
    int64_t work_ns_max, rested_ns, looked_ns;
    uint64_t delay_ns; /* that the thread has waited for a CPU, so far */
    bool is_shared;    /* it waited lately */
};
void quiet_pace_start(struct helper_pace *pace, int64_t work_ns_max);

/* ---- sleep ----------------------------------------------------------------------------------- */

/*
 * A thread that sleeps until there is something to do, or for a while.
 *
 * The while is one of the monotonic clock: a semaphore's (sem_timedwait) is of the wall clock, and
 * lasts for hours if that is set back. Any number of calls that come before the sleeper looks are
 * one, so it has to see to all there is to do before it sleeps again.
 */

struct wakeup {
    _Atomic uint32_t called; /* 0 or 1; the futex word */
};

/* Any thread, async-signal-safe. What was done before it is seen by whom it wakes. */
void wakeup_call(struct wakeup *wakeup);
/* False if nobody called for so long. May return true without a call. One thread at a time. */
bool wakeup_wait(struct wakeup *wakeup, int64_t ns);

#endif /* HELPER_THREAD_H */
