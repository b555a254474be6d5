/* SPDX-License-Identifier: Apache-2.0 */
#include "output.h"

#include "clock.h"
#include "in_process.h"
#include "test_point.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define RESERVE_BYTES (256u << 10) /* for tables and trailer */
/* At a time: a share of what there is, between these. */
#define ALLOCATE_BYTES_MIN (64u << 10)
#define ALLOCATE_BYTES_MAX (8u << 20)
#define ALLOCATE_SHARE 4u

/* A mapping holds what a descriptor holds: the lock, and the inode, whose number no other file gets
 * meanwhile. A forked child does not inherit it. */
static void pin(struct output *output)
{
    void *at = mmap(NULL, 1, PROT_NONE, MAP_SHARED, atomic_load(&output->file.fd), 0);
    if (at == MAP_FAILED)
        return;
    output->pin = at;
    (void)madvise(at, 1, MADV_DONTFORK);
}

void output_open(struct output *output, int fd)
{
    struct stat status;
    *output = (struct output){.file = HELD_NONE};
    held_take(&output->file, fd);
    output->is_regular =
        fstat(atomic_load(&output->file.fd), &status) == 0 && S_ISREG(status.st_mode);
    if (output->is_regular)
        pin(output);
    struct rlimit limit;
    output->limit_bytes = UINT64_MAX;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        output->limit_bytes = limit.rlim_cur;
}

/* Before each use: the descriptor may be the program's by now. */
static int ours(struct output *output)
{
    int fd = held_fd(&output->file);
    output->was_closed |= fd < 0;
    return fd;
}

static bool output_cut(struct output *output)
{
    int result;
    do
        result = ftruncate(ours(output), (off_t)output->size_bytes);
    while (result != 0 && held_again(&output->file));
    return result == 0;
}

static bool sync_now(struct output *output)
{
    int result;
    do
        result = fdatasync(ours(output));
    while (result != 0 && held_again(&output->file));
    return result == 0;
}

static bool extend(struct output *output, uint64_t target)
{
    uint64_t from = output->allocated_bytes;
    int result;
    do
        result = fallocate(ours(output), FALLOC_FL_KEEP_SIZE, (off_t)from, (off_t)(target - from));
    while (result != 0 && held_again(&output->file));
    if (result == 0)
        output->allocated_bytes = target;
    return result == 0;
}

static uint64_t ahead_of(uint64_t size_bytes)
{
    uint64_t bytes = size_bytes / ALLOCATE_SHARE;
    return bytes < ALLOCATE_BYTES_MIN   ? ALLOCATE_BYTES_MIN
           : bytes > ALLOCATE_BYTES_MAX ? ALLOCATE_BYTES_MAX
                                        : bytes;
}

/* Makes sure that count more bytes leave the reserve untouched. */
static bool output_allocate(struct output *output, size_t count)
{
    uint64_t needed = output->size_bytes + count + RESERVE_BYTES;
    if (output->ending)
        return true;
    if (needed > output->limit_bytes) {
        errno = EFBIG;
        return false;
    }
    if (output->no_allocate || needed <= output->allocated_bytes)
        return true;
    uint64_t ahead = needed + ahead_of(output->size_bytes);
    if (ahead > output->limit_bytes)
        ahead = output->limit_bytes;
    if (extend(output, ahead) || (errno == ENOSPC && extend(output, needed)))
        return true;
    if (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)
        return false;
    output->no_allocate = true; /* EOPNOTSUPP and the like: do without */
    return true;
}

static ssize_t write_quietly(struct output *output, const void *bytes, size_t count,
                             uint64_t offset)
{
    struct size_signal signal;
    ssize_t n;
    size_signal_hold(&signal);
    do
        n = pwrite(ours(output), bytes, count, (off_t)offset);
    while (n < 0 && held_again(&output->file));
    size_signal_release(&signal);
    return n;
}

/* Against a power cut: what was written long enough ago is on the disk. A failure shows in close.
 */
