/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits for other threads: locks, condition variables, semaphores, barriers.
 *
 * What can be had without waiting is taken by the call that never waits, so that a lock that is
 * free costs a call more and no clock.
 */
#include "libc_next.h"
#include "waiter.h"

#include <errno.h>

static enum wait_outcome outcome_of(int error)
{
    return error ? WAIT_FAILED : WAIT_WOKEN;
}

/* ---- locks -------------------------------------------------------------------------------------
 */

/* A lock is had by `try`, or waited for by the call itself. */
#define LOCKS(name, parameters, arguments, kind, object, busy, try)                                \
    SHOWN int name parameters                                                                      \
    {                                                                                              \
        int got = REAL(try)(object);                                                               \
        if (__builtin_expect(got != (busy), 1))                                                    \
            return got;                                                                            \
        struct wait wait;                                                                          \
        wait_begin_woken(&wait, kind, object);                                                     \
        got = REAL(name) arguments;                                                                \
        wait_end_by(&wait, outcome_of(got), WAKES_LATEST);                                         \
        return got;                                                                                \
    }
/* One that lets others go on. */
#define WAKES(name, parameters, object, who)                                                       \
    SHOWN int name parameters                                                                      \
    {                                                                                              \
        wakeup_tell((uintptr_t)(object), who);                                                     \
        return REAL(name)(object);                                                                 \
    }

LOCKS(pthread_mutex_lock, (pthread_mutex_t * mutex), (mutex), WAIT_MUTEX, mutex, EBUSY,
      pthread_mutex_trylock)
LOCKS(pthread_mutex_timedlock, (pthread_mutex_t * mutex, const struct timespec *until),
      (mutex, until), WAIT_MUTEX, mutex, EBUSY, pthread_mutex_trylock)
WAKES(pthread_mutex_unlock, (pthread_mutex_t * mutex), mutex, WAKES_ONE)
LOCKS(pthread_rwlock_rdlock, (pthread_rwlock_t * lock), (lock), WAIT_RWLOCK, lock, EBUSY,
      pthread_rwlock_tryrdlock)
LOCKS(pthread_rwlock_timedrdlock, (pthread_rwlock_t * lock, const struct timespec *until),
      (lock, until), WAIT_RWLOCK, lock, EBUSY, pthread_rwlock_tryrdlock)
LOCKS(pthread_rwlock_wrlock, (pthread_rwlock_t * lock), (lock), WAIT_RWLOCK, lock, EBUSY,
      pthread_rwlock_trywrlock)
LOCKS(pthread_rwlock_timedwrlock, (pthread_rwlock_t * lock, const struct timespec *until),
      (lock, until), WAIT_RWLOCK, lock, EBUSY, pthread_rwlock_trywrlock)
WAKES(pthread_rwlock_unlock, (pthread_rwlock_t * lock), lock, WAKES_ALL)

#if __GLIBC_PREREQ(2, 31)
LOCKS(pthread_mutex_clocklock,
      (pthread_mutex_t * mutex, clockid_t clock, const struct timespec *until),
      (mutex, clock, until), WAIT_MUTEX, mutex, EBUSY, pthread_mutex_trylock)
LOCKS(pthread_rwlock_clockrdlock,
      (pthread_rwlock_t * lock, clockid_t clock, const struct timespec *until),
      (lock, clock, until), WAIT_RWLOCK, lock, EBUSY, pthread_rwlock_tryrdlock)
LOCKS(pthread_rwlock_clockwrlock,
      (pthread_rwlock_t * lock, clockid_t clock, const struct timespec *until),
      (lock, clock, until), WAIT_RWLOCK, lock, EBUSY, pthread_rwlock_trywrlock)
#endif

/* The last to come wakes the others, and none waits without them. */
SHOWN int pthread_barrier_wait(pthread_barrier_t *barrier)
{
    wakeup_tell((uintptr_t)barrier, WAKES_ALL);
    struct wait wait;
    wait_begin_woken(&wait, WAIT_BARRIER, barrier);
    int result = REAL(pthread_barrier_wait)(barrier);
    wait_end_by(&wait, WAIT_WOKEN, WAKES_LATEST);
    return result;
}

/* ---- semaphores ---------------------------------------------------------------------------------
 */

/* The call that waits is a point of cancellation, also where it need not wait. */
#define SEMAPHORES(name, parameters, arguments)                                                    \
    SHOWN int name parameters                                                                      \
    {                                                                                              \
        int error = errno;                                                                         \
        pthread_testcancel();                                                                      \
        if (REAL(sem_trywait)(sem) == 0)                                                           \
            return 0;                                                                              \
        errno = error;                                                                             \
        struct wait wait WAIT_CLEANED;                                                             \
        wait_begin_woken(&wait, WAIT_SEMAPHORE, sem);                                              \
        int result = REAL(name) arguments;                                                         \
        wait_end(&wait, outcome_of(result));                                                       \
        return result;                                                                             \
    }
SEMAPHORES(sem_wait, (sem_t * sem), (sem))
SEMAPHORES(sem_timedwait, (sem_t * sem, const struct timespec *until), (sem, until))
#if __GLIBC_PREREQ(2, 31)
SEMAPHORES(sem_clockwait, (sem_t * sem, clockid_t clock, const struct timespec *until),
           (sem, clock, until))
#endif
WAKES(sem_post, (sem_t * sem), sem, WAKES_ONE)

/* ---- condition variables ------------------------------------------------------------------------
 */

/* Condition variables have two forms in memory where the C library is old enough: the program's
 * calls are bound to ours of the version that it was built for, and those to the library's of the
 * same version. */
