/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record_pairs.c - runs of two programs by turns.
 *
 * Each process of a run has a file in the folder of that run. Of what is in a folder that was given
 * nothing is removed but runs: folders whose names are numbers, with files that we name so.
 */
#include "message.h"
#include "quantity.h"
#include "record.h"
#include "record_child.h"
#include "record_files.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RUN_FILE "rbwp-"

/* ---- folders --------------------------------------------------------------------------------- */

static bool pair_below(const char *folder, const char *name, char path[PATH_MAX])
{
    return snprintf(path, PATH_MAX, "%s/%s", folder, name) < PATH_MAX ||
           message_fail("%s: its name is too long", folder);
}

static void remove_run(const char *folder)
{
    char path[PATH_MAX];
    DIR *opened = opendir(folder);
    for (const struct dirent *entry; opened && (entry = readdir(opened));)
        if (strncmp(entry->d_name, RUN_FILE, strlen(RUN_FILE)) == 0 &&
            pair_below(folder, entry->d_name, path))
            (void)unlink(path);
    if (opened)
        closedir(opened);
    (void)rmdir(folder);
}

static bool is_number(const char *name)
{
    return *name && strspn(name, "0123456789") == strlen(name);
}

/* False with the message given: something is in it that is not to be removed. */
static bool empty_side(const char *folder, bool force)
{
    char path[PATH_MAX];
    struct dirent **names;
    bool empty = true;
    const int count = scandir(folder, &names, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        const char *name = names[i]->d_name;
        const bool known = strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
        if (!known && force && is_number(name) && pair_below(folder, name, path))
            remove_run(path);
        empty = empty && (known || (pair_below(folder, name, path) && access(path, F_OK) != 0));
        free(names[i]);
    }
    if (count >= 0)
        free(names);
    return empty || message_fail("%s: is not empty%s", folder,
                                 force ? ", by more than runs" : " (-f removes the runs in it)");
}

static bool make_sides(const struct record_pairs *pairs, char folders[2][PATH_MAX])
{
    char folder[PATH_MAX], name[PATH_MAX];
    if (!record_folder_make(pairs->folder, folder))
        return false;
    if (strpbrk(folder, " \t%"))
        return message_fail("%s: a blank or %% cannot be in the name", folder);
    for (int side = 0; side < 2; side++)
        if (!pair_below(folder, side ? "b" : "a", name) ||
            !record_folder_make(name, folders[side]) || !empty_side(folders[side], pairs->force))
            return false;
    return true;
}

/* ---- one run --------------------------------------------------------------------------------- */

static bool pair_stopped(const char *name, int status)
{
    const int number = record_stopped();
    if (!number)
        return false;
    message("stopped in a run of %s: nothing is judged", name);
    if (WIFSIGNALED(status))
        exit(record_end_like(status));
    exit(record_end_like(W_EXITCODE(0, number)));
}

static bool pair_failed(const char *which, const char *name, int status)
{
    if (status == -1)
        return message_fail("%s could not be run: nothing is judged", name);
    if (WIFSIGNALED(status))
        return message_fail("%s (%s) was ended by signal %d (%s): nothing is judged", name, which,
                            WTERMSIG(status), strsignal(WTERMSIG(status)));
    return message_fail("%s (%s) ended with exit status %d: nothing is judged", name, which,
                        WEXITSTATUS(status));
}

static int64_t pairs_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Of a side, into folder. What is said of how it is recorded is said in its first run alone. False
 * with the message given. */
static bool pair_run(const struct record_pairs *pairs, int side, const char *folder, bool first,
                     int64_t *ns_out)
{
    char file[PATH_MAX];
    const char *which = side ? "b" : "a";
    struct operands program = pairs->programs[side];
    struct record_options record = pairs->record;
    struct message_held held = {0};
    bool left = false;
    if (!pair_below(folder, RUN_FILE "%p.bin", file))
        return false;
    if (mkdir(folder, 0777) != 0)
        return message_fail("%s: %s", folder, strerror(errno));
    record.output.path = file;
    record.repeated = true;
    message_hold(first ? NULL : &held);
    const int64_t began_ns = pairs_now_ns();
    const int status = record_sources(&record, program, &left);
    *ns_out = pairs_now_ns() - began_ns;
    message_hold(NULL);
    free(held.text);
    if (pair_stopped(program.words[0], status))
        return false;
    if (status == -1 || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return pair_failed(which, program.words[0], status);
    return left ||
           message_fail("%s (%s) left no recording: nothing is judged", program.words[0], which);
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* The number is that of the folder; 0: it is not kept. */
static bool pair_make(const struct record_pairs *pairs, char folders[2][PATH_MAX], uint32_t number,
                      bool turned, bool first, int64_t ns[2])
{
    char name[16], folder[PATH_MAX];
    snprintf(name, sizeof name, "%02" PRIu32, number);
    for (int i = 0; i < 2; i++) {
        const int side = turned ? !i : i;
        if (!pair_below(folders[side], name, folder))
            return false;
        const bool good = pair_run(pairs, side, folder, first, &ns[side]);
        if (!number)
            remove_run(folder);
        if (!good)
            return false;
    }
    return true;
}

bool record_pairs(const struct record_pairs *pairs, char folders_out[2][PATH_MAX])
{
    char a[QUANTITY_BYTES], b[QUANTITY_BYTES];
    int64_t ns[2];
    if (!make_sides(pairs, folders_out))
        return false;
    for (int side = 0; side < 2; side++)
        pairs->programs[side].words[pairs->programs[side].count] = NULL;
    for (uint32_t i = 0; i < pairs->warm_up; i++)
        if (!pair_make(pairs, folders_out, 0, i % 2, i == 0, ns))
            return false;
    for (uint32_t i = 0; i < pairs->runs; i++) {
        if (!pair_make(pairs, folders_out, i + 1, i % 2, !pairs->warm_up && i == 0, ns))
            return false;
        if (!pairs->quiet)
            message_plain("run %" PRIu32 " of %" PRIu32 ": a %s, b %s", i + 1, pairs->runs,
                          quantity_rough(a, (uint64_t)ns[0], 3),
                          quantity_rough(b, (uint64_t)ns[1], 3));
    }
    return true;
}
