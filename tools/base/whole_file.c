/* SPDX-License-Identifier: Apache-2.0 */
#include "whole_file.h"
#include "live_path.h"
#include "message.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the name of FILE.live ------------------------------------------------------------------- */

char *live_path(const char *path)
{
    char *live = malloc(strlen(path) + sizeof ".live");
    if (live)
        sprintf(live, "%s.live", path);
    return live;
}

/* ---- whole files ----------------------------------------------------------------------------- */

static void cannot(const struct whole_file *file, const char *what)
{
    message("%s: cannot be %s: %s", file->path, what, strerror(errno));
}

bool whole_file_begin(struct whole_file *file, const char *path, bool force)
{
    *file = (struct whole_file){.path = path, .fd = -1, .force = force};
    if (asprintf(&file->temporary, "%s.XXXXXX", path) < 0) {
        file->temporary = NULL;
        return message_fail("out of memory");
    }
    file->fd = mkostemp(file->temporary, O_CLOEXEC);
    if (file->fd >= 0)
        return true;
    cannot(file, "created");
    free(file->temporary);
    return false;
}

/* Without force, a file that came to be meanwhile is not replaced. */
static bool whole_file_on_name(const struct whole_file *file)
{
    bool links = !file->force; /* link replaces nothing */
    if (links && link(file->temporary, file->path) == 0) {
        unlink(file->temporary);
        return true;
    }
    bool renames = !links || errno == EPERM || errno == EOPNOTSUPP; /* no links on this disk */
    if (renames && rename(file->temporary, file->path) == 0)
        return true;
    cannot(file, "created");
    return false;
}

static mode_t mode_like(const char *like, const char *also_like)
{
    struct stat status;
    mode_t mask = umask(0);
    umask(mask);
    if ((!like || stat(like, &status) != 0) && (!also_like || stat(also_like, &status) != 0))
        return 0600;
    return 0666 & ~mask & status.st_mode;
}

bool whole_file_publish(struct whole_file *file, const char *like, const char *also_like)
{
    bool done = fchmod(file->fd, mode_like(like, also_like)) == 0 && fsync(file->fd) == 0;
    if (!done)
        cannot(file, "written");
    close(file->fd);
    done = done && whole_file_on_name(file);
    if (!done)
        unlink(file->temporary);
    free(file->temporary);
    return done;
}

void whole_file_drop(struct whole_file *file)
{
    close(file->fd);
    unlink(file->temporary);
    free(file->temporary);
}
