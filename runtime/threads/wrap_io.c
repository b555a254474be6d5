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

/* A function that does nothing else. A call that may not wait is nothing but a call. */
#define MOVES_UNLESS(never, type, name, parameters, arguments, kind, fd)                           \
    SHOWN type name parameters                                                                     \
    {                                                                                              \
        if (never)                                                                                 \
            return REAL(name) arguments;                                                           \
        MOVE(kind, fd, REAL(name) arguments);                                                      \
    }
#define MOVES(...) MOVES_UNLESS(false, __VA_ARGS__)

MOVES(ssize_t, read, (int fd, void *to, size_t bytes), (fd, to, bytes), WAIT_READ, fd)
MOVES(ssize_t, readv, (int fd, const struct iovec *parts, int count), (fd, parts, count), WAIT_READ,
      fd)
MOVES(ssize_t, pread, (int fd, void *to, size_t bytes, off_t at), (fd, to, bytes, at), WAIT_READ,
      fd)
MOVES(ssize_t, pread64, (int fd, void *to, size_t bytes, off64_t at), (fd, to, bytes, at),
      WAIT_READ, fd)
MOVES(ssize_t, recv, (int fd, void *to, size_t bytes, int flags), (fd, to, bytes, flags), WAIT_READ,
      fd)
MOVES(ssize_t, recvfrom,
      (int fd, void *restrict to, size_t bytes, int flags, struct sockaddr *restrict address,
       socklen_t *restrict address_bytes),
      (fd, to, bytes, flags, address, address_bytes), WAIT_READ, fd)
MOVES(ssize_t, recvmsg, (int fd, struct msghdr *message, int flags), (fd, message, flags),
      WAIT_READ, fd)
MOVES(int, accept, (int fd, struct sockaddr *restrict address, socklen_t *restrict address_bytes),
      (fd, address, address_bytes), WAIT_ACCEPT, fd)
MOVES(int, accept4,
      (int fd, struct sockaddr *restrict address, socklen_t *restrict address_bytes, int flags),
      (fd, address, address_bytes, flags), WAIT_ACCEPT, fd)
MOVES(int, connect, (int fd, const struct sockaddr *address, socklen_t address_bytes),
      (fd, address, address_bytes), WAIT_CONNECT, fd)
MOVES(ssize_t, write, (int fd, const void *from, size_t bytes), (fd, from, bytes), WAIT_WRITE, fd)
MOVES(ssize_t, writev, (int fd, const struct iovec *parts, int count), (fd, parts, count),
      WAIT_WRITE, fd)
MOVES(ssize_t, pwrite, (int fd, const void *from, size_t bytes, off_t at), (fd, from, bytes, at),
      WAIT_WRITE, fd)
MOVES(ssize_t, pwrite64, (int fd, const void *from, size_t bytes, off64_t at),
      (fd, from, bytes, at), WAIT_WRITE, fd)
MOVES(ssize_t, send, (int fd, const void *from, size_t bytes, int flags), (fd, from, bytes, flags),
      WAIT_WRITE, fd)
MOVES(ssize_t, sendto,
      (int fd, const void *from, size_t bytes, int flags, const struct sockaddr *address,
       socklen_t address_bytes),
      (fd, from, bytes, flags, address, address_bytes), WAIT_WRITE, fd)
MOVES(ssize_t, sendmsg, (int fd, const struct msghdr *message, int flags), (fd, message, flags),
      WAIT_WRITE, fd)
MOVES(int, fsync, (int fd), (fd), WAIT_FSYNC, fd)
MOVES(int, fdatasync, (int fd), (fd), WAIT_FSYNC, fd)
MOVES(int, recvmmsg,
      (int fd, struct mmsghdr *messages, unsigned count, int flags, struct timespec *timeout),
      (fd, messages, count, flags, timeout), WAIT_READ, fd)
MOVES(int, sendmmsg, (int fd, struct mmsghdr *messages, unsigned count, int flags),
      (fd, messages, count, flags), WAIT_WRITE, fd)
