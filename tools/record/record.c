/* SPDX-License-Identifier: Apache-2.0 */
#include "record.h"

#include "message.h"
#include "ptx_folder.h"
#include "record_child.h"
#include "record_children.h"
#include "record_places.h"
#include "record_sources.h"
#include "report.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- kernels with probes --------------------------------------------------------------------- */
/* Rbwp-ptxas puts them in, librbwp-inject.so collects. */

#define LINES_SHOWN 5

/* ---- options --------------------------------------------------------------------------- */

static bool add_word(char *words, size_t room, const char *name, const char *value)
{
    size_t used = strlen(words);
    if (!value)
        return true;
    if (!*value || value[strcspn(value, " \t\n")]) {
        message_usage("--%s '%s': a blank cannot be in it", name, value);
        return false;
    }
    int count = snprintf(words + used, room - used, "%s--%s %s", used ? " " : "", name, value);
    if (count < 0 || (size_t)count >= room - used) {
        message_usage("--%s: this is too long", name);
        return false;
    }
    return true;
}

/* The options as words for rbwp-ptxas. False with the usage told. */
static bool record_ptx_options(const struct record_options *options, char *words, size_t room)
{
    words[0] = '\0';
    return add_word(words, room, "mode", options->mode ? options->mode : "warp") &&
           add_word(words, room, "kernel", options->kernel ? options->kernel : "*") &&
           add_word(words, room, "file", options->file) &&
           add_word(words, room, "threads", options->threads) &&
           add_word(words, room, "capacity", options->capacity);
}

/* ---- before ---------------------------------------------------------------------------- */

static bool make_below(const char *folder, const char *name, char path[PATH_MAX])
{
    int count = snprintf(path, PATH_MAX, "%s/%s", folder, name);
    return count < PATH_MAX && (mkdir(path, 0777) == 0 || access(path, W_OK) == 0);
}

/* What is compiled with probes is for this run alone: the user's caches neither get it nor give. */
static bool set_caches(const char *folder, struct record_environment *environment)
{
    char triton[PATH_MAX], inductor[PATH_MAX];
    if (!make_below(folder, "triton-cache", triton) ||
        !make_below(folder, "inductor-cache", inductor)) {
        message("%s: no room for a cache: nothing is recorded", folder);
        return false;
    }
    return record_set(environment, "TRITON_CACHE_DIR", triton) &&
           record_set(environment, "TORCHINDUCTOR_CACHE_DIR", inductor) &&
           record_set(environment, "TRITON_CACHE_MANAGER", NULL) &&
           record_set(environment, "TRITON_REMOTE_CACHE_BACKEND", NULL);
}

/* Ours in the place of the one that would have been called. */
static bool set_assembler(const char *ours, struct record_environment *environment)
{
    const char *theirs = getenv("TRITON_PTXAS_PATH"), *real = getenv("RBWP_PTXAS");
    const char *name = theirs ? strrchr(theirs, '/') : NULL;
    if (theirs && *theirs && (!real || !*real) && strcmp(name ? name + 1 : theirs, "rbwp-ptxas"))
        if (!record_set(environment, "RBWP_PTXAS", theirs))
            return false;
    return record_set(environment, "TRITON_PTXAS_PATH", ours) &&
           record_set(environment, "TRITON_PTXAS_BLACKWELL_PATH", ours);
}

static bool set_collector(const struct record_options *options, const char *library,
                          const char *folder, struct record_environment *environment)
{
    char launches[16];
    snprintf(launches, sizeof launches, "%" PRIu32, options->launches);
    return record_set(environment, "CUDA_INJECTION64_PATH", library) &&
           record_set(environment, "RBWP_PTX_DIR", folder) &&
           (options->launches == 0 || record_set(environment, "RBWP_PTX_LAUNCHES", launches));
}

/* Of a run that leaves its launches in folder. active: NULL, or a folder with lists of probes.
 * False with the message given: nothing would be recorded. */
