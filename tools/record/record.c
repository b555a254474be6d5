/* SPDX-License-Identifier: Apache-2.0 */
#include "record.h"
#include "message.h"
#include "ptx_folder.h"
#include "record_child.h"
#include "record_children.h"
#include "record_places.h"
#include "record_ptx.h"
#include "record_sources.h"
#include "report.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Whether a file can be made there; else the message is given. */
static bool may_create(const char *path, bool force)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    int count = slash ? (int)(slash - path) + 1 : 1;
    snprintf(folder, sizeof folder, "%.*s", count, slash ? path : ".");
    if (access(folder, W_OK | X_OK) != 0) {
        message_plain("%s: %s: nothing is recorded", path, strerror(errno));
        return false;
    }
    return out_may_create(&(struct out_options){path, force}, (struct operands){0});
}

/* They are looked at before the program runs, which may take hours. */
static bool outputs_good(const struct record_options *options)
{
    return may_create(options->output.path, options->output.force) &&
           (!options->report || may_create(options->report, options->output.force));
}

bool record_page(const struct record_options *options, struct operands files)
{
    struct report_options report = {0};
    report.reading.output = (struct out_options){options->report, options->output.force};
    report.reading.terminal.no_progress = true;
    report.reading.align.quiet = true;
    return report_files(&report, files) != EXIT_BAD_DATA;
}

/* The profile of what lies in folder, and its page. */
static void finish(const struct record_options *options, const char *folder)
{
    char *file[] = {(char *)(uintptr_t)options->output.path, NULL};
    if (record_ptx_finish(options, folder) && options->report)
        (void)record_page(options, (struct operands){file, 1});
}

/* One run of the program; status as record_run gives it. False: it was not set up. */
static bool run_once(const struct record_options *options, struct operands program,
                     const char *folder, const char *active, int *status_out)
{
    struct record_environment environment = {0};
    bool set_up = record_ptx_set_up(options, folder, active, &environment);
    if (!set_up)
        record_environment_free(&environment);
    *status_out = record_run(program.words, &environment);
    record_environment_free(&environment);
    return set_up;
}

static bool ended_well(int status)
{
    return status != -1 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Below folder, for one pass. */
static bool pass_folder(const char *folder, const char *name, char path[PATH_MAX])
{
    char wanted[PATH_MAX];
    return snprintf(wanted, sizeof wanted, "%s/%s", folder, name) < PATH_MAX &&
           record_folder_make(wanted, path);
}

/* The first one says which probes the second needs. */
static int run_twice(const struct record_options *options, struct operands program,
                     const char *folder)
{
    char first[PATH_MAX], second[PATH_MAX], active[PATH_MAX];
    uint32_t lists = 0;
    int status;
    if (!pass_folder(folder, "first", first) || !pass_folder(folder, "active", active) ||
        !pass_folder(folder, "second", second))
        return record_run(program.words, &(struct record_environment){0});
    if (!run_once(options, program, first, NULL, &status) || !record_ptx_left(first))
        return status;
    if (!ended_well(status)) {
        message("it is not run again after a failure");
        finish(options, first);
        return status;
    }
    if (ptx_folder_active(first, active, (struct ptx_sanitizing){.dead = true, .merge = true},
                          &lists) == EXIT_BAD_DATA ||
        lists == 0) {
        message("there is nothing to run again for");
        finish(options, first);
        return status;
    }
    message("%s runs again, with the probes that it needs", program.words[0]);
    if (run_once(options, program, second, active, &status) && record_ptx_left(second))
        finish(options, second);
    return status;
}

static int record_in(const struct record_options *options, struct operands program,
                     const char *folder)
{
    int status;
    if (options->passes == 2)
        return run_twice(options, program, folder);
    if (run_once(options, program, folder, NULL, &status) && record_ptx_left(folder))
        finish(options, folder);
    return status;
}

/* Whoever finds a file there leaves it alone, as it may be another process's of the same run. */
static void make_way(const char *file)
{
    char live[PATH_MAX];
    struct stat status;
    if (stat(file, &status) != 0 || !S_ISREG(status.st_mode))
        return;
    snprintf(live, sizeof live, "%s.live", file);
    (void)unlink(live);
    (void)unlink(file);
}

static int record_sources(const struct record_options *options, struct operands program)
{
    struct record_environment environment = {0};
    struct timespec since;
    bool set_up = record_sources_set_up(options, program.words[0], &environment);
    if (!set_up)
        record_environment_free(&environment);
    if (options->output.force)
        make_way(options->output.path);
    clock_gettime(CLOCK_REALTIME_COARSE, &since); /* the one that files are marked by */
    int status = record_run(program.words, &environment);
    record_environment_free(&environment);
    bool ran = status != -1 && !(WIFEXITED(status) && WEXITSTATUS(status) >= 126);
    if (set_up && ran)
        record_sources_finish(options, &since);
    record_children_say(options->output.path);
    return status;
}

int record_program(const struct record_options *options, struct operands program)
{
    char folder[PATH_MAX];
    program.words[program.count] = NULL; /* options stood there */
    if (!outputs_good(options))
        return record_end_like(record_run(program.words, &(struct record_environment){0}));
    if (!options->ptx)
        return record_end_like(record_sources(options, program));
    if (!record_folder_make(options->folder, folder))
        return record_end_like(record_run(program.words, &(struct record_environment){0}));
    int status = record_in(options, program, folder);
    if (!options->folder)
        record_folder_remove(folder);
    return record_end_like(status);
}
