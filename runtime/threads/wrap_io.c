/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that move data, and locks of files: waits where they took long. */
#undef _FILE_OFFSET_BITS /* pread is pread here, and pread64 another one */
#undef _FORTIFY_SOURCE
#include "libc_next.h"
#include "waiter.h"

#include <fcntl.h>
#include <stdarg.h>

#define MOVE(kind, fd, call)                                                                       \
    do {                                                                                           \
        struct wait wait WAIT_CLEANED;                                                             \
        wait_begin(&wait, kind, (uint64_t)(fd));                                                   \
        __typeof__(call) result = call;                                                            \
        wait_end(&wait, WAIT_WOKEN);                                                               \
        return result;                                                                             \
    } while (0)

SHOWN ssize_t read(int fd, void *to, size_t bytes)
{
    MOVE(WAIT_READ, fd, REAL(read)(fd, to, bytes));
}

SHOWN ssize_t readv(int fd, const struct iovec *parts, int count)
{
    MOVE(WAIT_READ, fd, REAL(readv)(fd, parts, count));
}

SHOWN ssize_t pread(int fd, void *to, size_t bytes, off_t at)
{
    MOVE(WAIT_READ, fd, REAL(pread)(fd, to, bytes, at));
}

SHOWN ssize_t pread64(int fd, void *to, size_t bytes, off64_t at)
{
    MOVE(WAIT_READ, fd, REAL(pread64)(fd, to, bytes, at));
}

SHOWN ssize_t recv(int fd, void *to, size_t bytes, int flags)
{
    MOVE(WAIT_READ, fd, REAL(recv)(fd, to, bytes, flags));
}

SHOWN ssize_t recvfrom(int fd, void *restrict to, size_t bytes, int flags,
                       struct sockaddr *restrict address, socklen_t *restrict address_bytes)
{
    MOVE(WAIT_READ, fd, REAL(recvfrom)(fd, to, bytes, flags, address, address_bytes));
}

SHOWN ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
    MOVE(WAIT_READ, fd, REAL(recvmsg)(fd, message, flags));
}

SHOWN int accept(int fd, struct sockaddr *restrict address, socklen_t *restrict address_bytes)
{
    MOVE(WAIT_ACCEPT, fd, REAL(accept)(fd, address, address_bytes));
}

SHOWN int accept4(int fd, struct sockaddr *restrict address, socklen_t *restrict address_bytes,
                  int flags)
{
    MOVE(WAIT_ACCEPT, fd, REAL(accept4)(fd, address, address_bytes, flags));
}

SHOWN int connect(int fd, const struct sockaddr *address, socklen_t address_bytes)
{
    MOVE(WAIT_CONNECT, fd, REAL(connect)(fd, address, address_bytes));
}

SHOWN ssize_t write(int fd, const void *from, size_t bytes)
{
    MOVE(WAIT_WRITE, fd, REAL(write)(fd, from, bytes));
}

SHOWN ssize_t writev(int fd, const struct iovec *parts, int count)
{
    MOVE(WAIT_WRITE, fd, REAL(writev)(fd, parts, count));
}

SHOWN ssize_t pwrite(int fd, const void *from, size_t bytes, off_t at)
{
    MOVE(WAIT_WRITE, fd, REAL(pwrite)(fd, from, bytes, at));
}

SHOWN ssize_t pwrite64(int fd, const void *from, size_t bytes, off64_t at)
{
    MOVE(WAIT_WRITE, fd, REAL(pwrite64)(fd, from, bytes, at));
}

SHOWN ssize_t send(int fd, const void *from, size_t bytes, int flags)
{
    MOVE(WAIT_WRITE, fd, REAL(send)(fd, from, bytes, flags));
}

SHOWN ssize_t sendto(int fd, const void *from, size_t bytes, int flags,
                     const struct sockaddr *address, socklen_t address_bytes)
{
    MOVE(WAIT_WRITE, fd, REAL(sendto)(fd, from, bytes, flags, address, address_bytes));
}

SHOWN ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    MOVE(WAIT_WRITE, fd, REAL(sendmsg)(fd, message, flags));
}

SHOWN int fsync(int fd)
{
    MOVE(WAIT_FSYNC, fd, REAL(fsync)(fd));
}

SHOWN int fdatasync(int fd)
{
    MOVE(WAIT_FSYNC, fd, REAL(fdatasync)(fd));
}

SHOWN int recvmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags,
                   struct timespec *timeout)
{
    MOVE(WAIT_READ, fd, REAL(recvmmsg)(fd, messages, count, flags, timeout));
}

SHOWN int sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags)
{
    MOVE(WAIT_WRITE, fd, REAL(sendmmsg)(fd, messages, count, flags));
}

SHOWN ssize_t splice(int from, off64_t *from_at, int to, off64_t *to_at, size_t bytes,
                     unsigned flags)
{
    MOVE(WAIT_READ, from, REAL(splice)(from, from_at, to, to_at, bytes, flags));
}

SHOWN ssize_t sendfile(int to, int from, off_t *at, size_t bytes)
{
    MOVE(WAIT_WRITE, to, REAL(sendfile)(to, from, at, bytes));
}

SHOWN ssize_t sendfile64(int to, int from, off64_t *at, size_t bytes)
{
    MOVE(WAIT_WRITE, to, REAL(sendfile64)(to, from, at, bytes));
}

