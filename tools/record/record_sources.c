/* SPDX-License-Identifier: Apache-2.0 */
#include "record_sources.h"
#include "message.h"
#include "program_kind.h"
#include "record_children.h"
#include "record_files.h"
#include "record_places.h"
#include "record_summary.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Three libraries, since what stands in for the C library's calls is only in programs whose threads
 * are wanted; and one process has one file, so it has one of them. */
static const struct {
    unsigned sources;
    const char *variable, *name;
} libraries[] = {
    {RECORD_THREADS, "RBWP_THREADS", "librbwp-threads.so"},
    {RECORD_GPU | RECORD_RANGES, "RBWP_INJECT", "librbwp-inject.so"},
    {RECORD_GPU | RECORD_RANGES | RECORD_THREADS, "RBWP_RECORD", "librbwp-record.so"},
};
enum { LIBRARIES = sizeof libraries / sizeof libraries[0] };

/* ---- which ----------------------------------------------------------------------------- */

static unsigned wanted(const struct record_options *options)
{
    return options->sources ? options->sources : RECORD_ALL;
}

/* Of which file a program that records itself has its own. */
static bool work_file(const struct record_options *options, char path[PATH_MAX])
{
    const char *file = options->output.path;
    if (wanted(options) == RECORD_WORK)
        return snprintf(path, PATH_MAX, "%s", file) < PATH_MAX;
    return record_files_name(file, strchr(file, '%') ? "work" : "work-%p", path, PATH_MAX);
}

/* The smallest library with all of them. False with the message given: it is not there. */
static bool find_library(unsigned sources, char library[PATH_MAX])
{
    int i = 0;
    while (i < LIBRARIES - 1 && sources & ~libraries[i].sources)
        i++;
    if (record_find(libraries[i].variable, libraries[i].name, library))
        return true;
    message("%s is not beside it (%s names it): nothing is recorded", libraries[i].name,
            libraries[i].variable);
    return false;
}

/* ---- the environment ------------------------------------------------------------------- */

/* In front of what is preloaded already. */
static bool set_preload(const char *library, struct record_environment *environment)
{
    const char *others = getenv("LD_PRELOAD");
    char value[2 * PATH_MAX];
    bool some = others && *others;
    int count =
        snprintf(value, sizeof value, "%s%s%s", library, some ? ":" : "", some ? others : "");
    if (strpbrk(library, ": ")) {
        message("%s: a library with a blank or colon in its name cannot be preloaded: nothing is "
                "recorded",
                library);
        return false;
    }
    return count < (int)sizeof value && record_set(environment, "LD_PRELOAD", value);
}

/* The program may go elsewhere before programs that it starts look. */
static bool set_file(const char *variable, const char *before, const char *file, const char *behind,
                     struct record_environment *environment)
{
    char here[PATH_MAX] = "", value[3 * PATH_MAX];
    if (file[0] != '/' && !getcwd(here, sizeof here)) {
        message("%s: %s: nothing is recorded", file, strerror(errno));
        return false;
    }
    int count =
        snprintf(value, sizeof value, "%s%s%s%s%s", before, here, *here ? "/" : "", file, behind);
    return count < (int)sizeof value && record_set(environment, variable, value);
}

static bool set_number(const char *variable, uint64_t number,
                       struct record_environment *environment)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, number);
    return number == 0 || record_set(environment, variable, text);
}

/* A tool may be in the program already. */
static bool is_taken(const char *variable, const char *library)
{
    const char *other = getenv(variable);
    return other && *other && strcmp(other, library) != 0;
}

static bool set_ranges(const char *library, struct record_environment *environment)
{
    if (!is_taken("NVTX_INJECTION64_PATH", library))
        return record_set(environment, "NVTX_INJECTION64_PATH", library);
    message("NVTX_INJECTION64_PATH names another tool: ranges are not recorded");
    return true;
}

static bool set_gpu(const char *library, struct record_environment *environment)
{
    if (!is_taken("CUDA_INJECTION64_PATH", library))
        return record_set(environment, "CUDA_INJECTION64_PATH", library);
    if (getenv("RBWP_INJECT_EVENTS")) /* whoever says so */
        return true;
    message("CUDA_INJECTION64_PATH names another tool: kernels are timed by events around their "
            "launches, to some microseconds");
    return record_set(environment, "RBWP_INJECT_EVENTS", "1");
}