static void sync_now_and_then(struct output *output)
{
    if (output->sync_interval_ns == 0)
        return;
    int64_t now_ns = clock_now_ns(0);
    if (now_ns - output->synced_ns < output->sync_interval_ns)
        return;
    (void)sync_now(output);
    output->synced_ns = now_ns;
}

/* Keeps a copy of the file's header. */
static void note_header(struct output *output, uint64_t offset, const void *bytes, size_t count)
{
    size_t room = offset < sizeof output->header ? sizeof output->header - (size_t)offset : 0;
    memcpy(output->header + (room ? offset : 0), bytes, count < room ? count : room);
}

/*
 * Where the file was cut and written to again, zeros stand before what was written last. Without a
 * header nothing of a file that somebody emptied could be read, so that is put back.
 */
static void look_for_a_cut(struct output *output)
{
    uint8_t found = 0;
    if (!output->mark || pread(ours(output), &found, 1, (off_t)output->mark_offset) < 0 ||
        found == output->mark)
        return;
    output->was_cut = true;
    (void)write_quietly(output, output->header, sizeof output->header, 0);
}

static void note_mark(struct output *output, uint64_t offset, const char *bytes, size_t count)
{
    while (count > 0 && bytes[count - 1] == 0)
        count--;
    if (!output->is_regular || count == 0 || offset + count <= output->mark_offset)
        return;
    output->mark = (uint8_t)bytes[count - 1];
    output->mark_offset = offset + count - 1;
}

static enum rbwp_status write_all(struct output *output, const void *bytes, size_t count)
{
    const char *next = bytes;
    TEST_POINT("output: before a write");
    if (!output_allocate(output, count))
        return RBWP_E_IO;
    note_header(output, output->size_bytes, bytes, count);
    for (size_t left = count; left > 0;) {
        ssize_t n = write_quietly(output, next, left, output->size_bytes + (count - left));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            int reason = n == 0 ? ENOSPC : errno;
            if (!output_cut(output))
                output->no_allocate = true; /* the bytes stay, behind what counts */
            output->allocated_bytes = 0;
            errno = reason;
            return RBWP_E_IO;
        }
        next += n;
        left -= (size_t)n;
    }
    look_for_a_cut(output);
    note_mark(output, output->size_bytes, bytes, count);
    output->size_bytes += count;
    sync_now_and_then(output);
    return RBWP_OK;
}

static enum rbwp_status patch_all(struct output *output, uint64_t offset, const void *bytes,
                                  size_t count)
{
    const char *next = bytes;
    note_header(output, offset, bytes, count);
    if (offset <= output->mark_offset && offset + count > output->mark_offset)
        output->mark = (uint8_t)next[output->mark_offset - offset]; /* 0: there is none any more */
    while (count > 0) {
        ssize_t n = write_quietly(output, next, count, offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return RBWP_E_IO;
        next += n;
        offset += (uint64_t)n;
        count -= (size_t)n;
    }
    return RBWP_OK;
}

static enum rbwp_status sink_write(void *context, const void *bytes, size_t count)
{
    disk_call_begin();
    enum rbwp_status status = write_all(context, bytes, count);
    disk_call_end();
    return status;
}

static enum rbwp_status sink_patch(void *context, uint64_t offset, const void *bytes, size_t count)
{
    disk_call_begin();
    enum rbwp_status status = patch_all(context, offset, bytes, count);
    disk_call_end();
    return status;
}

struct rbwp_sink output_sink(struct output *output)
{
    return (struct rbwp_sink){output, sink_write, sink_patch};
}

enum rbwp_status output_close(struct output *output)
{
    disk_call_begin();
    struct stat status;
    output->was_removed = fstat(ours(output), &status) == 0 && status.st_nlink == 0;
    /* EINVAL: not a regular file, nothing was allocated */
    bool good = output_cut(output) || errno == EINVAL;
    look_for_a_cut(output); /* now: to one that was cut just before, this has added zeros */
    if (output->sync_interval_ns && !sync_now(output))
        good = false;
    good = held_close(&output->file) && good;
    if (output->pin)
        munmap(output->pin, 1);
    output->pin = NULL;
    disk_call_end();
    return good ? RBWP_OK : RBWP_E_IO;
}
