/* SPDX-License-Identifier: Apache-2.0 */
/* The folder is everybody's to write to (and sticky): names end in chance, files are made anew. */
#include "live_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/vfs.h>
#include <unistd.h>

/* The same for all files of this user. */
static size_t begin_path(char path[LIVE_MEMORY_PATH_BYTES_MAX])
{
    return (size_t)snprintf(path, LIVE_MEMORY_PATH_BYTES_MAX, LIVE_MEMORY_PREFIX "%lu-",
                            (unsigned long)geteuid());
}

static bool is_memory(int fd)
{
    struct statfs system;
    if (fstatfs(fd, &system) != 0)
        return false;
    errno = EOPNOTSUPP;
    return system.f_type == TMPFS_MAGIC;
}

int live_memory_make(const char *live_path)
{
    char path[LIVE_MEMORY_PATH_BYTES_MAX];
    uint64_t chance;
    const size_t begin = begin_path(path);
    if (getrandom(&chance, sizeof chance, GRND_NONBLOCK) != (ssize_t)sizeof chance)
        return -1;
    snprintf(path + begin, sizeof path - begin, "%ld-%016llx", (long)getpid(),
             (unsigned long long)chance);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return -1;
    if (is_memory(fd) && flock(fd, LOCK_EX | LOCK_NB) == 0 && symlink(path, live_path) == 0)
        return fd;
    const int reason = errno;
    unlink(path);
    close(fd);
    errno = reason;
    return -1;
}

bool live_memory_of(int folder, const char *live, char path_out[LIVE_MEMORY_PATH_BYTES_MAX],
                    uint64_t *process_out)
{
    char wanted[LIVE_MEMORY_PATH_BYTES_MAX];
    const size_t begin = begin_path(wanted);
    const ssize_t bytes = readlinkat(folder, live, path_out, LIVE_MEMORY_PATH_BYTES_MAX);
    if (bytes <= (ssize_t)begin || bytes == LIVE_MEMORY_PATH_BYTES_MAX ||
        memcmp(path_out, wanted, begin) != 0 ||
        memchr(path_out + begin, '/', (size_t)bytes - begin))
        return false;
    path_out[bytes] = '\0';
    if (process_out)
        *process_out = strtoull(path_out + begin, NULL, 10);
    return true;
}

/* The link first: one that leads nowhere means that the memory is gone which FILE still needs. */
int live_memory_remove(int folder, const char *live)
{
    char path[LIVE_MEMORY_PATH_BYTES_MAX];
    const bool in_memory = live_memory_of(folder, live, path, NULL);
    if (unlinkat(folder, live, 0) != 0)
        return -1;
    if (in_memory)
        unlink(path);
    return 0;
}
