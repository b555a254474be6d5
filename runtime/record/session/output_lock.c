/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names change hands between any two calls here: another process may start or
 * end a session of the same name, or move a leftover away. So each file is
 * opened, locked, and then looked at again under its name; when it is no longer
 * what stands there, all begins anew.
 *
 * A leftover's FILE is moved before its FILE.live: a process that dies in
 * between leaves FILE.live alone, which the next start brings to its FILE.
 */
#include "output_lock.h"

#include "failure.h"
#include "folder.h"
#include "job.h"
#include "live_layout.h"
#include "live_memory.h"
#include "test_point.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define TRIES 100
#define NAMES_TRIED 1000                      /* of one process id; output_lock.h has the bound */
#define NAME_ROOM (CLAIM_PATH_BYTES_MAX + 48) /* of FILE.KIND-PID.NUMBER */
#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#endif

/* Beyond the statuses of rbwp: something moved, try again. */
#define AGAIN RBWP_AGAIN

struct attempt {
    const struct output_lock_request *wish;
    struct output_lock *lock;
    struct rbwp_error *error;
    bool created; /* FILE was not there */
};

/* ---- names and locks -------------------------------------------------------------- */

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* True if this descriptor's file still stands under this name, which is not followed if a link. */
static bool output_lock_is_at(const char *path, int fd)
{
    char memory[LIVE_MEMORY_PATH_BYTES_MAX];
    struct stat named, opened;
    return lstat(live_memory_of(AT_FDCWD, path, memory, NULL) ? memory : path, &named) == 0 &&
           fstat(fd, &opened) == 0 && same_file(&named, &opened);
}

/* False with errno EWOULDBLOCK if somebody else has it. A tool that only looks has it for a moment.
 */
static bool output_lock_take(int fd)
{
    static const struct timespec moment = {0, 200 * 1000};
    for (int i = 0; i < TRIES / 10; i++) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
            return true;
        if (errno != EWOULDBLOCK)
            return true; /* no locks on this file system */
        nanosleep(&moment, NULL);
    }
    errno = EWOULDBLOCK;
    return false;
}

static bool output_lock_exists(const char *path)
{
    struct stat file;
    return lstat(path, &file) == 0;
}

