/* SPDX-License-Identifier: Apache-2.0 */
/* Waits for time, descriptors, child processes, signals, and on futexes by syscall(2). */
#include "libc_next.h"
#include "waiter.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <sys/syscall.h>

#define WAIT_WHILE(kind, object, call, timed_out)                                                  \
    do {                                                                                           \
        struct wait begun WAIT_CLEANED;                                                            \
        wait_begin(&begun, kind, (uint64_t)(object));                                              \
        __typeof__(call) result = call;                                                            \
        wait_end(&begun, (timed_out) ? WAIT_FAILED : WAIT_WOKEN);                                  \
        return result;                                                                             \
    } while (0)

/* A function that does nothing else. A call that may not wait is nothing but a call. */
#define WAITS_UNLESS(never, type, name, parameters, arguments, kind, object, timed_out)            \
    SHOWN type name parameters                                                                     \
    {                                                                                              \
        if (never)                                                                                 \
            return REAL(name) arguments;                                                           \
        WAIT_WHILE(kind, object, REAL(name) arguments, timed_out);                                 \
    }
#define WAITS(...) WAITS_UNLESS(false, __VA_ARGS__)

/* ---- sleep --------------------------------------------------------------------------------------
 */

/* It is known when it is to end; so it is known how late it does. */
#define SLEEPS(type, name, parameters, arguments, asked_ns)                                        \
    SHOWN type name parameters                                                                     \
    {                                                                                              \
        struct wait begun WAIT_CLEANED;                                                            \
        wait_begin(&begun, WAIT_SLEEP, 0);                                                         \
        begun.for_ns = (asked_ns);                                                                 \
        const type result = REAL(name) arguments;                                                  \
        wait_end(&begun, result == 0 ? WAIT_FAILED : WAIT_WOKEN);                                  \
        return result;                                                                             \
    }

static int64_t ns_of_time(const struct timespec *time)
{
    return time && time->tv_sec >= 0 && time->tv_sec < INT32_MAX
               ? time->tv_sec * INT64_C(1000000000) + time->tv_nsec
               : 0;
}

/* How long that is, or until that time of a clock of which asking is cheap; 0: of another one. */
static int64_t ns_until(clockid_t clock, int flags, const struct timespec *time)
{
    struct timespec now;
    if (!(flags & TIMER_ABSTIME))
        return ns_of_time(time);
    if ((clock != CLOCK_MONOTONIC && clock != CLOCK_REALTIME) || clock_gettime(clock, &now) != 0)
        return 0;
    return ns_of_time(time) - ns_of_time(&now);
}

SLEEPS(unsigned, sleep, (unsigned seconds), (seconds), INT64_C(1000000000) * seconds)
SLEEPS(int, usleep, (useconds_t duration_us), (duration_us), INT64_C(1000) * duration_us)
SLEEPS(int, nanosleep, (const struct timespec *duration, struct timespec *rest), (duration, rest),
       ns_of_time(duration))
SLEEPS(int, clock_nanosleep,
       (clockid_t clock, int flags, const struct timespec *duration, struct timespec *rest),
       (clock, flags, duration, rest), ns_until(clock, flags, duration))

#if __GLIBC_PREREQ(2, 28)
SLEEPS(int, thrd_sleep, (const struct timespec *duration, struct timespec *rest), (duration, rest),
       ns_of_time(duration))
#endif

/* ---- descriptors --------------------------------------------------------------------------------
 */

static const struct timespec no_time;

static bool is_no_time(const struct timespec *timeout)
{
    return timeout && timeout->tv_sec == 0 && timeout->tv_nsec == 0;
}

/* What is ready is found by the same call that may not wait, with the arguments `look`; 0, and
 * nothing was changed that the waiting one does not set again. */
#define POLLS(never, name, parameters, arguments, look, kind, object)                              \
    SHOWN int name parameters                                                                      \
    {                                                                                              \
        if (never)                                                                                 \
            return REAL(name) arguments;                                                           \
        if (wait_is_unlikely(kind)) {                                                              \
            int found = REAL(name) look;                                                           \
            if (found != 0)                                                                        \
                return found;                                                                      \
            wait_is_likely(kind);                                                                  \
        }                                                                                          \
        WAIT_WHILE(kind, object, REAL(name) arguments, result == 0);                               \
    }

POLLS(timeout_ms == 0, poll, (struct pollfd * files, nfds_t count, int timeout_ms),
      (files, count, timeout_ms), (files, count, 0), WAIT_POLL, 0)
POLLS(is_no_time(timeout), ppoll,
      (struct pollfd * files, nfds_t count, const struct timespec *timeout,
       const sigset_t *signals),
      (files, count, timeout, signals), (files, count, &no_time, signals), WAIT_POLL, 0)
POLLS(timeout_ms == 0, __poll_chk,
      (struct pollfd * files, nfds_t count, int timeout_ms, size_t room),
      (files, count, timeout_ms, room), (files, count, 0, room), WAIT_POLL, 0)
