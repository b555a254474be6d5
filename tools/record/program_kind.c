/* SPDX-License-Identifier: Apache-2.0 */
#include "program_kind.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { HEADERS_MAX = 128 };

/* As execvp looks for it. False: it is not there. */
static bool find_program(const char *command, char path[PATH_MAX])
{
    const char *folders = getenv("PATH");
    if (strchr(command, '/') || !folders)
        return snprintf(path, PATH_MAX, "%s", command) < PATH_MAX;
    for (const char *end; *folders; folders = *end ? end + 1 : end) {
        end = strchrnul(folders, ':');
        int count = snprintf(path, PATH_MAX, "%.*s%s%s", (int)(end - folders), folders,
                             end == folders ? "" : "/", command);
        if (count < PATH_MAX && access(path, X_OK) == 0)
            return true;
    }
    return false;
}

/* The loader leaves preloaded libraries out where the program has more rights than who runs it. */
static bool gains_rights(const char *path, const struct stat *file)
{
    if (((file->st_mode & S_ISUID) && file->st_uid != getuid()) ||
        ((file->st_mode & S_ISGID) && file->st_gid != getgid()))
        return true;
    return getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0;
}

static bool has_loader(int fd, const ElfW(Ehdr) * head)
{
    ElfW(Phdr) parts[HEADERS_MAX];
    size_t count = head->e_phnum < HEADERS_MAX ? head->e_phnum : HEADERS_MAX;
    ssize_t bytes = pread(fd, parts, count * sizeof *parts, (off_t)head->e_phoff);
    for (size_t i = 0; bytes == (ssize_t)(count * sizeof *parts) && i < count; i++)
        if (parts[i].p_type == PT_INTERP)
            return true;
    return false;
}

/* A script is run by a program that the system looks up: not looked at. */
static const char *refused_image(int fd)
{
    ElfW(Ehdr) head;
    static const unsigned char class = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32;
    if (pread(fd, &head, sizeof head, 0) != sizeof head ||
        memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
        return NULL;
    if (head.e_ident[EI_CLASS] != class)
        return "is a program of another word size";
    return has_loader(fd, &head) ? NULL : "is linked statically, so no library can be preloaded";
}

const char *program_kind_refused(const char *command)
{
    char path[PATH_MAX];
    struct stat file;
    if (!find_program(command, path) || stat(path, &file) != 0)
        return NULL;
    if (gains_rights(path, &file))
        return "gets more rights than yours (set-user-id or the like), so no library is preloaded";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    const char *why = fd < 0 ? NULL : refused_image(fd);
    if (fd >= 0)
        close(fd);
    return why;
}
