/* SPDX-License-Identifier: Apache-2.0 */
/* A profile of a folder: rows as launches come (ptx_rows.h). */
#include "ptx_folder.h"
#include "message.h"
#include "ptx_rows.h"
#include "ptx_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

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

static bool write_profile(struct ptx_walk *walk, int fd, const char *name,
                          struct ptx_folder_told *told)
{
    struct writing writing = {.told = told};
    walk->context = &writing;
    walk->launch = write_launch;
    walk->skipped = count_skipped;
    walk->process = see_process;
    writing.good = ptx_rows_begin(&writing.rows, fd, name, told);
    writing.rows.shift_ns = shift_now();
    if (writing.good)
        ptx_walk_launches(walk);
    writing.good = ptx_rows_end(&writing.rows, &writing.process, writing.good);
    if (writing.good && told->launches == 0)
        message_plain("%s: no launch is in it", walk->path);
    return writing.good && told->launches > 0;
}

static bool write_file(struct ptx_walk *walk, const struct out_options *output,
                       struct ptx_folder_told *told)
{
    int fd = open(output->path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) {
        message("%s: cannot be created: %s", output->path, strerror(errno));
        return false;
    }
    bool good = write_profile(walk, fd, output->path, told);
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
    struct ptx_walk walk = {.path = path};
    *told = (struct ptx_folder_told){0};
    if (out_is_standard(output)) {
        message_usage("a profile cannot go to standard output: give it a name");
        return EXIT_USAGE;
    }
    bool good = out_may_create(output, (struct operands){0}) && ptx_walk_begin(&walk) &&
                write_file(&walk, output, told);
    ptx_walk_end(&walk);
    return !good ? EXIT_BAD_DATA : walk.refused ? EXIT_PARTLY : EXIT_GOOD;
}

void ptx_folder_told_free(struct ptx_folder_told *told)
{
    free(told->lines);
    free(told->texts);
    *told = (struct ptx_folder_told){0};
}
