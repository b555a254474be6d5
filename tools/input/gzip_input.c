/* SPDX-License-Identifier: Apache-2.0 */
/* From unpack.h to a temporary file. */
#include "gzip_input.h"
#include "message.h"
#include "temporary_file.h"
#include "unpack.h"

#include <errno.h>
#include <unistd.h>

bool gzip_is(int fd)
{
    unsigned char head[2];
    return read_all_at(fd, head, sizeof head, 0) && head[0] == 0x1f && head[1] == 0x8b;
}

/* False with errno set. */
static bool write_unpacked(struct unpack *unpack, int to)
{
    while (unpack_fill(unpack))
        if (!write_all(to, (const char *)unpack->out, unpack->end))
            return false;
    return lseek(to, 0, SEEK_SET) == 0;
}

int gzip_unpack(int fd, const char *name, const char **problem_out)
{
    struct unpack unpack;
    int copy = temporary_file();
    if (copy < 0)
        return -1;
    if (!unpack_start(&unpack, fd)) {
        message("out of memory");
        close(copy);
        return -1;
    }
    bool written = write_unpacked(&unpack, copy);
    if (!written)
        message("%s: cannot be unpacked to a temporary file (set TMPDIR to a larger folder): %s",
                name, strerror(errno));
    *problem_out = unpack.problem;
    unpack_stop(&unpack);
    if (!written)
        close(copy);
    return written ? copy : -1;
}
