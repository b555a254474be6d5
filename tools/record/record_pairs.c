/* SPDX-License-Identifier: Apache-2.0 */
#include "message.h"
#include "quantity.h"
#include "read_clock.h"
#include "record.h"
#include "record_child.h"
#include "record_files.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- a program that runs --------------------------------------------------------------------- */
/*
 * A window of what a program that runs records of itself.
 *
 * Nothing is done to the program: what it has recorded lies in FILE and FILE.live, which it has
 * mapped, and may be read while it writes.
 */

/* ---- which file ------------------------------------------------------------------------ */

/* Takes ".live" off the end. */
static bool is_live(char *path)
{
    static const char end[] = ".live";
    size_t bytes = strlen(path);
    if (bytes <= strlen(end) || strcmp(path + bytes - strlen(end), end) != 0)
        return false;
    path[bytes - strlen(end)] = '\0';
    return access(path, R_OK) == 0;
}

/* The profile that the process has open. False with the message given. */
static bool find_profile(uint32_t pid, char path[PATH_MAX])
{
    char name[64], *line = NULL;
    size_t room = 0;
    ssize_t bytes;
    bool found = false;
    snprintf(name, sizeof name, "/proc/%" PRIu32 "/maps", pid);
    FILE *maps = fopen(name, "re");
    if (!maps)
        return message_fail("process %" PRIu32 ": %s", pid,
                            errno == ENOENT ? "there is none" : strerror(errno));
    while (!found && (bytes = getline(&line, &room, maps)) > 0) {
        line[bytes - 1] = '\0';
        char *slash = strchr(line, '/');
        found = slash && is_live(slash) && snprintf(path, PATH_MAX, "%s", slash) < PATH_MAX;
    }
    free(line);
    fclose(maps);
    if (!found)
        message("process %" PRIu32 " does not record itself: it links no librbwp, or no session "
                "of it runs (RBWP_FLAGS)",
                pid);
    return found;
}

/* ---- waiting --------------------------------------------------------------------------- */

static volatile sig_atomic_t stopped;

static void process_stop(int number)
{
    (void)number;
    stopped = 1;
}

/* Until so much has passed (0: without end), the process ends, or the user wants no more. */
static void wait_for(int process, int64_t time_ns)
{
    const int64_t until_ns = read_clock_ns(CLOCK_MONOTONIC) + time_ns;
    struct pollfd ends = {.fd = process, .events = POLLIN};
    while (!stopped && ends.revents == 0) {
        int64_t left_ms = (until_ns - read_clock_ns(CLOCK_MONOTONIC) + 999999) / 1000000;
        if (time_ns && left_ms <= 0)
            return;
        (void)poll(&ends, 1, time_ns && left_ms < 60000 ? (int)left_ms : 60000);
    }
}

/* ---- all of it ------------------------------------------------------------------------- */

enum exit_code record_process(const struct record_options *options)
{
    const char *output = options->output.path;
    char file[PATH_MAX], live[PATH_MAX + 8];
    if (!find_profile(options->pid, file) ||
        !out_may_create(&options->output, (struct operands){0}))
        return EXIT_BAD_DATA;
    int process = (int)syscall(SYS_pidfd_open, (pid_t)options->pid, 0);
    const struct sigaction ends = {.sa_handler = process_stop};
    sigaction(SIGINT, &ends, NULL);
    sigaction(SIGTERM, &ends, NULL);
    sigaction(SIGHUP, &ends, NULL);
    if (options->after_ns)
        wait_for(process, options->after_ns);
    int64_t from_ns = read_clock_ns(CLOCK_REALTIME);
    wait_for(process, options->for_ns);
    if (process >= 0)
        close(process);
    snprintf(live, sizeof live, "%s.live", file);
    if (!record_file_cut(file, output, access(live, F_OK) == 0, from_ns,
                         read_clock_ns(CLOCK_REALTIME)))
        return message_bad_data("%s: nothing was recorded in that time", file);
    char *words[] = {(char *)(uintptr_t)output, NULL};
    struct operands one = {words, 1};
    if (!record_summary_say(one, 0) || (options->report && !record_page(options, one)))
        return EXIT_BAD_DATA;
    return EXIT_GOOD;
}

/* ---- two programs by turns ------------------------------------------------------------------- */
/*
 * Runs of two programs by turns.
 *
 * Each process of a run has a file in the folder of that run. Of what is in a folder that was given
 * nothing is removed but runs: folders whose names are numbers, with files that we name so.
 */

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
        if (!known && force && *name && strspn(name, "0123456789") == strlen(name) &&
            pair_below(folder, name, path))
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
    const int64_t began_ns = read_clock_ns(CLOCK_MONOTONIC);
    const int status = record_sources(&record, program, &left);
    *ns_out = read_clock_ns(CLOCK_MONOTONIC) - began_ns;
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
                          ROUGH((uint64_t)ns[0], 3), ROUGH((uint64_t)ns[1], 3));
    }
    return true;
}
