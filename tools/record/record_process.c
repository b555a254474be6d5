/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record_process.c - a window of what a program that runs records of itself.
 *
 * Nothing is done to the program: what it has recorded lies in FILE and FILE.live, which it has
 * mapped, and may be read while it writes.
 */
#include "message.h"
#include "record.h"
#include "record_files.h"
#include "record_summary.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

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

static int64_t process_now_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Until so much has passed (0: without end), the process ends, or the user wants no more. */
static void wait_for(int process, int64_t time_ns)
{
    const int64_t until_ns = process_now_ns(CLOCK_MONOTONIC) + time_ns;
    struct pollfd ends = {.fd = process, .events = POLLIN};
    while (!stopped && ends.revents == 0) {
        int64_t left_ms = (until_ns - process_now_ns(CLOCK_MONOTONIC) + 999999) / 1000000;
        if (time_ns && left_ms <= 0)
            return;
        (void)poll(&ends, 1, time_ns && left_ms < 60000 ? (int)left_ms : 60000);
    }
}

static void process_take_signals(void)
{
    const struct sigaction ends = {.sa_handler = process_stop};
    sigaction(SIGINT, &ends, NULL);
    sigaction(SIGTERM, &ends, NULL);
    sigaction(SIGHUP, &ends, NULL);
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
    process_take_signals();
    if (options->after_ns)
        wait_for(process, options->after_ns);
    int64_t from_ns = process_now_ns(CLOCK_REALTIME);
    wait_for(process, options->for_ns);
    if (process >= 0)
        close(process);
    snprintf(live, sizeof live, "%s.live", file);
    if (!record_file_cut(file, output, access(live, F_OK) == 0, from_ns,
                         process_now_ns(CLOCK_REALTIME)))
        return message_bad_data("%s: nothing was recorded in that time", file);
    char *words[] = {(char *)(uintptr_t)output, NULL};
    struct operands one = {words, 1};
    if (!record_summary_say(one, 0) || (options->report && !record_page(options, one)))
        return EXIT_BAD_DATA;
    return EXIT_GOOD;
}
