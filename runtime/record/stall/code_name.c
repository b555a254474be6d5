/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code_name.c - code as the file that has it and the address in that file, where tools find its
 * function:
 *
 *     /usr/bin/redis-server+0x4c510 (BuildId: 9f12...)
 *
 * The loader knows that without a lock (_dl_find_object, glibc 2.35). No system call is made: a
 * sandbox may have taken the right to from the thread.
 */
#include "record_extend.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifdef __GLIBC__
#define HAVE_FIND __GLIBC_PREREQ(2, 35)
#else
#define HAVE_FIND 0
#endif

#if HAVE_FIND
enum { HEADER_BYTES = 4096 /* which are mapped if the first one is */ };

typedef int find_fn(void *, struct dl_find_object *);
static find_fn *find_object;
static char program[RBWP_EXTEND_CODE_NAME_MAX]; /* the loader has no name for it */

void rbwp_extend_code_names(void)
{
    find_object = (find_fn *)dlsym(RTLD_DEFAULT, "_dl_find_object");
    const ssize_t bytes = readlink("/proc/self/exe", program, sizeof program - 1);
    program[bytes > 0 ? bytes : 0] = '\0';
}

/* The segment has these addresses of the file, readable. */
static bool code_name_is_loaded(const ElfW(Phdr) * segment, uint64_t from, uint64_t bytes)
{
    return segment->p_type == PT_LOAD && segment->p_flags & PF_R && from >= segment->p_vaddr &&
           bytes <= segment->p_filesz && from - segment->p_vaddr <= segment->p_filesz - bytes;
}

/* In hexadecimal digits; how many. Headers are where the file's first byte is mapped. */
static unsigned code_name_build_id(const struct dl_find_object *object, char *digits_out)
{
    const char *base = object->dlfo_map_start;
    const ElfW(Ehdr) *elf = (const void *)base;
    if (memcmp(elf->e_ident, ELFMAG, SELFMAG) != 0 || elf->e_phentsize != sizeof(ElfW(Phdr)) ||
        elf->e_phoff % _Alignof(ElfW(Phdr)) != 0 || elf->e_phoff > HEADER_BYTES ||
        elf->e_phnum > (HEADER_BYTES - elf->e_phoff) / sizeof(ElfW(Phdr)))
        return 0;
    const ElfW(Phdr) *segments = (const void *)(base + elf->e_phoff);
    for (unsigned i = 0; i < elf->e_phnum; i++) {
        const ElfW(Phdr) *notes = &segments[i];
        for (unsigned j = 0; notes->p_type == PT_NOTE && j < elf->e_phnum; j++) {
            if (!code_name_is_loaded(&segments[j], notes->p_vaddr, notes->p_filesz))
                continue;
            const unsigned digits = rbwp_extend_build_id(
                (const char *)object->dlfo_link_map->l_addr + notes->p_vaddr, /* NOLINT */
                notes->p_filesz, digits_out);
            if (digits)
                return digits;
        }
    }
    return 0;
}

const char *rbwp_extend_code_name(uintptr_t code, char text[RBWP_EXTEND_CODE_NAME_MAX])
{
    struct dl_find_object object;
    char digits[RBWP_EXTEND_BUILD_ID_MAX];
    if (!find_object || find_object((void *)code, &object) != 0) /* NOLINT */
        return NULL;
    const struct link_map *file = object.dlfo_link_map;
    const char *path = file->l_name[0] ? file->l_name : program;
    if (path[0] != '/')
        return NULL;
    const unsigned id = code_name_build_id(&object, digits);
    const int bytes =
        snprintf(text, RBWP_EXTEND_CODE_NAME_MAX, "%s+0x%" PRIxPTR "%s%.*s%s", path,
                 code - file->l_addr, id ? " (BuildId: " : "", (int)id, digits, id ? ")" : "");
    return bytes > 0 && bytes < (int)RBWP_EXTEND_CODE_NAME_MAX ? text : NULL;
}
#else
void rbwp_extend_code_names(void) {}

const char *rbwp_extend_code_name(uintptr_t code, char text[RBWP_EXTEND_CODE_NAME_MAX])
{
    (void)code;
    (void)text;
    return NULL;
}
#endif
