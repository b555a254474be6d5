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

/* A function that does nothing else. */
#define WAITS(type, name, parameters, arguments, kind, object, timed_out)                          \
    SHOWN type name parameters                                                                     \
    {                                                                                              \
        WAIT_WHILE(kind, object, REAL(name) arguments, timed_out);                                 \
    }

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

/* What is ready is found by the same call that may not wait; 0, and nothing was changed that the
 * waiting one does not set again. */
#define LOOK_FIRST(kind, look)                                                                     \
    do {                                                                                           \
        if (wait_is_unlikely(kind)) {                                                              \
            int found = look;                                                                      \
            if (found != 0)                                                                        \
                return found;                                                                      \
            wait_is_likely(kind);                                                                  \
        }                                                                                          \
    } while (0)

static const struct timespec no_time;

static bool is_no_time(const struct timespec *timeout)
{
    return timeout && timeout->tv_sec == 0 && timeout->tv_nsec == 0;
}

/* A call that may not wait is nothing but a call. */
SHOWN int poll(struct pollfd *files, nfds_t count, int timeout_ms)
{
    if (timeout_ms == 0)
        return REAL(poll)(files, count, 0);
    LOOK_FIRST(WAIT_POLL, REAL(poll)(files, count, 0));
    WAIT_WHILE(WAIT_POLL, 0, REAL(poll)(files, count, timeout_ms), result == 0);
}

SHOWN int ppoll(struct pollfd *files, nfds_t count, const struct timespec *timeout,
                const sigset_t *signals)
{
    if (is_no_time(timeout))
        return REAL(ppoll)(files, count, timeout, signals);
    LOOK_FIRST(WAIT_POLL, REAL(ppoll)(files, count, &no_time, signals));
    WAIT_WHILE(WAIT_POLL, 0, REAL(ppoll)(files, count, timeout, signals), result == 0);
}

SHOWN int __poll_chk(struct pollfd *files, nfds_t count, int timeout_ms, size_t room)
{
    if (timeout_ms == 0)
        return REAL(__poll_chk)(files, count, 0, room);
    LOOK_FIRST(WAIT_POLL, REAL(__poll_chk)(files, count, 0, room));
    WAIT_WHILE(WAIT_POLL, 0, REAL(__poll_chk)(files, count, timeout_ms, room), result == 0);
}

SHOWN int __ppoll_chk(struct pollfd *files, nfds_t count, const struct timespec *timeout,
                      const sigset_t *signals, size_t room)
{
    if (is_no_time(timeout))
        return REAL(__ppoll_chk)(files, count, timeout, signals, room);
    LOOK_FIRST(WAIT_POLL, REAL(__ppoll_chk)(files, count, &no_time, signals, room));
    WAIT_WHILE(WAIT_POLL, 0, REAL(__ppoll_chk)(files, count, timeout, signals, room), result == 0);
}

WAITS(int, select,
      (int count, fd_set *restrict to_read, fd_set *restrict to_write, fd_set *restrict other,
       struct timeval *restrict timeout),
      (count, to_read, to_write, other, timeout), WAIT_SELECT, 0, result == 0)
WAITS(int, pselect,
      (int count, fd_set *restrict to_read, fd_set *restrict to_write, fd_set *restrict other,
       const struct timespec *restrict timeout, const sigset_t *restrict signals),
      (count, to_read, to_write, other, timeout, signals), WAIT_SELECT, 0, result == 0)

SHOWN int epoll_wait(int fd, struct epoll_event *events, int most, int timeout_ms)
{
    if (timeout_ms == 0)
        return REAL(epoll_wait)(fd, events, most, 0);
    LOOK_FIRST(WAIT_EPOLL, REAL(epoll_wait)(fd, events, most, 0));
    WAIT_WHILE(WAIT_EPOLL, fd, REAL(epoll_wait)(fd, events, most, timeout_ms), result == 0);
}

SHOWN int epoll_pwait(int fd, struct epoll_event *events, int most, int timeout_ms,
                      const sigset_t *signals)
{
    if (timeout_ms == 0)
        return REAL(epoll_pwait)(fd, events, most, 0, signals);
    LOOK_FIRST(WAIT_EPOLL, REAL(epoll_pwait)(fd, events, most, 0, signals));
    WAIT_WHILE(WAIT_EPOLL, fd, REAL(epoll_pwait)(fd, events, most, timeout_ms, signals),
               result == 0);
}

#if __GLIBC_PREREQ(2, 35)
SHOWN int epoll_pwait2(int fd, struct epoll_event *events, int most, const struct timespec *timeout,
                       const sigset_t *signals)
{
    if (is_no_time(timeout))
        return REAL(epoll_pwait2)(fd, events, most, timeout, signals);
    LOOK_FIRST(WAIT_EPOLL, REAL(epoll_pwait2)(fd, events, most, &no_time, signals));
    WAIT_WHILE(WAIT_EPOLL, fd, REAL(epoll_pwait2)(fd, events, most, timeout, signals), result == 0);
}
#endif

/* ---- child processes ----------------------------------------------------------------------------
 */

WAITS(pid_t, wait, (int *status), (status), WAIT_CHILD, 0, result < 0)

SHOWN int waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
    if (options & WNOHANG)
        return REAL(waitid)(type, id, info, options);
    WAIT_WHILE(WAIT_CHILD, id, REAL(waitid)(type, id, info, options), result < 0);
}

SHOWN pid_t wait3(int *status, int options, struct rusage *usage)
{
    if (options & WNOHANG)
        return REAL(wait3)(status, options, usage);
    WAIT_WHILE(WAIT_CHILD, 0, REAL(wait3)(status, options, usage), result < 0);
}

SHOWN pid_t wait4(pid_t process, int *status, int options, struct rusage *usage)
{
    if (options & WNOHANG)
        return REAL(wait4)(process, status, options, usage);
    WAIT_WHILE(WAIT_CHILD, process, REAL(wait4)(process, status, options, usage), result < 0);
}

SHOWN pid_t waitpid(pid_t process, int *status, int options)
{
    if (options & WNOHANG)
        return REAL(waitpid)(process, status, options);
    WAIT_WHILE(WAIT_CHILD, process, REAL(waitpid)(process, status, options), result < 0);
}

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

SHOWN int sigtimedwait(const sigset_t *restrict signals, siginfo_t *restrict info,
                       const struct timespec *restrict timeout)
{
    if (is_no_time(timeout))
        return REAL(sigtimedwait)(signals, info, timeout);
    WAIT_WHILE(WAIT_SIGNAL, 0, REAL(sigtimedwait)(signals, info, timeout), result < 0);
}

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
