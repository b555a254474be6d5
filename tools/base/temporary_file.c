/* SPDX-License-Identifier: Apache-2.0 */
/* Temporary files. A file system without O_TMPFILE gets a name that is removed at once. */
#include "temporary_file.h"
#include "grow.h"
#include "message.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int unlinked_file(const char *folder)
{
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
        return fd;
    char path[4096];
    int count = snprintf(path, sizeof path, "%s/rbwp-XXXXXX", folder);
    if (count < 0 || (size_t)count >= sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        unlink(path);
    return fd;
}

bool read_all_at(int fd, void *bytes, size_t count, uint64_t offset)
{
    for (size_t done = 0; done < count;) {
        ssize_t got = pread(fd, (char *)bytes + done, count - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got == 0)
            errno = 0;
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

/* How much is probably there. */
static size_t expected_bytes(int fd)
{
    struct stat status;
    const bool known = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0;
    return known && (uint64_t)status.st_size < SIZE_MAX / 4 ? (size_t)status.st_size : 64 << 10;
}

char *read_to_end(int fd, size_t bytes_max, size_t *count_out)
{
    size_t room = 0, count = 0, wanted = expected_bytes(fd);
    char *bytes = NULL;
    ssize_t got;
    do { /* there is room for two more: to see the end, and for the zero byte */
        if (!grow_array(&bytes, &room, (count > wanted ? count : wanted) + 2, 1)) {
            errno = ENOMEM;
            break;
        }
        got = read(fd, bytes + count, room - count - 1);
        count += got > 0 ? (size_t)got : 0;
        if (count > bytes_max) {
            errno = EFBIG;
            break;
        }
        if (got == 0) {
            bytes[count] = '\0';
            *count_out = count;
            return bytes;
        }
    } while (got > 0 || errno == EINTR);
    free(bytes);
    return NULL;
}

bool write_all(int fd, const char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t written = write(fd, bytes, count);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        bytes += written;
        count -= (size_t)written;
    }
    return true;
}

enum { COPY_BYTES = 256 << 10 };

/* Copies all of from into to. Returns NULL, or the side that failed, with errno set. */
static const char *copy_all(int from, int to, char *buffer)
{
    for (;;) {
        ssize_t count = read(from, buffer, COPY_BYTES);
        if (count == 0)
            return NULL;
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return "cannot be read";
        if (!write_all(to, buffer, (size_t)count))
            return "cannot be copied to a temporary file (set TMPDIR to a larger folder)";
    }
}

int temporary_file(void)
{
    const char *folder = getenv("TMPDIR");
    if (!folder || !*folder)
        folder = "/tmp";
    int fd = unlinked_file(folder);
    if (fd < 0)
        message("%s: cannot create a temporary file: %s", folder, strerror(errno));
    return fd;
}

int temporary_copy(int fd, const char *name)
{
    int copy = temporary_file();
    if (copy < 0)
        return -1;
    char *buffer = malloc(COPY_BYTES);
    const char *failed = NULL;
    if (!buffer)
        message("out of memory");
    else if ((failed = copy_all(fd, copy, buffer)) || lseek(copy, 0, SEEK_SET) != 0)
        message("%s: %s: %s", name, failed ? failed : "cannot be copied", strerror(errno));
    else {
        free(buffer);
        return copy;
    }
    free(buffer);
    close(copy);
    return -1;
}