static bool record_ptx_set_up(const struct record_options *options, const char *folder,
                              const char *active, struct record_environment *environment)
{
    char stand_in[PATH_MAX], library[PATH_MAX], words[1024];
    const char *other = getenv("CUDA_INJECTION64_PATH");
    if (!record_find("RBWP_PTXAS_STAND_IN", "rbwp-ptxas", stand_in) ||
        !record_find("RBWP_INJECT", "librbwp-inject.so", library)) {
        message("rbwp-ptxas and librbwp-inject.so are not beside it (RBWP_PTXAS_STAND_IN and "
                "RBWP_INJECT name them): nothing is recorded");
        return false;
    }
    if (other && *other && strcmp(other, library) != 0)
        message("in the place of %s (CUDA_INJECTION64_PATH)", other);
    return record_ptx_options(options, words, sizeof words) && set_caches(folder, environment) &&
           set_assembler(stand_in, environment) &&
           set_collector(options, library, folder, environment) &&
           record_set(environment, "RBWP_PTX_OPTIONS", words) &&
           record_set(environment, "RBWP_PTX_ACTIVE", active);
}

/* ---- behind ---------------------------------------------------------------------------- */

static bool ends_with(const char *text, const char *end)
{
    size_t count = strlen(text), end_count = strlen(end);
    return count > end_count && strcmp(text + count - end_count, end) == 0;
}

/* How many files of the folder end so. */
static unsigned count_files(const char *folder, const char *end)
{
    unsigned count = 0;
    DIR *opened = opendir(folder);
    for (const struct dirent *entry; opened && (entry = readdir(opened));)
        count += ends_with(entry->d_name, end);
    if (opened)
        closedir(opened);
    return count;
}

/* Whether a run left any launch; false with the message that says which part of the chain did
 * nothing. */
static bool record_ptx_left(const char *folder)
{
    if (count_files(folder, ".raw") > 0)
        return true;
    if (count_files(folder, ".map.json") == 0)
        message("nothing is recorded: no kernel was compiled by TRITON_PTXAS_PATH");
    else if (count_files(folder, ".ndjson") == 0)
        message("nothing is recorded: no GPU was used, or its driver did not load the collector");
    else
        message("nothing is recorded: no kernel with probes was launched to its end");
    return false;
}

static unsigned count_kernels(const struct ptx_folder_told *told)
{
    unsigned kernels = 0;
    for (uint32_t i = 0; i < told->line_count; i++) {
        uint32_t before = 0;
        while (before < i && told->lines[before].kernel != told->lines[i].kernel)
            before++;
        kernels += before == i;
    }
    return kernels;
}

static void say_told(const char *path, const struct ptx_folder_told *told)
{
    unsigned kernels = count_kernels(told);
    message_plain("%s: %" PRIu64 " launch%s of %u kernel%s, %" PRIu64 " records%s", path,
                  told->launches, told->launches == 1 ? "" : "es", kernels, kernels == 1 ? "" : "s",
                  told->records, told->dropped ? " (some found no room: --capacity)" : "");
    if (told->skipped)
        message_plain("%" PRIu64
                      " launches are not in it (--ptx-launches, captured graphs, memory)",
                      told->skipped);
    if (told->line_count && told->cycles)
        message_plain("  share     cycles     count  hottest lines");
    for (uint32_t i = 0; i < told->line_count && i < LINES_SHOWN && told->cycles; i++) {
        const struct ptx_hot_line *line = &told->lines[i];
        message_plain("%6.1f%% %10" PRIu64 " %9" PRIu64 "  %.200s in %.200s",
                      100.0 * (double)line->cycles / (double)told->cycles, line->cycles,
                      line->count, line->place_name, line->kernel_name);
    }
}

/* Makes the profile and says what is in it. False with the message given. */
static bool record_ptx_finish(const struct record_options *options, const char *folder)
{
    struct ptx_folder_told told = {0};
    enum exit_code code = ptx_folder_write(folder, &options->output, &told);
    if (code != EXIT_BAD_DATA)
        say_told(options->output.path, &told);
    ptx_folder_told_free(&told);
    return code != EXIT_BAD_DATA;
}

/* ---- record ---------------------------------------------------------------------------------- */

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
