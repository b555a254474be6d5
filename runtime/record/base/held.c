/* SPDX-License-Identifier: Apache-2.0 */
#include "held.h"

#include "record_extend.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define AGAIN_FROM 256 /* what is opened again has numbers from here on */

static int least_descriptor;

void rbwp_extend_keep_descriptors_above(int least)
{
    least_descriptor = least;
}

/* Under another number, if it has a lower one and the process may have so many. */
static int move_above(int fd, int least)
{
    int moved = fd >= 0 && fd < least ? fcntl(fd, F_DUPFD_CLOEXEC, least) : -1;
    if (moved < 0)
        return fd;
    close(fd);
    return moved;
}

static bool is_file(const struct held *held, const struct stat *file)
{
    return file->st_dev == held->device && file->st_ino == held->inode;
}

static bool leads_to(const struct held *held, int fd)
{
    struct stat file;
    return fd >= 0 && fstat(fd, &file) == 0 && is_file(held, &file);
}

void held_take(struct held *held, int fd)
{
    struct stat file;
    *held = HELD_NONE;
    fd = move_above(fd, least_descriptor);
    if (fd < 0 || fstat(fd, &file) != 0)
        return;
    held->device = file.st_dev;
    held->inode = file.st_ino;
    atomic_store(&held->fd, fd);
}

void held_name(struct held *held, struct held *folder, const char *name, int flags)
{
    held->folder = folder;
    held->name = name;
    held->flags = flags;
}

bool held_is_ours(const struct held *held)
{
    return leads_to(held, atomic_load(&held->fd));
}

static int again_from(void)
{
    return least_descriptor > AGAIN_FROM ? least_descriptor : AGAIN_FROM;
}

static int open_again(const struct held *held)
{
    struct stat file;
    int fd;
    do { /* again if the program closes it, or the folder, meanwhile */
        int folder = held->folder ? held_fd(held->folder) : AT_FDCWD;
        if (folder == -1)
            return -1;
        fd = openat(folder, held->name, held->flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    } while (fd < 0 ? errno == EBADF : fstat(fd, &file) != 0);
    if (fd >= 0 && !is_file(held, &file)) {
        close(fd);
        errno = ESTALE;
        return -1;
    }
    return move_above(fd, again_from());
}

int held_fd(struct held *held)
{
    int host_errno = errno, fd = atomic_load(&held->fd);
    if (leads_to(held, fd))
        return fd;
    errno = EBADF;
    int again = held->name && fd >= 0 ? open_again(held) : -1;
    if (again < 0)
        return -1;
    errno = host_errno;
    if (atomic_compare_exchange_strong(&held->fd, &fd, again))
        return again;
    close(again); /* another thread was faster */
    return leads_to(held, fd) ? fd : -1;
}

bool held_again(struct held *held)
{
    return errno == EBADF && held_fd(held) >= 0;
}

int held_duplicate(struct held *held)
{
    int copy;
    do {
        int fd = held_fd(held);
        copy = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, again_from());
        if (copy < 0 && fd >= 0)
            copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    } while (copy < 0 && held_again(held));
    return copy;
}

bool held_close(struct held *held)
{
    int fd = atomic_exchange(&held->fd, -1);
    return !leads_to(held, fd) || close(fd) == 0 || errno == EINTR;
}

bool held_is_at(const struct held *held, int folder, const char *name)
{
    struct stat file;
    return fstatat(folder, name, &file, AT_SYMLINK_NOFOLLOW) == 0 && is_file(held, &file);
}
