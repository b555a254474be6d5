/* SPDX-License-Identifier: Apache-2.0 */
/*
 * on_cpu.h - what a thread's calls did with their time: ran, were ready to run, were blocked.
 *
 * The kernel clears a word of the thread (rseq_cs of its rseq area) when it takes the thread from
 * its CPU, moves it to another one, or delivers a signal. So a begin sets the word and an end looks
 * at it: while it stays, the thread ran all the time, and nothing is asked. Where it was cleared,
 * the kernel's counters say what happened (docs/design/on_cpu.md).
 *
 * What is known goes into two tables: call_cpu has a row for each call that was switched out or was
 * long, thread_cpu says from when on a call without a row is one that ran. "Not known" where glibc
 * registers no rseq area (before 2.35, musl, valgrind), where the kernel does not clear the word
 * behind each switch, and from the moment on in which another library uses the word for critical
 * sections of its own: it is never taken from that library.
 *
 * All by the thread itself, in a recording call, or by who may touch its state (thread_registry.h).
 */
#ifndef ON_CPU_H
#define ON_CPU_H

#include "thread_registry.h"

/* Whether the kernel clears the word behind each switch; waits for a moment when it is asked first.
 */
bool on_cpu_is_known(void);
/* Before the first is attached, or a session asks; takes locks. False without memory. */
bool on_cpu_prepare(void);
/* A thread is attached. */
void on_cpu_attach(struct thread *thread);
/* A recorded call has ended, whose begin was put at item. By another thread too, if this one is in
 * no recording call. */
void on_cpu_end(struct rbwp_self_ *self, struct thread *thread, const uint64_t *item, unsigned slot,
                uint64_t begin_ticks, uint64_t end_ticks);
/* The session ends: inlined calls look at nothing any more. */
void on_cpu_stop(struct rbwp_self_ *self, struct thread *thread);
/* The thread is detached. */
void on_cpu_detach(struct thread *thread);

#endif /* ON_CPU_H */
