/* SPDX-License-Identifier: Apache-2.0 */
#include "stall_holder.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/syscall.h>

#define WAITED_FOR 2 /* what glibc's mutexes are while threads wait for them */

#if defined(__GLIBC__)
/* The kinds of mutexes have few bits (pthreadP.h). Other words that are 2 lie in locks of other
 * forms: none has a small number there, and a user of it besides. */
#define KIND_MAX 1023

static bool read_mutex(uint64_t object, pthread_mutex_t *mutex)
{
    return object && proc_read_memory(mutex, object, sizeof *mutex) == sizeof *mutex;
}

static uint64_t if_thread(int owner)
{
    return owner > 0 && proc_is_own_thread((uint64_t)owner) ? (uint64_t)owner : 0;
}

uint64_t holder_of(enum rbwp_extend_lock lock, uint64_t object)
{
    pthread_mutex_t mutex;
    pthread_rwlock_t rwlock;
    if (lock == RBWP_EXTEND_MUTEX && read_mutex(object, &mutex) && mutex.__data.__lock)
        return if_thread(mutex.__data.__owner);
    if (lock == RBWP_EXTEND_RWLOCK && object &&
        proc_read_memory(&rwlock, object, sizeof rwlock) == sizeof rwlock)
        return if_thread(rwlock.__data.__cur_writer);
    return 0;
}

static uint64_t holder_by_futex(uint64_t futex)
{
    pthread_mutex_t mutex;
    const uint64_t object = futex - offsetof(pthread_mutex_t, __data.__lock);
    if (!read_mutex(object, &mutex) || mutex.__data.__lock != WAITED_FOR ||
        mutex.__data.__kind < 0 || mutex.__data.__kind > KIND_MAX || mutex.__data.__nusers == 0)
        return 0;
    return if_thread(mutex.__data.__owner);
}

#else

uint64_t holder_of(enum rbwp_extend_lock lock, uint64_t object)
{
    (void)lock;
    (void)object;
    return 0;
}

static uint64_t holder_by_futex(uint64_t futex)
{
    (void)futex;
    return 0;
}

#endif

uint64_t holder_futex(const struct thread_state *state, uint64_t *holder_out)
{
    const int call = (int)state->arguments[1] & FUTEX_CMD_MASK;
    const bool waits = call == FUTEX_WAIT || call == FUTEX_WAIT_BITSET;
    *holder_out = 0;
    if (!state->is_known || state->system_call != SYS_futex || (!waits && call != FUTEX_LOCK_PI))
        return 0;
    if (waits && (uint32_t)state->arguments[2] == WAITED_FOR)
        *holder_out = holder_by_futex(state->arguments[0]);
    return state->arguments[0];
}
