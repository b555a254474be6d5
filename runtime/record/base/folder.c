/* SPDX-License-Identifier: Apache-2.0 */
#include "folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_ROOM (2 * PATH_MAX)

const char *folder_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The folder's part of a path, as the process can use it now. False: too long. */
static bool folder_part(const char *path, char part_out[PATH_MAX])
{
    size_t bytes = (size_t)(folder_name(path) - path);
    if (bytes >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return false;
    }
    memcpy(part_out, path, bytes);
    memcpy(part_out + bytes, bytes ? "" : ".", bytes ? 1 : 2);
    return true;
}

/* NULL, if nobody knows where the process is. */
static char *from_root(const char *part)
{
    char here[PATH_MAX], path[PATH_ROOM];
    if (part[0] == '/')
        return strdup(part);
    if (!getcwd(here, sizeof here) || here[0] != '/')
        return NULL;
    snprintf(path, sizeof path, "%s/%s", here, part);
    return strdup(path);
}

bool folder_open(struct folder *folder, const char *path)
{
    char part[PATH_MAX];
    const int flags = O_PATH | O_DIRECTORY; /* to read it is not needed, and may not be allowed */
    *folder = (struct folder){.held = HELD_NONE};
    if (!folder_part(path, part))
        return false;
    const int fd = open(part, flags | O_CLOEXEC);
    if (fd < 0)
        return false;
    held_take(&folder->held, fd);
    folder->path = from_root(part);
    held_name(&folder->held, NULL, folder->path, flags);
    return true;
}

void folder_close(struct folder *folder)
{
    held_close(&folder->held);
    free(folder->path);
    folder->path = NULL;
}

struct place folder_place(struct folder *folder, const char *file, const char *path)
{
    size_t bytes = (size_t)(folder_name(file) - file);
    if ((size_t)(folder_name(path) - path) != bytes || memcmp(file, path, bytes) != 0)
        return (struct place){AT_FDCWD, path};
    return (struct place){held_fd(&folder->held), path + bytes};
}

void folder_path_now(struct folder *folder, const char *path, char *path_out, size_t room)
{
    char part[PATH_MAX], link[32];
    int fd = held_fd(&folder->held);
    bool is_there = folder_part(path, part) && held_is_at(&folder->held, AT_FDCWD, part);
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t bytes = is_there || fd < 0 ? -1 : readlink(link, part, sizeof part - 1);
    if (bytes < 0) {
        snprintf(path_out, room, "%s", path);
        return;
    }
    part[bytes] = '\0';
    snprintf(path_out, room, "%s/%s", part, folder_name(path));
}

/* ---- the files that a recording is cut into ---- */

bool folder_part_path(const char *with_0, const char *with_1, uint32_t part, char *path_out,
                      size_t room)
{
    size_t used = 0;
    int length = 0;
    bool any = false;
    for (size_t i = 0; with_0[i] && used < room; i++) {
        bool number = with_0[i] != with_1[i];
        length = number ? snprintf(path_out + used, room - used, "%u", part)
                        : snprintf(path_out + used, room - used, "%c", with_0[i]);
        any |= number;
        used += (size_t)length;
    }
    if (!any && used < room)
        used += (size_t)snprintf(path_out + used, room - used, ".part-%u", part);
    return used < room;
}

/* Of a file's name; 0: it is no part's. */
static uint32_t part_number(const char *with_0, const char *with_1, const char *name)
{
    char path[PATH_ROOM];
    size_t same = 0;
    while (with_0[same] && with_0[same] == with_1[same])
        same++;
    if (!with_0[same])
        same += strlen(".part-");
    unsigned long number = strlen(name) > same ? strtoul(name + same, NULL, 10) : 0;
    return number < UINT32_MAX &&
                   folder_part_path(with_0, with_1, (uint32_t)number, path, sizeof path) &&
                   strcmp(path, name) == 0
               ? (uint32_t)number
               : 0;
}

uint32_t folder_first_part(struct folder *folder, const char *with_0, const char *with_1)
{
    uint32_t most = 0;
    const struct place here = folder_place(folder, with_0, with_1);
    struct held held = HELD_NONE;
    if (here.folder >= 0) /* else the parts are each in another one */
        held_take(&held, openat(here.folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    DIR *listing = held.fd < 0 ? NULL : fdopendir(held.fd);
    for (struct dirent *entry; listing && (entry = readdir(listing));) {
        uint32_t number = part_number(folder_name(with_0), here.name, entry->d_name);
        most = number > most ? number : most;
    }
    if (listing && held_is_ours(&held))
        closedir(listing); /* what the program has closed meanwhile costs a little memory */
    else
        held_close(&held);
    return most + 1;
}
