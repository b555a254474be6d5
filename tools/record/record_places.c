/* SPDX-License-Identifier: Apache-2.0 */
#include "record_places.h"
#include "message.h"

#include <errno.h>
#include <ftw.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool own_folder(char path[PATH_MAX])
{
    ssize_t count = readlink("/proc/self/exe", path, PATH_MAX - 1);
    if (count <= 0)
        return false;
    path[count] = '\0';
    char *slash = strrchr(path, '/');
    if (slash)
        *slash = '\0';
    return slash != NULL;
}

/* Nobody but root, this user, and who could as well have put another rbwp there may have made the
 * file or can put another in its place. */
static bool is_trusted(const char *path)
{
    char folder[PATH_MAX];
    struct stat own, file, around;
    snprintf(folder, sizeof folder, "%.*s/.", (int)(strrchr(path, '/') - path), path);
    if (stat("/proc/self/exe", &own) != 0 || stat(path, &file) != 0 || stat(folder, &around) != 0)
        return false;
    const uid_t trusted[] = {0, geteuid(), own.st_uid};
    bool file_is = false, folder_is = false;
    for (size_t i = 0; i < sizeof trusted / sizeof *trusted; i++) {
        file_is |= file.st_uid == trusted[i];
        folder_is |= around.st_uid == trusted[i];
    }
    if (file_is && folder_is && !(file.st_mode & S_IWOTH) &&
        (!(around.st_mode & S_IWOTH) || (around.st_mode & S_ISVTX)))
        return true;
    message("%s: others than this user and root may write it: it is not taken", path);
    return false;
}

/* The first file that a pattern names. A link stays one: rbwp-ptxas knows itself by its name. */
static bool take_first(const char *pattern, char path[PATH_MAX])
{
    glob_t found;
    bool taken = false;
    if (glob(pattern, 0, NULL, &found) != 0)
        return false;
    for (size_t i = 0; i < found.gl_pathc && !taken; i++)
        taken = access(found.gl_pathv[i], R_OK) == 0 && is_trusted(found.gl_pathv[i]) &&
                snprintf(path, PATH_MAX, "%s", found.gl_pathv[i]) < PATH_MAX;
    globfree(&found);
    return taken;
}

/* The program may go elsewhere before it looks. */
static bool take_given(const char *given, char path[PATH_MAX])
{
    char here[PATH_MAX] = "";
    if (given[0] != '/' && !getcwd(here, sizeof here))
        return false;
    return snprintf(path, PATH_MAX, "%s%s%s", here, *here ? "/" : "", given) < PATH_MAX &&
           access(path, R_OK) == 0;
}

bool record_find(const char *variable, const char *name, char path[PATH_MAX])
{
    static const char *const places[] = {".", "..", "../lib", "../lib64", "../lib/*"};
    const char *given = getenv(variable);
    char folder[PATH_MAX], pattern[PATH_MAX + 64];
    if (given && *given)
        return take_given(given, path);
    if (!own_folder(folder))
        return false;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(pattern, sizeof pattern, "%s/%s/%s", folder, places[i], name);
        if (take_first(pattern, path))
            return true;
    }
    return false;
}

bool record_folder_make(const char *given, char path[PATH_MAX])
{
    const char *temporary = getenv("TMPDIR");
    char name[PATH_MAX];
    bool made;
    if (given) {
        snprintf(name, sizeof name, "%s", given);
        made = mkdir(name, 0777) == 0 || errno == EEXIST;
    } else {
        snprintf(name, sizeof name, "%s/rbwp-record-XXXXXX",
                 temporary && *temporary ? temporary : "/tmp");
        made = mkdtemp(name) != NULL;
    }
    made = made && realpath(name, path) && access(path, W_OK | X_OK) == 0;
    if (!made)
        message("%s: %s: nothing is recorded", name, strerror(errno));
    return made;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status, (void)kind, (void)where;
    (void)remove(path);
    return 0;
}

void record_folder_remove(const char *path)
{
    (void)nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}
