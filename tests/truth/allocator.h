/* SPDX-License-Identifier: Apache-2.0 */
/* allocator.h - the program's malloc, which is the C library's behind a lock that a call may hold.
 */
#ifndef ALLOCATOR_H
#define ALLOCATOR_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);
void __libc_free(void *memory);

static pthread_mutex_t allocator = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local bool allocator_may_wait; /* a thread of the program, not the recorder's */
static _Atomic long allocator_kept;           /* how often another thread had to wait */

static void allocator_lock(void)
{
    if (pthread_mutex_trylock(&allocator) == 0)
        return;
    if (!allocator_may_wait)
        atomic_fetch_add(&allocator_kept, 1);
    pthread_mutex_lock(&allocator);
}

#define ALLOCATED(call)                                                                            \
    do {                                                                                           \
        allocator_lock();                                                                          \
        void *memory_ = call;                                                                      \
        pthread_mutex_unlock(&allocator);                                                          \
        return memory_;                                                                            \
    } while (0)

#define SHOWN __attribute__((visibility("default"))) /* for libraries, too */

SHOWN void *malloc(size_t bytes)
{
    ALLOCATED(__libc_malloc(bytes));
}
SHOWN void *calloc(size_t count, size_t bytes)
{
    ALLOCATED(__libc_calloc(count, bytes));
}
SHOWN void *realloc(void *memory, size_t bytes)
{
    ALLOCATED(__libc_realloc(memory, bytes));
}
SHOWN void free(void *memory)
{
    allocator_lock();
    __libc_free(memory);
    pthread_mutex_unlock(&allocator);
}

#endif /* ALLOCATOR_H */
