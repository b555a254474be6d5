/* SPDX-License-Identifier: Apache-2.0 */
/* Files of launches are read in order of their names, each line as it comes; a map is read again
 * when another one is named. */
#include "ptx_folder.h"
#include "message.h"
#include "ptx_instrument.h"
#include "ptx_launches.h"
#include "ptx_json.h"
#include "ptx_rows.h"
#include "ptx_sanitize.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct folder {
    const char *path;
    char **files; /* of launches */
    uint32_t count, room;
    bool refused; /* something was */
    struct ptx_map map;
    char map_name[PTX_FILE_NAME]; /* of map; empty: none is read */
    void *context;
    /* map and matrix NULL: the buffer was refused. False: stop. */
    bool (*launch)(void *context, const struct ptx_launch *launch, const struct ptx_map *map,
                   const struct ptx_matrix *matrix);
    void (*skipped)(void *context, const struct ptx_launch *launch);
    void (*process)(void *context, const struct ptx_process *process);
};

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

static bool join(char path[PATH_MAX], const char *folder, const char *name)
{
    int count = snprintf(path, PATH_MAX, "%s/%s", folder, name);
    return count >= 0 && count < PATH_MAX;
}

static bool list_files(struct folder *folder)
{
    DIR *directory = opendir(folder->path);
    if (!directory) {
        message_plain("%s: %s", folder->path, strerror(errno));
        return false;
    }
    bool good = true;
    for (struct dirent *entry; good && (entry = readdir(directory));) {
        if (!is_launches(entry->d_name))
            continue;
        char *copy = strdup(entry->d_name);
        good = copy &&
               ptx_items_grow(&folder->files, folder->count, &folder->room, sizeof *folder->files);
        if (good)
            folder->files[folder->count++] = copy;
        else
            free(copy);
    }
    closedir(directory);
    if (!good)
        message("out of memory");
    else if (folder->count == 0)
        message_plain("%s: no launches-*.ndjson is in it: nothing was recorded", folder->path);
    if (folder->count > 1)
        qsort(folder->files, folder->count, sizeof *folder->files, by_name);
    return good && folder->count > 0;
}

static void folder_free(struct folder *folder)
{
    for (uint32_t i = 0; i < folder->count; i++)
        free(folder->files[i]);
    free(folder->files);
    ptx_map_free(&folder->map);
}

/* The path of a plain file of the folder. False with the message given. */
static bool find_file(const struct folder *folder, const char *name, char path[PATH_MAX])
{
    struct stat status;
    if (!ptx_plain_name(name) || !join(path, folder->path, name)) {
        message_plain("%s: a launch names '%s', which is no file of this folder", folder->path,
                      name);
        return false;
    }
    if (stat(path, &status) == 0 && S_ISREG(status.st_mode))
        return true;
    message_plain("%s: %s", path, access(path, F_OK) == 0 ? "no plain file" : strerror(errno));
    return false;
}

/* ---- launches ---------------------------------------------------------------------------- */

static bool find_map(struct folder *folder, const char *name)
{
    char path[PATH_MAX];
    if (*folder->map_name && strcmp(folder->map_name, name) == 0)
        return true;
    ptx_map_free(&folder->map);
    *folder->map_name = '\0';
    if (!find_file(folder, name, path) || !ptx_map_read(&folder->map, path))
        return false;
    snprintf(folder->map_name, sizeof folder->map_name, "%s", name);
    return true;
}

static bool find_matrix(struct folder *folder, const struct ptx_launch *launch,
                        struct ptx_matrix *matrix)
{
    char path[PATH_MAX];
    *matrix = (struct ptx_matrix){0};
    if (!find_map(folder, launch->map) || !find_file(folder, launch->raw, path))
        return false;
    if (folder->map.mode != PTX_MODE_CONFIG)
        return ptx_matrix_read_raw(matrix, &folder->map, path);
    message_plain("%s: mode config records nothing, its buffer is seven numbers", path);
    return false;
}

