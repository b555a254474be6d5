/* SPDX-License-Identifier: Apache-2.0 */
/* stall_holder.h - who holds what a thread waits for, as the C library keeps it. */
#ifndef STALL_HOLDER_H
#define STALL_HOLDER_H

#include "record_extend.h"
#include "stall_proc.h"

/* The number that the system gives the thread that holds the lock; 0: none of this process does, or
 * not known. */
uint64_t holder_of(enum rbwp_extend_lock lock, uint64_t object);
/* Of a thread that waits in a futex call: its futex, and who holds the mutex that this is. 0: it is
 * in no such call; not known. */
uint64_t holder_futex(const struct thread_state *state, uint64_t *holder_out);

#endif /* STALL_HOLDER_H */