MOVES(ssize_t, splice,
      (int from, off64_t *from_at, int to, off64_t *to_at, size_t bytes, unsigned flags),
      (from, from_at, to, to_at, bytes, flags), WAIT_READ, from)
MOVES(ssize_t, sendfile, (int to, int from, off_t *at, size_t bytes), (to, from, at, bytes),
      WAIT_WRITE, to)
MOVES(ssize_t, sendfile64, (int to, int from, off64_t *at, size_t bytes), (to, from, at, bytes),
      WAIT_WRITE, to)
MOVES(int, aio_suspend,
      (const struct aiocb *const requests[], int count, const struct timespec *restrict timeout),
      (requests, count, timeout), WAIT_READ, 0)
MOVES(int, aio_suspend64,
      (const struct aiocb64 *const requests[], int count, const struct timespec *restrict timeout),
      (requests, count, timeout), WAIT_READ, 0)

/* ---- messages and semaphores between processes --------------------------------------------------
 */

MOVES(ssize_t, mq_receive, (mqd_t queue, char *to, size_t bytes, unsigned *priority),
      (queue, to, bytes, priority), WAIT_READ, queue)
MOVES(ssize_t, mq_timedreceive,
      (mqd_t queue, char *restrict to, size_t bytes, unsigned *restrict priority,
       const struct timespec *restrict until),
      (queue, to, bytes, priority, until), WAIT_READ, queue)
MOVES(int, mq_send, (mqd_t queue, const char *from, size_t bytes, unsigned priority),
      (queue, from, bytes, priority), WAIT_WRITE, queue)
MOVES(int, mq_timedsend,
      (mqd_t queue, const char *from, size_t bytes, unsigned priority,
       const struct timespec *until),
      (queue, from, bytes, priority, until), WAIT_WRITE, queue)
MOVES(ssize_t, msgrcv, (int queue, void *to, size_t bytes, long type, int flags),
      (queue, to, bytes, type, flags), WAIT_READ, queue)
MOVES(int, msgsnd, (int queue, const void *from, size_t bytes, int flags),
      (queue, from, bytes, flags), WAIT_WRITE, queue)
MOVES(int, semop, (int set, struct sembuf *operations, size_t count), (set, operations, count),
      WAIT_SEMAPHORE_SET, set)
MOVES(int, semtimedop,
      (int set, struct sembuf *operations, size_t count, const struct timespec *timeout),
      (set, operations, count, timeout), WAIT_SEMAPHORE_SET, set)

/* ---- locks of files -----------------------------------------------------------------------------
 */

MOVES_UNLESS((operation & (LOCK_NB | LOCK_UN)) != 0, int, flock, (int fd, int operation),
             (fd, operation), WAIT_FILE_LOCK, fd)
MOVES_UNLESS(command != F_LOCK, int, lockf, (int fd, int command, off_t bytes),
             (fd, command, bytes), WAIT_FILE_LOCK, fd)
MOVES_UNLESS(command != F_LOCK, int, lockf64, (int fd, int command, off64_t bytes),
             (fd, command, bytes), WAIT_FILE_LOCK, fd)

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

MOVES(ssize_t, __read_chk, (int fd, void *to, size_t bytes, size_t room), (fd, to, bytes, room),
      WAIT_READ, fd)
MOVES(ssize_t, __pread_chk, (int fd, void *to, size_t bytes, off_t at, size_t room),
      (fd, to, bytes, at, room), WAIT_READ, fd)
MOVES(ssize_t, __pread64_chk, (int fd, void *to, size_t bytes, off64_t at, size_t room),
      (fd, to, bytes, at, room), WAIT_READ, fd)
MOVES(ssize_t, __recv_chk, (int fd, void *to, size_t bytes, size_t room, int flags),
      (fd, to, bytes, room, flags), WAIT_READ, fd)
MOVES(ssize_t, __recvfrom_chk,
      (int fd, void *to, size_t bytes, size_t room, int flags, struct sockaddr *address,
       socklen_t *address_bytes),
      (fd, to, bytes, room, flags, address, address_bytes), WAIT_READ, fd)
