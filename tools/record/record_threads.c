/* SPDX-License-Identifier: Apache-2.0 */
#include "record_threads.h"
#include "message.h"
#include "program_kind.h"
#include "rbwp_recover.h"
#include "record_places.h"
#include "threads_summary.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- before ---------------------------------------------------------------------------- */

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
static bool set_file(const char *file, struct record_environment *environment)
{
    char here[PATH_MAX] = "", path[2 * PATH_MAX];
    if (file[0] != '/' && !getcwd(here, sizeof here)) {
        message("%s: %s: nothing is recorded", file, strerror(errno));
        return false;
    }
    snprintf(path, sizeof path, "%s%s%s", here, *here ? "/" : "", file);
    return record_set(environment, "RBWP_THREADS_FILE", path);
}

bool record_threads_set_up(const struct record_options *options, const char *command,
                           struct record_environment *environment)
{
    char library[PATH_MAX];
    const char *why = program_kind_refused(command);
    if (why) {
        message("%s %s: nothing is recorded", command, why);
        return false;
    }
    if (!record_find("RBWP_THREADS", "librbwp-threads.so", library)) {
        message("librbwp-threads.so is not beside it (RBWP_THREADS names it): nothing is "
                "recorded");
        return false;
    }
    environment->own_number = "RBWP_THREADS_PID";
    return set_preload(library, environment) && set_file(options->output.path, environment);
}

/* ---- behind ---------------------------------------------------------------------------- */

/* In the place of FILE and FILE.live: all that was in both. */
static bool make_whole(const char *file, const char *live)
{
    char whole[PATH_MAX];
    struct rbwp_recover_result result;
    struct rbwp_error error;
    if (snprintf(whole, sizeof whole, "%s.XXXXXX", file) >= (int)sizeof whole)
        return false;
    mode_t mask = umask(0);
    umask(mask);
    int fd = mkstemp(whole);
    if (fd < 0) {
        message("%s: %s", whole, strerror(errno));
        return false;
    }
    struct rbwp_sink sink = rbwp_sink_fd(&fd);
    bool good = rbwp_recover(file, live, &sink, NULL, NULL, &result, &error) == RBWP_OK;
    good = fchmod(fd, 0666 & ~mask) == 0 && good;
    good = close(fd) == 0 && good && rename(whole, file) == 0;
    if (good)
        unlink(live);
    else
        unlink(whole);
    return good;
}

bool record_threads_finish(const struct record_options *options)
{
    const char *file = options->output.path;
    char live[PATH_MAX];
    if (strchr(file, '%'))
        return true; /* a file for each program; they are the user's */
    if (access(file, F_OK) != 0) {
        message("nothing is recorded: the program did not load librbwp-threads.so");
        return false;
    }
    snprintf(live, sizeof live, "%s.live", file);
    if (access(live, F_OK) == 0 && !make_whole(file, live)) {
        message("%s: it is as the program left it: rbwp repair %s", file, file);
        return false;
    }
    return threads_summary_say(file);
}