/* Replaces nothing: false with EEXIST if there is such a file. */
static bool rename_new(const char *from, const char *to)
{
    if (syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
        return true;
    if (errno == EEXIST || errno == ENOENT)
        return false;
    /* A kernel, sandbox or file system without it. */
    if (link(from, to) == 0)
        return unlink(from) == 0;
    if (errno == EEXIST || errno == ENOENT)
        return false;
    if (output_lock_exists(to)) {
        errno = EEXIST;
        return false;
    }
    return rename(from, to) == 0; /* nor links: all that is left */
}

/* Standard output and its like are links; who opens them by these names means what they lead to. */
static bool is_descriptor_name(const char *path)
{
    static const char *const names[] = {"/dev/stdout", "/dev/stderr", "/dev/fd/", "/proc/self/fd/"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strncmp(path, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/* ---- a leftover ------------------------------------------------------------------- */

/* Little-endian, as numbers are in FILE. */
static uint64_t number_at(const uint8_t *bytes, unsigned count)
{
    uint64_t number = 0;
    while (count-- > 0)
        number = number << 8 | bytes[count];
    return number;
}

/* True if the file at fd, a FILE, is the one that the live file was written beside: its header
 * (SPEC.md, section 3) has the same node and zero time. */
static bool belongs(int fd, const struct live_head *live)
{
    uint8_t header[RBWP_FILE_HEADER_BYTES];
    return pread(fd, header, sizeof header, 0) == (ssize_t)sizeof header &&
           memcmp(header, RBWP_MAGIC, 4) == 0 && number_at(header + 8, 4) == live->node &&
           number_at(header + 12, 8) == (uint64_t)live->zero_time_ns;
}

static bool belongs_by_name(const char *path, const struct live_head *live)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    bool does = fd >= 0 && belongs(fd, live);
    if (fd >= 0)
        close(fd);
    return does;
}

/* A program that this process executed before it executed this one has not crashed. */
static const char *output_lock_kind_of(const struct live_head *live)
{
    const bool is_own = live->process_id == (uint64_t)getpid() &&
                        process_was_there(live->zero_time_ns, live->zero_time_ns - live->offset_ns);
    return is_own ? LEFTOVERS_EARLIER : LEFTOVERS_CRASHED;
}

/* Finds names that are free for both; for a live file whose FILE went before, those beside it. */
static bool find_names(const struct attempt *attempt, const struct live_head *live, bool with_file,
                       char file_to[NAME_ROOM], char live_to[NAME_ROOM + 5])
{
    const char *kind = output_lock_kind_of(live);
    for (unsigned i = 1; i <= NAMES_TRIED; i++) {
        char suffix[24] = "";
        if (i > 1)
            snprintf(suffix, sizeof suffix, ".%u", i);
        snprintf(file_to, NAME_ROOM, "%s%s%llu%s", attempt->wish->file, kind,
                 (unsigned long long)live->process_id, suffix);
        snprintf(live_to, NAME_ROOM + 5, "%s.live", file_to);
        if (!output_lock_exists(live_to) &&
            (!output_lock_exists(file_to) || (!with_file && belongs_by_name(file_to, live))))
            return true;
    }
    errno = EEXIST;
    return false;
}

/* AGAIN when it is done: FILE's name is free now, or FILE is not the leftover's. */
static enum rbwp_status move_leftover(struct attempt *attempt, const struct live_head *live)
{
    char file_to[NAME_ROOM], live_to[NAME_ROOM + 5];
    const char *file = attempt->wish->file;
    bool with_file = belongs(attempt->lock->file_fd, live), moved = true;
    attempt->lock->leftovers_removed += leftovers_trim(file, output_lock_kind_of(live));
    if (find_names(attempt, live, with_file, file_to, live_to)) {
        if (with_file)
            moved = rename_new(file, file_to);
        TEST_POINT("claim: FILE of a leftover moved, FILE.live not yet");
        if (moved && rename_new(attempt->lock->live_path, live_to))
            return AGAIN;
        int reason = errno;
        if (with_file && moved)
            (void)rename_new(file_to, file);
        errno = reason;
        if (reason == EEXIST || reason == ENOENT)
            return AGAIN; /* somebody else was faster */
    }
    return failure(attempt->error, RBWP_E_BUSY, errno,
                   "cannot move away \"%s\", which a process that died left; "
                   "repair or remove it",
                   attempt->lock->live_path);
}

static enum rbwp_status in_the_way(struct attempt *attempt)
{
    return failure(attempt->error, RBWP_E_BUSY, 0,
                   "\"%s\" is in the way, and no live file of this user; remove "
                   "it or name another log file",
                   attempt->lock->live_path);
}

static enum rbwp_status another_records(struct attempt *attempt)
{
    return failure(attempt->error, RBWP_E_BUSY, 0, "another process records to \"%s\"",
                   attempt->wish->file);
}

/* Of a FILE.live that was there: ours, locked by us. */
static enum rbwp_status clear_leftover(struct attempt *attempt, int fd)
{
    struct live_head head = {0};
    static const struct live_head none;
    struct stat file;
    ssize_t got = pread(fd, &head, sizeof head, 0);
    if (got < 0 || fstat(fd, &file) != 0 || !S_ISREG(file.st_mode) || file.st_uid != geteuid() ||
        file.st_nlink != 1)
        return in_the_way(attempt);
    if (!output_lock_take(fd))
        return another_records(attempt);
    if (!output_lock_is_at(attempt->lock->live_path, fd))
        return AGAIN;
    if (memcmp(head.magic, LIVE_MAGIC, sizeof head.magic) == 0)
        return move_leftover(attempt, &head);
    /* It died before it had written the head, and before it recorded anything. */
    if (memcmp(&head, &none, sizeof none) == 0 &&
        live_memory_remove(AT_FDCWD, attempt->lock->live_path) == 0)
        return AGAIN;
    return in_the_way(attempt);
}

/* The memory that FILE.live leads to is gone: the machine, or the container, was started anew.
 * FILE has records all the same, though no names. */
static enum rbwp_status move_without_live(struct attempt *attempt, uint64_t process_id)
{
    const struct live_head head = {.process_id = process_id};
    char file_to[NAME_ROOM], live_to[NAME_ROOM + 5];
    struct stat file;
    attempt->lock->leftovers_removed += leftovers_trim(attempt->wish->file, LEFTOVERS_CRASHED);
    if (fstat(attempt->lock->file_fd, &file) == 0 && file.st_size > 0 &&
        (!find_names(attempt, &head, true, file_to, live_to) ||
         !rename_new(attempt->wish->file, file_to)))
        return errno == ENOENT ? AGAIN : in_the_way(attempt);
    return unlink(attempt->lock->live_path) == 0 || errno == ENOENT ? AGAIN : in_the_way(attempt);
}

static enum rbwp_status look_for_leftover(struct attempt *attempt)
{
    const char *path = attempt->lock->live_path;
    char memory[LIVE_MEMORY_PATH_BYTES_MAX];
    uint64_t process_id;
    const bool in_memory = live_memory_of(AT_FDCWD, path, memory, &process_id);
    int fd =
        open(in_memory ? memory : path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 && in_memory && errno == ENOENT)
        return move_without_live(attempt, process_id);
    if (fd < 0)
        return errno == ENOENT || !output_lock_exists(path) ? RBWP_OK : in_the_way(attempt);
    enum rbwp_status status = clear_leftover(attempt, fd);
    close(fd);
    return status;
}

/* ---- both files ------------------------------------------------------------------- */

static int output_lock_open_file(struct attempt *attempt)
{
    const char *path = attempt->wish->file;
    bool follow = attempt->wish->follow || is_descriptor_name(path);
    int flags = O_RDWR | O_CLOEXEC | O_NOCTTY | (follow ? 0 : O_NOFOLLOW);
    int fd = open(path, flags);
    attempt->lock->file_flags = flags;
    attempt->created = false;
    if (fd >= 0 || errno != ENOENT)
        return fd;
    fd = open(path, flags | O_CREAT | (follow ? 0 : O_EXCL), 0666);
    attempt->created = fd >= 0 && !follow;
    return fd;
}

static enum rbwp_status cannot_open(struct attempt *attempt, int reason)
{
    const char *file = attempt->wish->file;
    if (reason == ELOOP && !attempt->wish->follow)
        return failure(attempt->error, RBWP_E_IO, 0,
                       "\"%s\" is a symbolic link; -bgworkprofile_follow 1 "
                       "records to what it leads to",
                       file);
    return failure(attempt->error, RBWP_E_IO, reason, "cannot open the profile \"%s\"", file);
}

/* Of a regular FILE: locked, still the one of this name, and ours to empty. */
static enum rbwp_status take_file(struct attempt *attempt, const struct stat *file)
{
    const char *path = attempt->wish->file;
    struct stat named, opened;
    if (!output_lock_take(attempt->lock->file_fd))
        return another_records(attempt);
    if (stat(path, &named) != 0 || fstat(attempt->lock->file_fd, &opened) != 0 ||
        !same_file(&named, &opened))
        return AGAIN;
    if (attempt->created)
        return RBWP_OK;
    if (file->st_uid != geteuid() && file->st_uid != 0)
        return failure(attempt->error, RBWP_E_IO, 0,
                       "\"%s\" belongs to another user; name another log file", path);
    if (opened.st_nlink > 1 && !attempt->wish->follow)
        return failure(attempt->error, RBWP_E_IO, 0,
                       "\"%s\" has another name (a hard link); "
                       "-bgworkprofile_follow 1 records to it",
                       path);
    return RBWP_OK;
}

/* Without room, permission or a folder for it there is none: the session goes on without. */
static enum rbwp_status make_live(struct attempt *attempt)
{
    struct output_lock *lock = attempt->lock;
    if (!attempt->wish->live)
        return RBWP_OK;
    lock->live_fd =
        attempt->wish->live_in_memory
            ? live_memory_make(lock->live_path)
            : open(lock->live_path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    lock->live_errno = lock->live_fd < 0 ? errno : 0;
    if (lock->live_fd < 0)
        return errno == EEXIST ? AGAIN : RBWP_OK;
    return output_lock_take(lock->live_fd) ? RBWP_OK : another_records(attempt);
}

static enum rbwp_status try_to_claim(struct attempt *attempt)
{
    struct output_lock *lock = attempt->lock;
    struct stat file;
    lock->file_fd = output_lock_open_file(attempt);
    if (lock->file_fd < 0)
        return errno == EEXIST ? AGAIN : cannot_open(attempt, errno);
    if (fstat(lock->file_fd, &file) != 0)
        return cannot_open(attempt, errno);
    if (!S_ISREG(file.st_mode) && lseek(lock->file_fd, 0, SEEK_CUR) < 0)
        return failure(attempt->error, RBWP_E_IO, 0,
                       "\"%s\" is a pipe or a terminal: a profile is no stream, name a file",
                       attempt->wish->file);
    if (!S_ISREG(file.st_mode))
        return RBWP_OK; /* a device: nobody's, and never a live file beside it */
    enum rbwp_status status = take_file(attempt, &file);
    if (status == RBWP_OK && !is_descriptor_name(attempt->wish->file)) {
        status = look_for_leftover(attempt);
        if (status == RBWP_OK)
            status = make_live(attempt);
    }
    if (status == RBWP_OK && ftruncate(lock->file_fd, 0) != 0)
        status = cannot_open(attempt, errno);
    return status;
}

static void claim_let_go(struct attempt *attempt)
{
    struct output_lock *lock = attempt->lock;
    if (lock->live_fd >= 0) {
        if (output_lock_is_at(lock->live_path, lock->live_fd))
            live_memory_remove(AT_FDCWD, lock->live_path);
        close(lock->live_fd);
    }
    if (lock->file_fd >= 0) {
        if (attempt->created && output_lock_is_at(attempt->wish->file, lock->file_fd))
            unlink(attempt->wish->file);
        close(lock->file_fd);
    }
    lock->live_fd = lock->file_fd = -1;
}

enum rbwp_status output_lock_files(const struct output_lock_request *wish,
                                   struct output_lock *output_lock_out, struct rbwp_error *error)
{
    struct attempt attempt = {.wish = wish, .lock = output_lock_out, .error = error};
    enum rbwp_status status = AGAIN;
    output_lock_out->file_fd = output_lock_out->live_fd = -1;
    output_lock_out->live_errno = 0;
    output_lock_out->leftovers_removed = 0;
    if ((size_t)snprintf(output_lock_out->live_path, sizeof output_lock_out->live_path, "%s.live",
                         wish->file) >= sizeof output_lock_out->live_path)
        return cannot_open(&attempt, ENAMETOOLONG);
    for (int i = 0; i < TRIES && status == AGAIN; i++) {
        status = try_to_claim(&attempt);
        if (status != RBWP_OK)
            claim_let_go(&attempt);
    }
    return status == AGAIN ? in_the_way(&attempt) : status;
}

/* ---- what dead processes left ---------------------------------------------------------------- */

/* The folder is read anew for each few that are removed: there is seldom one. */

#define LIVE ".live"
#define REMOVED_MAX 2000
#define OLDEST_MAX 64u   /* that one look finds */
#define BLOCK_BYTES 512u /* of st_blocks */

struct leftover {
    struct timespec time;
    char name[NAME_MAX + 1]; /* without .live */
};

struct leftovers {
    unsigned count;
    uint64_t bytes;
    struct leftover oldest[OLDEST_MAX]; /* the oldest first */
};

/* "17" or "17.2". */
static bool claim_is_number(const char *text)
{
    const size_t digits = strspn(text, "0123456789");
    text += digits;
    return digits > 0 &&
           (!*text || (*text == '.' && text[1] && !text[1 + strspn(text + 1, "0123456789")]));
}

/* Of this user, and a plain file or such a link as FILE.live may be. */
static bool is_ours(int folder, const char *name, struct stat *file_out)
{
    char memory[LIVE_MEMORY_PATH_BYTES_MAX];
    if (fstatat(folder, name, file_out, AT_SYMLINK_NOFOLLOW) != 0 || file_out->st_uid != geteuid())
        return false;
    if (!live_memory_of(folder, name, memory, NULL))
        return S_ISREG(file_out->st_mode);
    struct stat link = *file_out;
    if (lstat(memory, file_out) != 0) /* where the memory is gone, the link counts */
        *file_out = link;
    return true;
}

static bool is_older(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec != b->tv_sec ? a->tv_sec < b->tv_sec : a->tv_nsec < b->tv_nsec;
}

static void sort_in(struct leftovers *found, const char *name, const struct timespec *time)
{
    unsigned place = found->count < OLDEST_MAX ? found->count : OLDEST_MAX;
    while (place > 0 && is_older(time, &found->oldest[place - 1].time)) {
        if (place < OLDEST_MAX)
            found->oldest[place] = found->oldest[place - 1];
        place--;
    }
    if (place == OLDEST_MAX)
        return;
    found->oldest[place].time = *time;
    strcpy(found->oldest[place].name, name);
}

/* Each file counts its bytes, and FILE the leftover, or FILE.live where that is alone. */
static void claim_add(struct leftovers *found, int folder, const char *name, size_t prefix_bytes)
{
    char base[NAME_MAX + 1];
    struct stat file;
    size_t bytes = strlen(name);
    const bool is_live = bytes > sizeof LIVE && strcmp(name + bytes - strlen(LIVE), LIVE) == 0;
    snprintf(base, sizeof base, "%.*s", (int)(bytes - (is_live ? strlen(LIVE) : 0)), name);
    if (!claim_is_number(base + prefix_bytes) || !is_ours(folder, name, &file))
        return;
    found->bytes += (uint64_t)file.st_blocks * BLOCK_BYTES;
    if (is_live && faccessat(folder, base, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        return;
    sort_in(found, base, &file.st_mtim);
    found->count++;
}

static void claim_look(int folder, const char *prefix, struct leftovers *found)
{
    const int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = copy < 0 ? NULL : fdopendir(copy);
    const size_t bytes = strlen(prefix);
    for (struct dirent *entry; list && (entry = readdir(list)) != NULL;)
        if (strncmp(entry->d_name, prefix, bytes) == 0)
            claim_add(found, folder, entry->d_name, bytes);
    if (list)
        closedir(list);
    else if (copy >= 0)
        close(copy);
}

static bool remove_one(int folder, const char *name)
{
    char live[NAME_MAX + sizeof LIVE];
    struct stat file;
    snprintf(live, sizeof live, "%s" LIVE, name);
    bool removed = is_ours(folder, live, &file) && live_memory_remove(folder, live) == 0;
    removed |= is_ours(folder, name, &file) && unlinkat(folder, name, 0) == 0;
    return removed;
}

/* How many are to go, of those that one look finds. */
static unsigned too_many(int folder, const struct leftovers *found)
{
    struct statvfs disk;
    if (found->count >= LEFTOVERS_MAX)
        return found->count - LEFTOVERS_MAX < OLDEST_MAX ? found->count - LEFTOVERS_MAX + 1
                                                         : OLDEST_MAX;
    return found->count > 0 && fstatvfs(folder, &disk) == 0 &&
           found->bytes > (uint64_t)disk.f_bavail * disk.f_frsize;
}

unsigned leftovers_trim(const char *file, const char *kind)
{
    char prefix[NAME_MAX + 1];
    struct folder folder = {.held = HELD_NONE};
    if (snprintf(prefix, sizeof prefix, "%s%s", folder_name(file), kind) >= (int)sizeof prefix ||
        !folder_open(&folder, file))
        return 0;
    unsigned removed = 0;
    const int fd = held_fd(&folder.held);
    for (bool good = true; good && removed < REMOVED_MAX;) {
        struct leftovers found = {0};
        claim_look(fd, prefix, &found);
        const unsigned wanted = too_many(fd, &found);
        good = wanted > 0;
        for (unsigned i = 0; good && i < wanted; i++, removed += good)
            good = remove_one(fd, found.oldest[i].name);
    }
    folder_close(&folder);
    return removed;
}
