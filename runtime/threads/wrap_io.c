/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that move data: waits where they took long. */
#undef _FILE_OFFSET_BITS /* pread is pread here, and pread64 another one */
#undef _FORTIFY_SOURCE
#include "real.h"
#include "waiter.h"

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