SHOWN int aio_suspend(const struct aiocb *const requests[], int count,
                      const struct timespec *restrict timeout)
{
    MOVE(WAIT_READ, 0, REAL(aio_suspend)(requests, count, timeout));
}

SHOWN int aio_suspend64(const struct aiocb64 *const requests[], int count,
                        const struct timespec *restrict timeout)
{
    MOVE(WAIT_READ, 0, REAL(aio_suspend64)(requests, count, timeout));
}

/* ---- messages and semaphores between processes --------------------------------------------------
 */

SHOWN ssize_t mq_receive(mqd_t queue, char *to, size_t bytes, unsigned *priority)
{
    MOVE(WAIT_READ, queue, REAL(mq_receive)(queue, to, bytes, priority));
}

SHOWN ssize_t mq_timedreceive(mqd_t queue, char *restrict to, size_t bytes,
                              unsigned *restrict priority, const struct timespec *restrict until)
{
    MOVE(WAIT_READ, queue, REAL(mq_timedreceive)(queue, to, bytes, priority, until));
}

SHOWN int mq_send(mqd_t queue, const char *from, size_t bytes, unsigned priority)
{
    MOVE(WAIT_WRITE, queue, REAL(mq_send)(queue, from, bytes, priority));
}

SHOWN int mq_timedsend(mqd_t queue, const char *from, size_t bytes, unsigned priority,
                       const struct timespec *until)
{
    MOVE(WAIT_WRITE, queue, REAL(mq_timedsend)(queue, from, bytes, priority, until));
}

SHOWN ssize_t msgrcv(int queue, void *to, size_t bytes, long type, int flags)
{
    MOVE(WAIT_READ, queue, REAL(msgrcv)(queue, to, bytes, type, flags));
}

SHOWN int msgsnd(int queue, const void *from, size_t bytes, int flags)
{
    MOVE(WAIT_WRITE, queue, REAL(msgsnd)(queue, from, bytes, flags));
}

SHOWN int semop(int set, struct sembuf *operations, size_t count)
{
    MOVE(WAIT_SEMAPHORE_SET, set, REAL(semop)(set, operations, count));
}

SHOWN int semtimedop(int set, struct sembuf *operations, size_t count,
                     const struct timespec *timeout)
{
    MOVE(WAIT_SEMAPHORE_SET, set, REAL(semtimedop)(set, operations, count, timeout));
}

/* ---- locks of files -----------------------------------------------------------------------------
 */

SHOWN int flock(int fd, int operation)
{
    if (operation & (LOCK_NB | LOCK_UN))
        return REAL(flock)(fd, operation);
    MOVE(WAIT_FILE_LOCK, fd, REAL(flock)(fd, operation));
}

SHOWN int lockf(int fd, int command, off_t bytes)
{
    if (command != F_LOCK)
        return REAL(lockf)(fd, command, bytes);
    MOVE(WAIT_FILE_LOCK, fd, REAL(lockf)(fd, command, bytes));
}

SHOWN int lockf64(int fd, int command, off64_t bytes)
{
    if (command != F_LOCK)
        return REAL(lockf64)(fd, command, bytes);
    MOVE(WAIT_FILE_LOCK, fd, REAL(lockf64)(fd, command, bytes));
}

/* What else it does is nothing but a call. It has one more argument or none. */
#define FCNTL(name)                                                                                \
    SHOWN int name(int fd, int command, ...)                                                       \
    {                                                                                              \
        va_list list;                                                                              \
        va_start(list, command);                                                                   \
        void *argument = va_arg(list, void *);                                                     \
        va_end(list);                                                                              \
        if (command != F_SETLKW && command != F_SETLKW64 && command != F_OFD_SETLKW)               \
            return REAL(name)(fd, command, argument);                                              \
        MOVE(WAIT_FILE_LOCK, fd, REAL(name)(fd, command, argument));                               \
    }
FCNTL(fcntl)
#if __GLIBC_PREREQ(2, 28)
FCNTL(fcntl64)
#endif

/* ---- with checks --------------------------------------------------------------------------------
 */

SHOWN ssize_t __read_chk(int fd, void *to, size_t bytes, size_t room)
{
    MOVE(WAIT_READ, fd, REAL(__read_chk)(fd, to, bytes, room));
}

SHOWN ssize_t __pread_chk(int fd, void *to, size_t bytes, off_t at, size_t room)
{
    MOVE(WAIT_READ, fd, REAL(__pread_chk)(fd, to, bytes, at, room));
}

SHOWN ssize_t __pread64_chk(int fd, void *to, size_t bytes, off64_t at, size_t room)
{
    MOVE(WAIT_READ, fd, REAL(__pread64_chk)(fd, to, bytes, at, room));
}

SHOWN ssize_t __recv_chk(int fd, void *to, size_t bytes, size_t room, int flags)
{
    MOVE(WAIT_READ, fd, REAL(__recv_chk)(fd, to, bytes, room, flags));
}

SHOWN ssize_t __recvfrom_chk(int fd, void *to, size_t bytes, size_t room, int flags,
                             struct sockaddr *address, socklen_t *address_bytes)
{
    MOVE(WAIT_READ, fd, REAL(__recvfrom_chk)(fd, to, bytes, room, flags, address, address_bytes));
}