static bool set_inject(const struct record_options *options, unsigned sources, const char *library,
                       struct record_environment *environment)
{
    const bool gpu = sources & RECORD_GPU, ranges = sources & RECORD_RANGES;
    return set_file("RBWP_INJECT_FILE", "", options->output.path, "", environment) &&
           record_set(environment, "RBWP_INJECT_WHAT",
                      gpu && ranges ? "gpu,ranges"
                      : gpu         ? "gpu"
                                    : "ranges") &&
           (!gpu || set_gpu(library, environment)) &&
           (!ranges || set_ranges(library, environment)) &&
           set_number("RBWP_INJECT_AFTER_MS", (uint64_t)options->after_ns / 1000000, environment) &&
           set_number("RBWP_INJECT_FOR_MS", (uint64_t)options->for_ns / 1000000, environment) &&
           set_number("RBWP_INJECT_SIGNAL", (uint64_t)options->capture_signal, environment) &&
           (!options->capture_range ||
            record_set(environment, "RBWP_INJECT_RANGE", options->capture_range));
}

/* Flags of its own, and those on its command line, count more. */
static bool set_work(const struct record_options *options, struct record_environment *environment)
{
    const char *theirs = getenv("RBWP_FLAGS");
    char path[PATH_MAX], behind[PATH_MAX];
    if (!work_file(options, path))
        return true;
    if (strpbrk(path, " \t")) {
        message("%s: with a blank in its name it cannot be told to the program", path);
        return wanted(options) != RECORD_WORK;
    }
    snprintf(behind, sizeof behind, "%s%s", theirs ? " " : "", theirs ? theirs : "");
    return set_file("RBWP_FLAGS", "-bgworkprofile 2 -bgworkprofile_logfile ", path, behind,
                    environment);
}

bool record_sources_set_up(const struct record_options *options, const char *command,
                           struct record_environment *environment)
{
    char library[PATH_MAX];
    const unsigned loaded = RECORD_GPU | RECORD_RANGES | RECORD_THREADS;
    const char *why = program_kind_refused(command);
    unsigned sources = wanted(options);
    if (why && sources & loaded) {
        const bool work = sources & RECORD_WORK;
        message("%s %s: %s", command, why,
                work ? "only what it records itself is recorded" : "nothing is recorded");
        sources &= ~loaded;
    } else if (sources & loaded &&
               (!find_library(sources & loaded, library) || !set_preload(library, environment))) {
        sources &= ~loaded;
    }
    if (sources & RECORD_THREADS) {
        environment->own_number = "RBWP_THREADS_PID";
        if (!set_file("RBWP_THREADS_FILE", "", options->output.path, "", environment) ||
            (!strstr(options->output.path, "%p") && !record_children_set_up(environment)))
            return false;
    }
    if (sources & (RECORD_GPU | RECORD_RANGES) &&
        !set_inject(options, sources, library, environment))
        return false;
    return sources && (!(sources & RECORD_WORK) || set_work(options, environment));
}

/* ---- behind ---------------------------------------------------------------------------- */

static void say_nothing(unsigned sources)
{
    const bool gpu = sources & RECORD_GPU, ranges = sources & RECORD_RANGES;
    if (sources == RECORD_THREADS)
        message("nothing is recorded: the program did not load librbwp-threads.so");
    else if (sources == RECORD_WORK)
        message("nothing is recorded: the program does not record itself (librbwp)");
    else
        message("nothing is recorded: %s%s%s%s", gpu ? "no GPU was used" : "",
                gpu && ranges ? ", " : "", ranges ? "no range was marked" : "",
                sources & (RECORD_THREADS | RECORD_WORK) ? ", nor did the program load a library"
                                                         : "");
}

void record_sources_finish(const struct record_options *options, const struct timespec *since)
{
    struct record_files files = {0};
    const unsigned sources = wanted(options);
    const int64_t from_ns =
        (int64_t)since->tv_sec * 1000000000 + since->tv_nsec + options->after_ns;
    char path[PATH_MAX];
    const struct recover_end end = record_end_seen();
    record_files_find(&files, options->output.path, since, sources & RECORD_THREADS ? &end : NULL);
    if (sources & RECORD_WORK && work_file(options, path))
        record_files_find(&files, path, since, NULL);
    if (files.count == 0) {
        say_nothing(sources);
        return;
    }
    if (sources & (RECORD_THREADS | RECORD_WORK) && (options->after_ns || options->for_ns))
        record_files_cut(&files, from_ns, options->for_ns ? from_ns + options->for_ns : INT64_MAX);
    const struct operands all = {files.paths, (int)files.count};
    if (record_summary_say(all, options->sources) && options->report)
        (void)record_page(options, all);
    record_files_free(&files);
}
