/* SPDX-License-Identifier: Apache-2.0 */
#include "inject_folder.h"
#include "inject_say.h"

#include "held.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PAGE_BYTES 4096
#define NAME_BYTES_MAX 1024 /* of a kernel; longer ones are cut */

static char folder[PATH_MAX];
static struct held lines = {.fd = -1}; /* launches-PID.ndjson */
static atomic_uint launches;

/* Appends to a file of its own: a process that executes another program has it already. Who else
 * may write to the folder could have put another file, or a link, in its place. */
static int open_own(const char *path)
{
    const int flags = O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    struct stat file;
    int fd = open(path, flags, 0666);
    if (fd < 0 || (fstat(fd, &file) == 0 && S_ISREG(file.st_mode) && file.st_nlink == 1 &&
                   file.st_uid == geteuid()))
        return fd;
    close(fd);
    errno = EEXIST;
    return -1;
}

/* The descriptor is above those that a program closes and opens again by number. */
static int open_high(const char *path)
{
    int fd = open_own(path);
    int high = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 100) : -1;
    if (high >= 0)
        close(fd);
    return high >= 0 ? high : fd;
}

/* ---- lines ----------------------------------------------------------------------------- */

struct text {
    char *bytes;
    size_t used, room;
};

static void add(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(struct text *text, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int count = vsnprintf(text->bytes + text->used, text->room - text->used, format, list);
    va_end(list);
    text->used += count > 0 ? (size_t)count : 0;
    if (text->used >= text->room)
        text->used = text->room - 1;
}

/* A string of JSON; bytes that are no ASCII are told as Latin 1. */
static void add_string(struct text *text, const char *name, const char *value)
{
    add(text, "\"%s\":\"", name);
    for (size_t i = 0; value[i] && i < NAME_BYTES_MAX; i++) {
        unsigned char byte = (unsigned char)value[i];
        if (byte == '"' || byte == '\\')
            add(text, "\\%c", byte);
        else
            add(text, byte < ' ' || byte > '~' ? "\\u%04x" : "%c", byte);
    }
    add(text, "\",");
}

static void add_who(struct text *text, uint64_t hash, const char *kernel)
{
    char thread[32] = "";
    prctl(PR_GET_NAME, thread);
    add(text, "\"map\":\"%016" PRIx64 ".map.json\",", hash);
    add_string(text, "kernel", kernel);
    add(text, "\"pid\":%d,\"tid\":%ld,", (int)getpid(), syscall(SYS_gettid));
    add_string(text, "thread", thread);
}

static void add_launch(struct text *text, const struct inject_launch_line *line)
{
    add(text, "\"device\":%d,\"sms\":%d,\"clock_hz\":%d000,", line->device, line->sms,
        line->clock_khz);
    add_string(text, "device_name", line->device_name);
    add(text, "\"stream\":%" PRIu64 ",", line->stream);
    add(text, "\"grid\":[%u,%u,%u],\"block\":[%u,%u,%u],", line->grid[0], line->grid[1],
        line->grid[2], line->block[0], line->block[1], line->block[2]);
    add(text, "\"correlation\":%" PRIu32 ",", line->correlation);
    add(text, "\"launch_ns\":%" PRIu64 ",\"launched_ns\":%" PRIu64 ",\"done_ns\":%" PRIu64,
        line->launch_ns, line->launched_ns, line->done_ns);
    add(text, ",\"anchors\":[");
    for (int i = 0; i < line->anchor_count; i++)
        add(text, "%s{\"device_ns\":%" PRIu64 ",\"host_ns\":%" PRIu64 ",\"bound_ns\":%" PRIu64 "}",
            i ? "," : "", line->anchors[i].device_ns, line->anchors[i].host_ns,
            line->anchors[i].bound_ns);
    add(text, "],\"dropped\":%" PRIu64 ",\"start_ns\":%" PRIu64 ",\"stop_ns\":%" PRIu64 "}\n",
        line->dropped, line->start_ns, line->stop_ns);
}

static bool write_bytes(int fd, const void *bytes, size_t count)
{
    for (size_t done = 0; done < count;) {
        ssize_t wrote = write(fd, (const char *)bytes + done, count - done);
        if (wrote < 0 && errno != EINTR)
            return false;
        done += wrote > 0 ? (size_t)wrote : 0;
    }
    return true;
}

/* ---- beginning ------------------------------------------------------------------------- */

static void add_command(struct text *text)
{
    char command[NAME_BYTES_MAX] = "";
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t count = fd >= 0 ? read(fd, command, sizeof command - 1) : 0;
    for (ssize_t i = 0; i + 1 < count; i++)
        command[i] = command[i] ? command[i] : ' ';
    if (fd >= 0)
        close(fd);
    add_string(text, "command", command);
}

/* Both clocks at one instant, and who counts by them. */
static bool write_clock(void)
{
    char room[8 * NAME_BYTES_MAX], host[256] = "";
    struct text text = {room, 0, sizeof room};
    struct timespec steady, wall;
    gethostname(host, sizeof host - 1);
    add(&text, "{\"clock\":\"CLOCK_MONOTONIC\",\"pid\":%d,", (int)getpid());
    add_string(&text, "host", host);
    add_command(&text);
    add_string(&text, "title", program_invocation_short_name);
    clock_gettime(CLOCK_MONOTONIC, &steady);
    clock_gettime(CLOCK_REALTIME, &wall);
    add(&text, "\"monotonic_ns\":%lld%09ld,\"wall_ns\":%lld%09ld}\n", (long long)steady.tv_sec,
        steady.tv_nsec, (long long)wall.tv_sec, wall.tv_nsec);
    return write_bytes(held_fd(&lines), text.bytes, text.used);
}

bool inject_folder_open(const char *path)
{
    static char name[PATH_MAX];
    bool good = (mkdir(path, 0777) == 0 || errno == EEXIST) &&
                realpath(path, folder); /* the program may go elsewhere */
    if (good && snprintf(name, sizeof name, "%s/launches-%d.ndjson", folder, (int)getpid()) <
                    (int)sizeof name) {
        held_take(&lines, open_high(name));
        held_name(&lines, NULL, name, O_WRONLY | O_APPEND);
    }
    good = lines.fd >= 0 && write_clock();
    if (!good)
        inject_say("kernels are not recorded: %s: %s", path, strerror(errno));
    return good;
}

static bool fail(void)
{
    inject_say("%s: %s: launches are missing", folder, strerror(errno));
    return false;
}

/* ---- raw files ------------------------------------------------------------------------- */

static bool is_zero(const uint8_t *bytes, size_t count)
{
    return bytes[0] == 0 && memcmp(bytes, bytes + 1, count - 1) == 0;
}

static bool write_sparse(int fd, const uint8_t *bytes, size_t count)
{
    for (size_t at = 0, some; at < count; at += some) {
        some = count - at < PAGE_BYTES ? count - at : PAGE_BYTES;
        if (is_zero(bytes + at, some) ? lseek(fd, (off_t)some, SEEK_CUR) < 0
                                      : !write_bytes(fd, bytes + at, some))
            return false;
    }
    return ftruncate(fd, (off_t)count) == 0;
}

/* A new file by the next number that is free; its path. */
static int open_raw(char path[PATH_MAX], unsigned *number_out)
{
    int fd;
    do {
        *number_out = atomic_fetch_add(&launches, 1) + 1;
        if (snprintf(path, PATH_MAX, "%s/%d-%u.raw", folder, (int)getpid(), *number_out) >=
            PATH_MAX) {
            errno = ENAMETOOLONG;
            return -1;
        }
        fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0666);
    } while (fd < 0 && errno == EEXIST);
    return fd;
}

