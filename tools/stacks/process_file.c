/* SPDX-License-Identifier: Apache-2.0 */
/* A process that records has FILE.live in its memory, so the kernel's list of what is mapped names
 * it, or what it is a link to: then FILE is among the descriptors. */
#include "live_memory.h"
#include "message.h"
#include "stacks.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Takes the suffix off a path. False: it has another one, or is no more than that. */
static bool process_file_cut(char *path, size_t *bytes, const char *suffix)
{
    size_t less = strlen(suffix);
    if (*bytes <= less || memcmp(path + *bytes - less, suffix, less) != 0)
        return false;
    *bytes -= less;
    path[*bytes] = '\0';
    return true;
}

/* True if the descriptor is a file whose FILE.live is a link to that memory. */
static bool is_file_of(const char *descriptor, const char *memory, char file_out[PATH_MAX])
{
    char live[PATH_MAX + 8], leads_to[LIVE_MEMORY_PATH_BYTES_MAX];
    ssize_t bytes = readlink(descriptor, file_out, PATH_MAX - 1);
    if (bytes < 0)
        return false;
    file_out[bytes] = '\0';
    snprintf(live, sizeof live, "%s.live", file_out);
    bytes = readlink(live, leads_to, sizeof leads_to);
    return bytes == (ssize_t)strlen(memory) && memcmp(leads_to, memory, (size_t)bytes) == 0;
}

static char *file_of_memory(const char *pid, const char *memory)
{
    char path[PATH_MAX], file[PATH_MAX];
    snprintf(path, sizeof path, "/proc/%s/fd", pid);
    DIR *folder = opendir(path);
    bool found = false;
    for (struct dirent *entry; folder && !found && (entry = readdir(folder)) != NULL;) {
        snprintf(path, sizeof path, "/proc/%s/fd/%s", pid, entry->d_name);
        found = is_file_of(path, memory, file);
    }
    if (folder)
        closedir(folder);
    return found ? strdup(file) : NULL;
}

/* FILE of a line that ends in the path of FILE.live, or of its memory; NULL: it does not. */
static char *file_of_line(const char *pid, char *line, bool *removed_out)
{
    char *path = strchr(line, '/');
    size_t bytes = path ? strcspn(path, "\n") : 0;
    *removed_out = path && process_file_cut(path, &bytes, " (deleted)");
    if (path && strncmp(path, LIVE_MEMORY_PREFIX, strlen(LIVE_MEMORY_PREFIX)) == 0) {
        path[bytes] = '\0';
        return file_of_memory(pid, path);
    }
    return path && process_file_cut(path, &bytes, ".live") ? strdup(path) : NULL;
}

/* What a process has mapped is what it says: another user's may lead to what is never read to its
 * end. */
static bool is_readable(const char *pid, const char *file, bool removed)
{
    struct stat status;
    if (removed)
        message("process %s records to \"%s\", which somebody removed: nothing of it can be read",
                pid, file);
    else if (stat(file, &status) == 0 && !S_ISREG(status.st_mode))
        message("process %s says that it records to \"%s\", which is no regular file", pid, file);
    else
        return true;
    return false;
}

bool stacks_is_pid(const char *word)
{
    return word[0] && word[strspn(word, "0123456789")] == '\0' && access(word, F_OK) != 0;
}

char *stacks_file_of(const char *pid)
{
    char maps[64], *line = NULL, *file = NULL;
    size_t room = 0;
    bool removed = false;
    snprintf(maps, sizeof maps, "/proc/%s/maps", pid);
    FILE *list = fopen(maps, "re");
    if (!list) {
        message(errno == ENOENT ? "%s: no such file, and no such process"
                                : "process %s may not be looked at: run as its user",
                pid);
        return NULL;
    }
    while (!file && getline(&line, &room, list) > 0)
        file = file_of_line(pid, line, &removed);
    if (!file)
        message(ferror(list) ? "process %s may not be looked at: run as its user"
                             : "process %s records nothing now (-bgworkprofile 1 in RBWP_FLAGS "
                               "starts it)",
                pid);
    else if (!is_readable(pid, file, removed)) {
        free(file);
        file = NULL;
    }
    free(line);
    fclose(list);
    return file;
}
