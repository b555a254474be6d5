/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Triton brings a ptxas, of a version that need not be the toolkit's, and often there is no
 * toolkit. What it would have called is found by what its process has loaded: its assembler lies
 * beside its library.
 */
#include "ptx_real.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TRITON_LIBRARY "/_C/libtriton.so"
#define BLACKWELL 100 /* from this architecture on Triton has another assembler */

static bool same_file(const char *a, const struct stat *own)
{
    struct stat status;
    return stat(a, &status) == 0 && status.st_dev == own->st_dev && status.st_ino == own->st_ino;
}

/* Opened: under an emulator the name alone means that. */
static struct stat own_file(void)
{
    struct stat own = {0};
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &own) != 0)
        memset(&own, 0, sizeof own);
    if (fd >= 0)
        close(fd);
    return own;
}

/* A ptxas of PATH that is not this program. */
static bool on_path(char found[PATH_MAX])
{
    const char *path = getenv("PATH");
    const struct stat own = own_file();
    while (path && *path) {
        size_t count = strcspn(path, ":");
        int made = snprintf(found, PATH_MAX, "%.*s/ptxas", (int)count, path);
        if (count > 0 && made > 0 && made < PATH_MAX && access(found, X_OK) == 0 &&
            !same_file(found, &own))
            return true;
        path += count + (path[count] == ':');
    }
    return false;
}

/* ---- Triton's -------------------------------------------------------------------------- */

/* The architecture that is assembled for; 0: none is named. */
static int architecture(char *const *argv)
{
    static const char *const options[] = {"--gpu-name=sm_", "-arch=sm_"};
    for (; *argv; argv++)
        for (size_t i = 0; i < sizeof options / sizeof *options; i++)
            if (strncmp(*argv, options[i], strlen(options[i])) == 0)
                return atoi(*argv + strlen(options[i]));
    return 0;
}

/* The folder of the package Triton that this process has loaded, from a line of its maps. */
static bool package_of(char *line, char folder[PATH_MAX])
{
    char *path = strchr(line, '/'), *end = path ? strstr(path, TRITON_LIBRARY) : NULL;
    if (!end || (end[strlen(TRITON_LIBRARY)] != '\n' && end[strlen(TRITON_LIBRARY)] != '\0'))
        return false;
    *end = '\0';
    return snprintf(folder, PATH_MAX, "%s", path) < PATH_MAX;
}

static bool caller_has_triton(char folder[PATH_MAX])
{
    char path[64], *line = NULL;
    size_t room = 0;
    bool has = false;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)getppid());
    FILE *maps = fopen(path, "re");
    while (maps && !has && getline(&line, &room, maps) > 0)
        has = package_of(line, folder);
    free(line);
    if (maps)
        fclose(maps);
    return has;
}

static bool of_triton(char *const *argv, char found[PATH_MAX])
{
    char folder[PATH_MAX];
    const char *names[] = {"ptxas-blackwell", "ptxas"};
    const struct stat own = own_file();
    if (!caller_has_triton(folder))
        return false;
    for (int i = architecture(argv) >= BLACKWELL ? 0 : 1; i < 2; i++) {
        int made = snprintf(found, PATH_MAX, "%s/backends/nvidia/bin/%s", folder, names[i]);
        if (made < PATH_MAX && access(found, X_OK) == 0 && !same_file(found, &own))
            return true;
    }
    return false;
}

bool ptx_real_find(char *const *argv, char found[PATH_MAX])
{
    const char *given = getenv("RBWP_PTXAS");
    if (given && *given)
        return snprintf(found, PATH_MAX, "%s", given) < PATH_MAX;
    if (of_triton(argv, found) || on_path(found))
        return true;
    snprintf(found, PATH_MAX, "/usr/local/cuda/bin/ptxas");
    return access(found, X_OK) == 0;
}