static bool write_raw(unsigned *number_out, const uint8_t *buffer, size_t bytes,
                      const uint8_t *tail, size_t tail_bytes)
{
    char path[PATH_MAX];
    int fd = open_raw(path, number_out);
    if (fd < 0)
        return false;
    bool good = write_sparse(fd, buffer, bytes) && lseek(fd, 0, SEEK_END) >= 0 &&
                write_bytes(fd, tail, tail_bytes);
    good = close(fd) == 0 && good;
    if (!good)
        unlink(path);
    return good;
}

bool inject_folder_launch(const struct inject_launch_line *line, const uint8_t *buffer,
                          size_t bytes, const uint8_t *tail, size_t tail_bytes)
{
    char room[8 * NAME_BYTES_MAX];
    struct text text = {room, 0, sizeof room};
    unsigned number;
    if (write_raw(&number, buffer, bytes, tail, tail_bytes)) {
        add(&text, "{\"raw\":\"%d-%u.raw\",", (int)getpid(), number);
        add_who(&text, line->hash, line->kernel);
        add_launch(&text, line);
        if (write_bytes(held_fd(&lines), text.bytes, text.used))
            return true;
    }
    return fail();
}

void inject_folder_skipped(uint64_t hash, const char *kernel, const char *why, uint64_t count)
{
    char room[8 * NAME_BYTES_MAX];
    struct text text = {room, 0, sizeof room};
    add(&text, "{\"skipped\":\"%s\",", why);
    add_who(&text, hash, kernel);
    if (count)
        add(&text, "\"count\":%" PRIu64 "}\n", count);
    else
        text.bytes[text.used - 1] = '}', add(&text, "\n");
    if (!write_bytes(held_fd(&lines), text.bytes, text.used))
        fail();
}
