/* SPDX-License-Identifier: Apache-2.0 */
#include "record.h"
#include "message.h"
#include "ptx_folder.h"
#include "record_child.h"
#include "record_places.h"
#include "record_ptx.h"
#include "record_threads.h"
#include "report.h"

#include <errno.h>
#include <stdio.h>
#include <sys/wait.h>
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

static void write_page(const struct record_options *options)
{
    char *file[] = {(char *)(uintptr_t)options->output.path, NULL};
    struct report_options report = {0};
    report.reading.output = (struct out_options){options->report, options->output.force};
    report.reading.terminal.no_progress = true;
    (void)report_files(&report, (struct operands){file, 1});
}

/* The profile of what lies in folder, and its page. */
static void finish(const struct record_options *options, const char *folder)
{
    if (record_ptx_finish(options, folder) && options->report)
        write_page(options);
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
    if (ptx_folder_active(first, active, &lists) == EXIT_BAD_DATA || lists == 0) {
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

static int record_background(const struct record_options *options, struct operands program)
{
    struct record_environment environment = {0};
    bool set_up = record_threads_set_up(options, program.words[0], &environment);
    if (!set_up)
        record_environment_free(&environment);
    int status = record_run(program.words, &environment);
    record_environment_free(&environment);
    bool ran = status != -1 && !(WIFEXITED(status) && WEXITSTATUS(status) >= 126);
    if (set_up && ran && record_threads_finish(options) && options->report)
        write_page(options);
    return status;
}

int record_program(const struct record_options *options, struct operands program)
{
    char folder[PATH_MAX];
    program.words[program.count] = NULL; /* options stood there */
    if (!outputs_good(options))
        return record_end_like(record_run(program.words, &(struct record_environment){0}));
    if (options->background)
        return record_end_like(record_background(options, program));
    if (!record_folder_make(options->folder, folder))
        return record_end_like(record_run(program.words, &(struct record_environment){0}));
    int status = record_in(options, program, folder);
    if (!options->folder)
        record_folder_remove(folder);
    return record_end_like(status);
}
