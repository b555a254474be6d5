/* SPDX-License-Identifier: Apache-2.0 */
#include "program_kind.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

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

/* What of the file is looked at. */
struct image {
    const uint8_t *bytes;
    size_t count;
};

/* So many bytes from there on; NULL: the file has not got them. */
static const void *at(const struct image *image, uint64_t offset, uint64_t count)
{
    return offset <= image->count && count <= image->count - offset ? image->bytes + offset : NULL;
}

/* The n-th of a kind; NULL: there is none. */
static const ElfW(Phdr) * find_part(const struct image *image, uint32_t type, unsigned n)
{
    const ElfW(Ehdr) *head = at(image, 0, sizeof *head);
    const ElfW(Phdr) *parts = at(image, head->e_phoff, head->e_phnum * sizeof *parts);
    for (unsigned i = 0; parts && i < head->e_phnum; i++)
        if (parts[i].p_type == type && n-- == 0)
            return &parts[i];
    return NULL;
}

/* Of what the loader maps to that address. */
static const void *at_address(const struct image *image, uint64_t address, uint64_t count)
{
    const ElfW(Phdr) * part;
    for (unsigned n = 0; (part = find_part(image, PT_LOAD, n)); n++)
        if (address >= part->p_vaddr && address - part->p_vaddr < part->p_filesz)
            return at(image, part->p_offset + (address - part->p_vaddr), count);
    return NULL;
}

/* Whether the program takes a function of that name from a library, or gives it to one. */
static bool names(const struct image *image, const char *name)
{
    const ElfW(Phdr) *part = find_part(image, PT_DYNAMIC, 0);
    const ElfW(Dyn) *entry = part ? at(image, part->p_offset, part->p_filesz) : NULL;
    uint64_t address = 0, count = 0;
    for (size_t left = entry ? part->p_filesz / sizeof *entry : 0;
         left > 0 && entry->d_tag != DT_NULL; left--, entry++) {
        address = entry->d_tag == DT_STRTAB ? entry->d_un.d_ptr : address;
        count = entry->d_tag == DT_STRSZ ? entry->d_un.d_val : count;
    }
    const void *texts = count ? at_address(image, address, count) : NULL;
    return texts && memmem(texts, count, name, strlen(name) + 1);
}

/* A script is run by a program that the system looks up: not looked at. */
static const char *refused_image(const struct image *image)
{
    static const unsigned char class = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32;
    const ElfW(Ehdr) *head = at(image, 0, sizeof *head);
    if (!head || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0)
        return NULL;
    if (head->e_ident[EI_CLASS] != class)
        return "is a program of another word size";
    const ElfW(Phdr) *loader = find_part(image, PT_INTERP, 0);
    if (!loader)
        return "is linked statically, so no library can be preloaded";
    const char *path = at(image, loader->p_offset, loader->p_filesz);
    if (path && memmem(path, loader->p_filesz, "/ld-musl-", 9))
        return "is linked with musl, and the library to be preloaded with glibc";
    if (names(image, "__asan_init") || names(image, "__tsan_init") || names(image, "__msan_init"))
        return "is built with a sanitizer, which stands in for the same calls";
    return NULL;
}

static const char *refused_file(int fd, const struct stat *file)
{
    void *bytes = mmap(NULL, (size_t)file->st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED)
        return NULL;
    const char *why = refused_image(&(struct image){bytes, (size_t)file->st_size});
    munmap(bytes, (size_t)file->st_size);
    return why;
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
    const char *why = fd < 0 ? NULL : refused_file(fd, &file);
    if (fd >= 0)
        close(fd);
    return why;
}