static bool take_launch(void *context, const struct ptx_launch *launch)
{
    struct folder *folder = context;
    struct ptx_matrix matrix;
    if (*launch->skipped) {
        folder->skipped(folder->context, launch);
        return true;
    }
    if (launch->launch_ns == 0 || launch->done_ns < launch->launch_ns) {
        message_plain("%s: %s: a launch that ended before it began, or without times", folder->path,
                      *launch->raw ? launch->raw : launch->kernel);
        folder->refused = true;
        return true;
    }
    bool read = find_matrix(folder, launch, &matrix);
    folder->refused |= !read;
    bool good =
        folder->launch(folder->context, launch, read ? &folder->map : NULL, read ? &matrix : NULL);
    ptx_matrix_free(&matrix);
    return good;
}

static void take_process(void *context, const struct ptx_process *process)
{
    struct folder *folder = context;
    folder->process(folder->context, process);
}

static void read_launches(struct folder *folder)
{
    const struct ptx_launches to = {folder, take_process, take_launch};
    char path[PATH_MAX];
    for (uint32_t i = 0; i < folder->count; i++)
        if (!find_file(folder, folder->files[i], path) || !ptx_launches_read(path, &to))
            folder->refused = true;
}

/* ---- a profile --------------------------------------------------------------------------- */

struct writing {
    struct ptx_rows rows;
    struct ptx_process process;
    bool good;
    struct ptx_folder_told *told;
};

/* The clocks of this machine, which is the same one where nothing else is said. */
static int64_t shift_now(void)
{
    struct timespec wall, steady;
    clock_gettime(CLOCK_REALTIME, &wall);
    clock_gettime(CLOCK_MONOTONIC, &steady);
    return (wall.tv_sec - steady.tv_sec) * INT64_C(1000000000) + wall.tv_nsec - steady.tv_nsec;
}

static void see_process(void *context, const struct ptx_process *process)
{
    struct writing *writing = context;
    writing->process = *process;
    if (process->wall_ns)
        writing->rows.shift_ns = process->wall_ns - process->monotonic_ns;
}

static bool write_launch(void *context, const struct ptx_launch *launch, const struct ptx_map *map,
                         const struct ptx_matrix *matrix)
{
    struct writing *writing = context;
    writing->told->launches++;
    writing->told->refused += !matrix;
    if (matrix)
        writing->told->dropped += matrix->dropped;
    writing->good = ptx_rows_add(&writing->rows, launch, map, matrix);
    return writing->good;
}

static void count_skipped(void *context, const struct ptx_launch *launch)
{
    struct writing *writing = context;
    uint64_t *skipped = &writing->told->skipped;
    if (__builtin_add_overflow(*skipped, launch->count ? launch->count : 1, skipped))
        *skipped = UINT64_MAX;
}

static bool write_profile(struct folder *folder, int fd, const char *name,
                          struct ptx_folder_told *told)
{
    struct writing writing = {.told = told};
    folder->context = &writing;
    folder->launch = write_launch;
    folder->skipped = count_skipped;
    folder->process = see_process;
    writing.good = ptx_rows_begin(&writing.rows, fd, name, told);
    writing.rows.shift_ns = shift_now();
    if (writing.good)
        read_launches(folder);
    writing.good = ptx_rows_end(&writing.rows, &writing.process, writing.good);
    if (writing.good && told->launches == 0)
        message_plain("%s: no launch is in it", folder->path);
    return writing.good && told->launches > 0;
}

static bool write_file(struct folder *folder, const struct out_options *output,
                       struct ptx_folder_told *told)
{
    int fd = open(output->path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) {
        message("%s: cannot be created: %s", output->path, strerror(errno));
        return false;
    }
    bool good = write_profile(folder, fd, output->path, told);
    if (close(fd) != 0) {
        message("%s: cannot be written: %s", output->path, strerror(errno));
        good = false;
    }
    if (!good)
        unlink(output->path);
    return good;
}

enum exit_code ptx_folder_write(const char *path, const struct out_options *output,
                                struct ptx_folder_told *told)
{
    struct folder folder = {.path = path};
    *told = (struct ptx_folder_told){0};
    if (out_is_standard(output)) {
        message_usage("a profile cannot go to standard output: give it a name");
        return EXIT_USAGE;
    }
    bool good = out_may_create(output, (struct operands){0}) && list_files(&folder) &&
                write_file(&folder, output, told);
    folder_free(&folder);
    return !good ? EXIT_BAD_DATA : folder.refused ? EXIT_PARTLY : EXIT_GOOD;
}

void ptx_folder_told_free(struct ptx_folder_told *told)
{
    free(told->lines);
    free(told->texts);
    *told = (struct ptx_folder_told){0};
}
