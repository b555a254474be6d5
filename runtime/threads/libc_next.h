/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libc_next.h - the functions that stand behind those of this room.
 *
 * REAL(read) is the one that the program would have called without us. They are looked up when the
 * library is loaded; constructors of other libraries may come earlier, so each is looked up again
 * where it is missing.
 */
#ifndef LIBC_NEXT_H
#define LIBC_NEXT_H

#include <aio.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

/* What longjmp is in programs that check its use. */
_Noreturn void __longjmp_chk(struct __jmp_buf_tag place[1], int value);

/* What the others are in programs that are compiled with checks of their buffers. */
ssize_t __read_chk(int fd, void *to, size_t bytes, size_t room);
ssize_t __pread_chk(int fd, void *to, size_t bytes, off_t at, size_t room);
ssize_t __pread64_chk(int fd, void *to, size_t bytes, off64_t at, size_t room);
ssize_t __recv_chk(int fd, void *to, size_t bytes, size_t room, int flags);
ssize_t __recvfrom_chk(int fd, void *to, size_t bytes, size_t room, int flags,
                       struct sockaddr *address, socklen_t *address_bytes);
int __poll_chk(struct pollfd *files, nfds_t count, int timeout_ms, size_t room);
int __ppoll_chk(struct pollfd *files, nfds_t count, const struct timespec *timeout,
                const sigset_t *signals, size_t room);

/* Nothing else is seen from outside of the library. hot, they and what they call: a message between
 * threads takes a hundredth less CPU time by that (bench_threads). */
#define SHOWN __attribute__((visibility("default"), hot))

/* clang-format off */
#if __GLIBC_PREREQ(2, 31)
#define REAL_CLOCK_NAMES(X) \
    X(pthread_mutex_clocklock) X(pthread_rwlock_clockrdlock) X(pthread_rwlock_clockwrlock) \
    X(sem_clockwait) X(pthread_clockjoin_np)
#else
#define REAL_CLOCK_NAMES(X)
#endif
#if __GLIBC_PREREQ(2, 28)
#define REAL_C11_NAMES(X) \
    X(fcntl64) X(mtx_lock) X(mtx_timedlock) X(mtx_trylock) X(mtx_unlock) X(cnd_wait) \
    X(cnd_timedwait) X(cnd_signal) X(cnd_broadcast) X(thrd_sleep)
#else
#define REAL_C11_NAMES(X)
#endif
#if __GLIBC_PREREQ(2, 35)
#define REAL_2_35_NAMES(X) X(epoll_pwait2)
#else
#define REAL_2_35_NAMES(X)
#endif

#define REAL_NAMES(X) \
    X(pthread_mutex_lock) X(pthread_mutex_trylock) X(pthread_mutex_timedlock) \
    X(pthread_mutex_unlock) X(pthread_rwlock_rdlock) X(pthread_rwlock_tryrdlock) \
    X(pthread_rwlock_timedrdlock) X(pthread_rwlock_wrlock) X(pthread_rwlock_trywrlock) \
    X(pthread_rwlock_timedwrlock) X(pthread_rwlock_unlock) X(pthread_barrier_wait) X(sem_wait) \
    X(sem_trywait) X(sem_timedwait) X(sem_post) X(pthread_create) X(pthread_join) \
    X(pthread_tryjoin_np) X(pthread_timedjoin_np) X(pthread_setname_np) X(prctl) X(sleep) \
    X(usleep) X(nanosleep) X(clock_nanosleep) X(poll) X(ppoll) X(select) X(pselect) \
    X(epoll_wait) X(epoll_pwait) X(wait) X(waitpid) X(waitid) X(wait3) X(wait4) X(read) X(readv) \
    X(pread) X(pread64) X(recv) X(recvfrom) X(recvmsg) X(accept) X(accept4) X(connect) X(write) \
    X(writev) X(pwrite) X(pwrite64) X(send) X(sendto) X(sendmsg) X(fsync) X(fdatasync) \
    X(recvmmsg) X(sendmmsg) X(splice) X(sendfile) X(sendfile64) X(mq_receive) X(mq_timedreceive) \
    X(mq_send) X(mq_timedsend) X(msgrcv) X(msgsnd) X(semop) X(semtimedop) X(aio_suspend) \
    X(aio_suspend64) X(flock) X(fcntl) X(lockf) X(lockf64) X(pause) X(sigsuspend) X(sigwait) \
    X(sigwaitinfo) X(sigtimedwait) X(system) X(pclose) X(__read_chk) X(__pread_chk) \
    X(__pread64_chk) X(__recv_chk) X(__recvfrom_chk) X(__poll_chk) X(__ppoll_chk) X(syscall) \
    X(longjmp) X(_longjmp) X(siglongjmp) X(__longjmp_chk) REAL_C11_NAMES(X) REAL_CLOCK_NAMES(X) \
    REAL_2_35_NAMES(X)
/* clang-format on */

enum libc_next_name {
#define REAL_NUMBER(name) REAL_##name,
    REAL_NAMES(REAL_NUMBER)
#undef REAL_NUMBER
        REAL_COUNT
};
extern void *libc_next_functions[REAL_COUNT];

/* Looks all of them up. */
void real_prepare(void);
void *libc_next_find(enum libc_next_name number);
/* Of one of several versions; NULL: there is none. */
void *libc_next_find_version(const char *name, const char *version);

static inline void *libc_next_of(enum libc_next_name number)
{
    void *found = __atomic_load_n(&libc_next_functions[number], __ATOMIC_RELAXED);
    return __builtin_expect(found != NULL, 1) ? found : libc_next_find(number);
}
#define REAL(name) ((__typeof__(&name))libc_next_of(REAL_##name))

#endif /* LIBC_NEXT_H */