typedef int (*cond_wait_fn)(pthread_cond_t *, pthread_mutex_t *);
typedef int (*cond_timedwait_fn)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
typedef int (*cond_clockwait_fn)(pthread_cond_t *, pthread_mutex_t *, clockid_t,
                                 const struct timespec *);
typedef int (*cond_signal_fn)(pthread_cond_t *);

#define VERSIONED(type, name, version)                                                             \
    static void *found;                                                                            \
    void *real = __atomic_load_n(&found, __ATOMIC_RELAXED);                                        \
    if (__builtin_expect(!real, 0)) {                                                              \
        real = libc_next_find_version(name, version);                                              \
        __atomic_store_n(&found, real, __ATOMIC_RELAXED);                                          \
    }                                                                                              \
    type call = (type)real

/* The mutex is released meanwhile, which somebody may wait for. */
#define CONDITION(call_)                                                                           \
    do {                                                                                           \
        wakeup_tell((uintptr_t)mutex, WAKES_ONE);                                                  \
        struct wait wait WAIT_CLEANED;                                                             \
        wait_begin_woken(&wait, WAIT_CONDITION, cond);                                             \
        int result = call_;                                                                        \
        wait_end(&wait, outcome_of(result));                                                       \
        return result;                                                                             \
    } while (0)

#define CONDITIONS(suffix, version)                                                                \
    SHOWN int rbwp_cond_wait_##suffix(pthread_cond_t *cond, pthread_mutex_t *mutex);               \
    SHOWN int rbwp_cond_timedwait_##suffix(pthread_cond_t *cond, pthread_mutex_t *mutex,           \
                                           const struct timespec *until);                          \
    SHOWN int rbwp_cond_signal_##suffix(pthread_cond_t *cond);                                     \
    SHOWN int rbwp_cond_broadcast_##suffix(pthread_cond_t *cond);                                  \
                                                                                                   \
    int rbwp_cond_wait_##suffix(pthread_cond_t *cond, pthread_mutex_t *mutex)                      \
    {                                                                                              \
        VERSIONED(cond_wait_fn, "pthread_cond_wait", version);                                     \
        CONDITION(call(cond, mutex));                                                              \
    }                                                                                              \
    int rbwp_cond_timedwait_##suffix(pthread_cond_t *cond, pthread_mutex_t *mutex,                 \
                                     const struct timespec *until)                                 \
    {                                                                                              \
        VERSIONED(cond_timedwait_fn, "pthread_cond_timedwait", version);                           \
        CONDITION(call(cond, mutex, until));                                                       \
    }                                                                                              \
    int rbwp_cond_signal_##suffix(pthread_cond_t *cond)                                            \
    {                                                                                              \
        VERSIONED(cond_signal_fn, "pthread_cond_signal", version);                                 \
        wakeup_tell((uintptr_t)cond, WAKES_ONE);                                                   \
        return call(cond);                                                                         \
    }                                                                                              \
    int rbwp_cond_broadcast_##suffix(pthread_cond_t *cond)                                         \
    {                                                                                              \
        VERSIONED(cond_signal_fn, "pthread_cond_broadcast", version);                              \
        wakeup_tell((uintptr_t)cond, WAKES_ALL);                                                   \
        return call(cond);                                                                         \
    }

#if defined(__x86_64__) && !defined(__ILP32__)
CONDITIONS(first, "GLIBC_2.2.5")
CONDITIONS(now, "GLIBC_2.3.2")
#define CONDITION_NAMES(name)                                                                      \
    __asm__(".symver rbwp_cond_" #name "_first, pthread_cond_" #name "@GLIBC_2.2.5");              \
    __asm__(".symver rbwp_cond_" #name "_now, pthread_cond_" #name "@@GLIBC_2.3.2")
CONDITION_NAMES(wait);
CONDITION_NAMES(timedwait);
CONDITION_NAMES(signal);
CONDITION_NAMES(broadcast);
#else
CONDITIONS(now, NULL)
#define CONDITION_NAME(name, now)                                                                  \
    SHOWN __typeof__(name) name __attribute__((alias(#now), copy(now)))
CONDITION_NAME(pthread_cond_wait, rbwp_cond_wait_now);
CONDITION_NAME(pthread_cond_timedwait, rbwp_cond_timedwait_now);
CONDITION_NAME(pthread_cond_signal, rbwp_cond_signal_now);
CONDITION_NAME(pthread_cond_broadcast, rbwp_cond_broadcast_now);
#endif

#if __GLIBC_PREREQ(2, 31)
SHOWN int pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock,
                                 const struct timespec *until)
{
    VERSIONED(cond_clockwait_fn, "pthread_cond_clockwait", NULL);
    CONDITION(call(cond, mutex, clock, until));
}
#endif

/* ---- C11's --------------------------------------------------------------------------------------
 */

#if __GLIBC_PREREQ(2, 28)
LOCKS(mtx_lock, (mtx_t * mutex), (mutex), WAIT_MUTEX, mutex, thrd_busy, mtx_trylock)
LOCKS(mtx_timedlock, (mtx_t *restrict mutex, const struct timespec *restrict until), (mutex, until),
      WAIT_MUTEX, mutex, thrd_busy, mtx_trylock)
WAKES(mtx_unlock, (mtx_t * mutex), mutex, WAKES_ONE)

SHOWN int cnd_wait(cnd_t *cond, mtx_t *mutex)
{
    CONDITION(REAL(cnd_wait)(cond, mutex));
}

SHOWN int cnd_timedwait(cnd_t *restrict cond, mtx_t *restrict mutex,
                        const struct timespec *restrict until)
{
    CONDITION(REAL(cnd_timedwait)(cond, mutex, until));
}

WAKES(cnd_signal, (cnd_t * cond), cond, WAKES_ONE)
WAKES(cnd_broadcast, (cnd_t * cond), cond, WAKES_ALL)
#endif
