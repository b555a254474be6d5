/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stall_proc.h - what the kernel says of this process and its threads: files in /proc, memory.
 *
 * For a thread of ours while others stand still: nothing is allocated, no lock of the C library's
 * is taken, and no memory that may not be there is touched. Descriptors are open for moments, and
 * read by pread: the program may close one, and open a file of its own under its number.
 */
#ifndef STALL_PROC_H
#define STALL_PROC_H

#include "record_extend.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- threads --------------------------------------------------------------------------------- */

/* What a thread does just now. */
struct thread_state {
    bool is_known, runs; /* else it is blocked: then the rest is known, too */
    int64_t system_call; /* its number; -1: it is blocked in none, in a page fault for example */
    uint64_t arguments[6];
    uint64_t stack, code; /* pointers to where it is */
};
/* Of a text of /proc/PID/task/TID/syscall. */
struct thread_state proc_parse_state(const char *text);
struct thread_state proc_thread_state(uint64_t os_id);
bool proc_is_same_state(const struct thread_state *a, const struct thread_state *b);

/* How often the thread has waited, and whether it holds the signal off. False: not known. */
bool proc_parse_status(const char *text, int signal, uint64_t *waits_out, bool *is_held_out);
bool proc_thread_status(uint64_t os_id, int signal, uint64_t *waits_out, bool *is_held_out);

bool proc_is_own_thread(uint64_t os_id);

/* ---- memory ---------------------------------------------------------------------------------- */

/* So many bytes of this process's memory, or those up to the first page that cannot be read. */
size_t proc_read_memory(void *to, uint64_t address, size_t bytes);

/* A mapping of this process's memory: a line of /proc/self/maps. */
struct proc_map {
    uint64_t start, end, offset, device, inode;
    bool is_code;     /* executable */
    const char *path; /* not terminated; "[stack]" and such for what is no file */
    size_t path_bytes;
};
/* Of a line without its end. False: it is none. */
bool proc_parse_map(const char *line, size_t bytes, struct proc_map *map_out);
/* All of them by rising addresses. False: they are not known, or not all. One thread at a time. */
typedef void proc_map_fn(void *context, const struct proc_map *map);
bool proc_each_map(proc_map_fn *each, void *context);

/* ---- holders --------------------------------------------------------------------------------- */

/* Who holds what a thread waits for, as the C library keeps it. */

/* The number that the system gives the thread that holds the lock; 0: none of this process does, or
 * not known. */
uint64_t holder_of(enum rbwp_extend_lock lock, uint64_t object);
/* Of a thread that waits in a futex call: its futex, and who holds the mutex that this is. 0: it is
 * in no such call; not known. */
uint64_t holder_futex(const struct thread_state *state, uint64_t *holder_out);

#endif /* STALL_PROC_H */
