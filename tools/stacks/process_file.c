/* SPDX-License-Identifier: Apache-2.0 */
/* A process that records has FILE.live in its memory, so the kernel's list of what is mapped names
 * it. */
#include "message.h"
#include "stacks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* FILE of a line that ends in the path of FILE.live; NULL: it does not. */
static char *file_of_line(char *line)
{
    static const char suffix[] = ".live";
    char *path = strchr(line, '/');
    size_t bytes = path ? strcspn(path, "\n") : 0;
    if (bytes <= sizeof suffix - 1 ||
        memcmp(path + bytes - (sizeof suffix - 1), suffix, sizeof suffix - 1) != 0)
        return NULL;
    path[bytes - (sizeof suffix - 1)] = '\0';
    return strdup(path);
}

char *stacks_file_of(const char *pid)
{
    char maps[64], *line = NULL, *file = NULL;
    size_t room = 0;
    snprintf(maps, sizeof maps, "/proc/%s/maps", pid);
    FILE *list = fopen(maps, "re");
    if (!list) {
        message(errno == ENOENT ? "%s: no such file, and no such process"
                                : "process %s may not be looked at: run as its user",
                pid);
        return NULL;
    }
    while (!file && getline(&line, &room, list) > 0)
        file = file_of_line(line);
    if (!file)
        message(ferror(list) ? "process %s may not be looked at: run as its user"
                             : "process %s records nothing now (-bgworkprofile 1 in RBWP_FLAGS "
                               "starts it)",
                pid);
    free(line);
    fclose(list);
    return file;
}
