/* SPDX-License-Identifier: Apache-2.0 */
/* The folder is read anew for each few that are removed: there is seldom one. */
#include "leftovers.h"

#include "folder.h"
#include "live_memory.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define LIVE ".live"
#define TRIES 2000
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
static bool is_number(const char *text)
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
static void add(struct leftovers *found, int folder, const char *name, size_t prefix_bytes)
{
    char base[NAME_MAX + 1];
    struct stat file;
    size_t bytes = strlen(name);
    const bool is_live = bytes > sizeof LIVE && strcmp(name + bytes - strlen(LIVE), LIVE) == 0;
    snprintf(base, sizeof base, "%.*s", (int)(bytes - (is_live ? strlen(LIVE) : 0)), name);
    if (!is_number(base + prefix_bytes) || !is_ours(folder, name, &file))
        return;
    found->bytes += (uint64_t)file.st_blocks * BLOCK_BYTES;
    if (is_live && faccessat(folder, base, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        return;
    sort_in(found, base, &file.st_mtim);
    found->count++;
}

static void look(int folder, const char *prefix, struct leftovers *found)
{
    const int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = copy < 0 ? NULL : fdopendir(copy);
    const size_t bytes = strlen(prefix);
    for (struct dirent *entry; list && (entry = readdir(list)) != NULL;)
        if (strncmp(entry->d_name, prefix, bytes) == 0)
            add(found, folder, entry->d_name, bytes);
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
    for (bool good = true; good && removed < TRIES;) {
        struct leftovers found = {0};
        look(fd, prefix, &found);
        const unsigned wanted = too_many(fd, &found);
        good = wanted > 0;
        for (unsigned i = 0; good && i < wanted; i++, removed += good)
            good = remove_one(fd, found.oldest[i].name);
    }
    folder_close(&folder);
    return removed;
}
