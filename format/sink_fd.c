/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sink_fd.c - the ready-made sink: write(2) and pwrite(2) over a descriptor.
 *
 * Short writes and EINTR are gone on with. errno is left as the system set it.
 */
#include "rbwp_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static enum rbwp_status write_all(void *context, const void *bytes, size_t count)
{
    int fd = *(const int *)context;
    const char *next = bytes;
    while (count) {
        ssize_t written = write(fd, next, count);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return RBWP_E_IO;
        next += written;
        count -= (size_t)written;
    }
    return RBWP_OK;
}

static enum rbwp_status patch_all(void *context, uint64_t offset, const void *bytes, size_t count)
{
    int fd = *(const int *)context;
    const char *next = bytes;
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0)
        return RBWP_E_IO;
    if (flags & O_APPEND) { /* pwrite would append, whatever the offset */
        errno = EINVAL;
        return RBWP_E_UNSUPPORTED;
    }
    while (count) {
        ssize_t written = pwrite(fd, next, count, (off_t)offset);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return RBWP_E_IO;
        next += written;
        offset += (uint64_t)written;
        count -= (size_t)written;
    }
    return RBWP_OK;
}

struct rbwp_sink rbwp_sink_fd(int *fd)
{
    return (struct rbwp_sink){.context = fd, .write = write_all, .patch = patch_all};
}
