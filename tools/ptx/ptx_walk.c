/* SPDX-License-Identifier: Apache-2.0 */
/* Files of launches are read in order of their names, each line as it comes; a map is read again
 * when another one is named. */
#include "ptx_walk.h"
#include "message.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- what is in it ----------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_launches(const char *name)
{
    static const char begin[] = "launches-", end[] = ".ndjson";
    size_t count = strlen(name);
    return count > sizeof begin + sizeof end - 2 && strncmp(name, begin, sizeof begin - 1) == 0 &&
           strcmp(name + count - (sizeof end - 1), end) == 0;
}

static bool ptx_walk_join(char path[PATH_MAX], const char *folder, const char *name)
{
    int count = snprintf(path, PATH_MAX, "%s/%s", folder, name);
    return count >= 0 && count < PATH_MAX;
}

bool ptx_walk_begin(struct ptx_walk *walk)
{
    DIR *directory = opendir(walk->path);
    if (!directory) {
        message_plain("%s: %s", walk->path, strerror(errno));
        return false;
    }
    bool good = true;
    for (struct dirent *entry; good && (entry = readdir(directory));) {
        if (!is_launches(entry->d_name))
            continue;
        char *copy = strdup(entry->d_name);
        good = copy && ptx_items_grow(&walk->files, walk->count, &walk->room, sizeof *walk->files);
        if (good)
            walk->files[walk->count++] = copy;
        else
            free(copy);
    }
    closedir(directory);
    if (!good)
        message("out of memory");
    else if (walk->count == 0)
        message_plain("%s: no launches-*.ndjson is in it: nothing was recorded", walk->path);
    if (walk->count > 1)
        qsort(walk->files, walk->count, sizeof *walk->files, by_name);
    return good && walk->count > 0;
}

void ptx_walk_end(struct ptx_walk *walk)
{
    for (uint32_t i = 0; i < walk->count; i++)
        free(walk->files[i]);
    free(walk->files);
    ptx_map_free(&walk->map);
}

/* The path of a plain file of the folder. False with the message given. */
static bool find_file(const struct ptx_walk *walk, const char *name, char path[PATH_MAX])
{
    struct stat status;
    if (!ptx_plain_name(name) || !ptx_walk_join(path, walk->path, name)) {
        message_plain("%s: a launch names '%s', which is no file of this folder", walk->path, name);
        return false;
    }
    if (stat(path, &status) == 0 && S_ISREG(status.st_mode))
        return true;
    message_plain("%s: %s", path, access(path, F_OK) == 0 ? "no plain file" : strerror(errno));
    return false;
}

/* ---- launches ---------------------------------------------------------------------------- */

static bool find_map(struct ptx_walk *walk, const char *name)
{
    char path[PATH_MAX];
    if (*walk->map_name && strcmp(walk->map_name, name) == 0)
        return true;
    ptx_map_free(&walk->map);
    *walk->map_name = '\0';
    if (!find_file(walk, name, path) || !ptx_map_read(&walk->map, path))
        return false;
    snprintf(walk->map_name, sizeof walk->map_name, "%s", name);
    return true;
}

static bool find_matrix(struct ptx_walk *walk, const struct ptx_launch *launch,
                        struct ptx_matrix *matrix)
{
    char path[PATH_MAX];
    *matrix = (struct ptx_matrix){0};
    if (!find_map(walk, launch->map) || !find_file(walk, launch->raw, path))
        return false;
    if (walk->map.mode != PTX_MODE_CONFIG)
        return ptx_matrix_read_raw(matrix, &walk->map, path);
    message_plain("%s: mode config records nothing, its buffer is seven numbers", path);
    return false;
}

static bool ptx_walk_take_launch(void *context, const struct ptx_launch *launch)
{
    struct ptx_walk *walk = context;
    struct ptx_matrix matrix;
    if (*launch->skipped) {
        if (walk->skipped)
            walk->skipped(walk->context, launch);
        return true;
    }
    if (launch->launch_ns == 0 || launch->done_ns < launch->launch_ns) {
        message_plain("%s: %s: a launch that ended before it began, or without times", walk->path,
                      *launch->raw ? launch->raw : launch->kernel);
        walk->refused = true;
        return true;
    }
    bool read = find_matrix(walk, launch, &matrix);
    walk->refused |= !read;
    bool good =
        walk->launch(walk->context, launch, read ? &walk->map : NULL, read ? &matrix : NULL);
    ptx_matrix_free(&matrix);
    return good;
}

static void ptx_walk_on_process(void *context, const struct ptx_process *process)
{
    struct ptx_walk *walk = context;
    if (walk->process)
        walk->process(walk->context, process);
}

void ptx_walk_launches(struct ptx_walk *walk)
{
    const struct ptx_launches to = {walk, ptx_walk_on_process, ptx_walk_take_launch};
    char path[PATH_MAX];
    for (uint32_t i = 0; i < walk->count; i++)
        if (!find_file(walk, walk->files[i], path) || !ptx_launches_read(path, &to))
            walk->refused = true;
}
