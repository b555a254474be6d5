/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording.h - what a recording thread needs of the session in progress.
 *
 * Valid while rbwp_level_ is above 0, seen from inside a recording call, and
 * with the registry locked; the session sets it before it raises the level
 * and clears it after the last call has left.
 */
#ifndef RECORDING_H
#define RECORDING_H

#include "rbwp_rows.h"
#include "rbwp_session.h"
#include "thread_registry.h"

struct chunk_pool;
struct drain;

struct recording {
    struct chunk_pool *pool;
    struct drain *drain;
    enum rbwp_at_cap at_cap;
    bool asks_cpu; /* what calls do with their time: running, runnable, blocked (on_cpu.h) */
    _Atomic bool said_cpu;        /* that it asks */
    _Atomic uint64_t began_ticks; /* from when on that is so */
    bool strict;                  /* nothing beyond version 1 in the file */
};

/* NULL without a session. */
extern struct recording *recording_now;

/* What a forked child that is to record does at its first record: it begins the session
 * (fork_child.c).
 */
extern void (*recording_begins_late)(void);

/* True where a session records: it may begin now. Inside a recording call. */
bool recording_is_there(void);
/* The same for what begins at ticks: in a child whose session begins only now it begins with that,
 * as times before it are not in the file. */
uint64_t recording_ticks(uint64_t ticks);

/* A thread that stays in a call so long, and does not wait for memory, will not leave it: a signal
 * handler has taken it out by longjmp. */
#ifndef RECORDING_STUCK_NS
#define RECORDING_STUCK_NS INT64_C(10000000000)
#endif

/*
 * Ends recording on all threads: clears the level, waits until no recording call is under way, and
 * hands over what the threads hold. Afterwards recording_now may be freed. NULL, or a thread that
 * does not leave its call; then recording goes on. Registry locked.
 */
const struct thread *recording_end(void);
/* From a thread that nobody waits for, early: the kernel takes 10 to 20 ms to register a process of
 * several threads for the fence of recording_end, which would be those of the first end. */
void recording_prepare_end(void);

/*
 * Makes the level another: 0 ends what is open and hands over, what is below 2 ends open sub-items,
 * on all threads at one moment, at which nobody records; from 1 to 2 all record on. NULL, or a
 * thread as above, and then nothing has changed. Registry locked.
 */
const struct thread *recording_set_level(int level);

/* A rule was added that rows may meet: whoever writes one from now on asks for it, though inlined
 * calls have found room until now. */
void recording_slow_rows(enum rule_watch watch);

/* Between levels, for recording_set_level: what the new one will not record the end of is ended
 * now, and ends of what the old one did not record are no misuse (recorder.c). */
void recorder_change_level(struct thread *thread, int before, int level, uint64_t ticks);
/* From 1 to 2, while the thread records. */
void recorder_raise_level(struct thread *thread);

/* What the thread recorded goes to the session in progress. Registry locked, or own thread in a
 * call. */
void recording_hand_over(struct thread *thread);

#endif /* RECORDING_H */
