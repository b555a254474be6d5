/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect.h - what the runtimes of others report by their tool interfaces, as calls and sub-items.
 *
 * A library of this room is loaded by a runtime into a program that knows nothing of it, and has a
 * recorder of its own inside. Its session is as RBWP_FLAGS says (rbwp_session.h), at level 2
 * without a word there; its file is RBWP_COLLECT_FILE, if that is there.
 *
 * What is open on a thread is a stack. The outermost region is the thread's call, all that is in it
 * are sub-items. A runtime need not report each end: what is above of what ends is over, too. Nor
 * in time: what a thread has open in a region that is over has ended with it.
 */
#ifndef COLLECT_H
#define COLLECT_H

#include <stdbool.h>
#include <stdint.h>

/* Starts the session. False: nothing is to be recorded; if that was not asked for, one line says
 * why. what: "OpenMP". */
bool collect_start(const char *what);
void collect_stop(void);
/* One line: what is not recorded, because of that. */
void collect_refuse(const char *what, const char *why);

/* A call: a task that is the thread's call where it is outermost. */
enum collect_kind { COLLECT_REGION, COLLECT_CALL, COLLECT_TASK, COLLECT_WAIT, COLLECT_KINDS };

/* A name of regions or tasks, or of waits. */
struct collect_name;
/* Of the code that makes them; otherwise: where that is not known, or there are too many. */
const struct collect_name *collect_code(enum collect_kind kind, const void *code,
                                        const struct collect_name *otherwise);
/* By a text; key: what is there as long as the process, and is never another name's. NULL: no
 * memory, or too many. */
const struct collect_name *collect_text(enum collect_kind kind, const void *key, const char *text);

/* The calling thread, if it is not attached. name: "OpenMP thread %u", with its number;
 * the first thread has the program's. */
void collect_attach(const char *name);
void collect_detach(void);

/* A region begins, of which threads take part: its number, not 0. */
uint64_t collect_region_new(const struct collect_name *name);
/* It is over for all of them, whenever they say so. */
void collect_region_over(uint64_t region);
/* The calling thread takes part. */
void collect_region_begin(uint64_t region);

/* Something else begins on it. what: by which its end finds it, or NULL. */
void collect_begin(const struct collect_name *name, const void *what);
/* Whether a task with this mark is open on it, in the innermost region. */
bool collect_is_open(const void *what);
/* What is on top of this kind, or with this mark, ends; nothing if there is none. A wait or task is
 * looked for in the innermost region alone. */
void collect_end(enum collect_kind kind, const void *what);
/* A wait that is over, if it was not short. */
void collect_waited(const struct collect_name *name, uint64_t since_ticks);

#endif /* COLLECT_H */