POLLS(is_no_time(timeout), __ppoll_chk,
      (struct pollfd * files, nfds_t count, const struct timespec *timeout, const sigset_t *signals,
       size_t room),
      (files, count, timeout, signals, room), (files, count, &no_time, signals, room), WAIT_POLL, 0)

WAITS(int, select,
      (int count, fd_set *restrict to_read, fd_set *restrict to_write, fd_set *restrict other,
       struct timeval *restrict timeout),
      (count, to_read, to_write, other, timeout), WAIT_SELECT, 0, result == 0)
WAITS(int, pselect,
      (int count, fd_set *restrict to_read, fd_set *restrict to_write, fd_set *restrict other,
       const struct timespec *restrict timeout, const sigset_t *restrict signals),
      (count, to_read, to_write, other, timeout, signals), WAIT_SELECT, 0, result == 0)

POLLS(timeout_ms == 0, epoll_wait, (int fd, struct epoll_event *events, int most, int timeout_ms),
      (fd, events, most, timeout_ms), (fd, events, most, 0), WAIT_EPOLL, fd)
POLLS(timeout_ms == 0, epoll_pwait,
      (int fd, struct epoll_event *events, int most, int timeout_ms, const sigset_t *signals),
      (fd, events, most, timeout_ms, signals), (fd, events, most, 0, signals), WAIT_EPOLL, fd)
#if __GLIBC_PREREQ(2, 35)
POLLS(is_no_time(timeout), epoll_pwait2,
      (int fd, struct epoll_event *events, int most, const struct timespec *timeout,
       const sigset_t *signals),
      (fd, events, most, timeout, signals), (fd, events, most, &no_time, signals), WAIT_EPOLL, fd)
#endif

/* ---- child processes ----------------------------------------------------------------------------
 */

WAITS(pid_t, wait, (int *status), (status), WAIT_CHILD, 0, result < 0)

WAITS_UNLESS((options & WNOHANG) != 0, int, waitid,
             (idtype_t type, id_t id, siginfo_t *info, int options), (type, id, info, options),
             WAIT_CHILD, id, result < 0)
WAITS_UNLESS((options & WNOHANG) != 0, pid_t, wait3,
             (int *status, int options, struct rusage *usage), (status, options, usage), WAIT_CHILD,
             0, result < 0)
WAITS_UNLESS((options & WNOHANG) != 0, pid_t, wait4,
             (pid_t process, int *status, int options, struct rusage *usage),
             (process, status, options, usage), WAIT_CHILD, process, result < 0)
WAITS_UNLESS((options & WNOHANG) != 0, pid_t, waitpid, (pid_t process, int *status, int options),
             (process, status, options), WAIT_CHILD, process, result < 0)
WAITS(int, system, (const char *command), (command), WAIT_CHILD, 0, result < 0)
WAITS(int, pclose, (FILE * stream), (stream), WAIT_CHILD, 0, result < 0)

/* ---- signals ------------------------------------------------------------------------------------
 */

WAITS(int, pause, (void), (), WAIT_SIGNAL, 0, false)
WAITS(int, sigsuspend, (const sigset_t *others), (others), WAIT_SIGNAL, 0, false)
WAITS(int, sigwait, (const sigset_t *restrict signals, int *restrict number), (signals, number),
      WAIT_SIGNAL, 0, result != 0)
WAITS(int, sigwaitinfo, (const sigset_t *restrict signals, siginfo_t *restrict info),
      (signals, info), WAIT_SIGNAL, 0, result < 0)
WAITS_UNLESS(is_no_time(timeout), int, sigtimedwait,
             (const sigset_t *restrict signals, siginfo_t *restrict info,
              const struct timespec *restrict timeout),
             (signals, info, timeout), WAIT_SIGNAL, 0, result < 0)

/* ---- futexes
 * -------------------------------------------------------------------------------------- */

typedef long (*syscall_fn)(long number, ...);

static long futex(syscall_fn real, long number, const long *args)
{
    int operation = (int)args[1] & FUTEX_CMD_MASK;
    if (operation == FUTEX_WAKE || operation == FUTEX_WAKE_BITSET)
        wakeup_tell((uintptr_t)args[0], args[2] == 1 ? WAKES_ONE : WAKES_ALL);
    if (operation != FUTEX_WAIT && operation != FUTEX_WAIT_BITSET)
        return real(number, args[0], args[1], args[2], args[3], args[4], args[5]);
    struct wait wait;
    wait_begin_woken(&wait, WAIT_FUTEX, (const void *)args[0]);
    long result = real(number, args[0], args[1], args[2], args[3], args[4], args[5]);
    wait_end(&wait, result < 0 && errno == ETIMEDOUT ? WAIT_FAILED : WAIT_WOKEN);
    return result;
}

/* Takes six arguments whatever the call has, as the C library's own does. */
SHOWN long syscall(long number, ...)
{
    long args[6];
    va_list list;
    va_start(list, number);
    for (unsigned i = 0; i < 6; i++)
        args[i] = va_arg(list, long);
    va_end(list);
    syscall_fn real = (syscall_fn)REAL(syscall);
    if (number == SYS_futex)
        return futex(real, number, args);
    return real(number, args[0], args[1], args[2], args[3], args[4], args[5]);
}
