/* SPDX-License-Identifier: Apache-2.0 */
/*
 * faults.c - a shared object that plays a disk in trouble (LD_PRELOAD).
 *
 * FAULT_ERRNO  ENOSPC, EIO or EINTR: what calls that write to a profile answer
 * FAULT_AFTER  how many of them succeed first
 * FAULT_COUNT  how many fail then; without it all do
 * FAULT_SHORT  1: writes after FAULT_AFTER take only half of what they are given
 * FAULT_STALL_MS  each such write takes so long first
 * FAULT_HANG   the name of a file: as long as there is one, the disk stands still
 *
 * Only files whose name contains ".bin" are touched. ftruncate and close always work.
 */
#include "wrapped.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static _Atomic long calls;

static long number(const char *name, long otherwise)
{
    const char *text = getenv(name);
    return text ? atol(text) : otherwise;
}

static int is_profile(int fd)
{
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    path[n > 0 ? n : 0] = 0;
    return strstr(path, ".bin") != NULL;
}

/* 0: go on; else the errno to fail with. */
static int trouble(int fd)
{
    const char *name = getenv("FAULT_ERRNO");
    if (!is_profile(fd))
        return 0;
    const char *hang = getenv("FAULT_HANG");
    while (hang && access(hang, F_OK) == 0)
        usleep(1000);
    if (number("FAULT_STALL_MS", 0))
        usleep((useconds_t)(1000 * number("FAULT_STALL_MS", 0)));
    long n = atomic_fetch_add(&calls, 1), after = number("FAULT_AFTER", 0);
    if (!name || n < after || n - after >= number("FAULT_COUNT", LONG_MAX))
        return 0;
    return strcmp(name, "EIO") == 0 ? EIO : strcmp(name, "EINTR") == 0 ? EINTR : ENOSPC;
}

#define REAL(call) ((__typeof__(&call))dlsym(RTLD_NEXT, NAMED_(call)))

#pragma GCC visibility push(default)

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset)
{
    int reason = trouble(fd);
    if (reason) {
        errno = reason;
        return -1;
    }
    if (number("FAULT_SHORT", 0) && is_profile(fd) && count > 1)
        count /= 2;
    return REAL(pwrite)(fd, bytes, count, offset);
}

int fallocate(int fd, int mode, off_t offset, off_t bytes)
{
    int reason = trouble(fd);
    if (reason) {
        errno = reason;
        return -1;
    }
    return REAL(fallocate)(fd, mode, offset, bytes);
}

#pragma GCC visibility pop
