/* SPDX-License-Identifier: Apache-2.0 */
#include "start_name.h"

#include "libc_next.h"
#include "record_extend.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#if __GLIBC_PREREQ(2, 35)
enum { HEADER_BYTES = 4096 /* which are mapped if the first one is */ };

static char program[START_NAME_BYTES]; /* the loader has no name for it */

void start_name_prepare(void)
{
    const ssize_t bytes = readlink("/proc/self/exe", program, sizeof program - 1);
    program[bytes > 0 ? bytes : 0] = '\0';
}

/* The segment has these addresses of the file, readable. */
static bool is_loaded(const ElfW(Phdr) * segment, uint64_t from, uint64_t bytes)
{
    return segment->p_type == PT_LOAD && segment->p_flags & PF_R && from >= segment->p_vaddr &&
           bytes <= segment->p_filesz && from - segment->p_vaddr <= segment->p_filesz - bytes;
}

/* In hexadecimal digits; how many. Headers are where the file's first byte is mapped. */
static unsigned start_build_id(const struct dl_find_object *object, char *digits_out)
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
            if (!is_loaded(&segments[j], notes->p_vaddr, notes->p_filesz))
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

const char *start_name_of(void *(*run)(void *), char text[START_NAME_BYTES])
{
    struct dl_find_object object;
    char digits[RBWP_EXTEND_BUILD_ID_MAX];
    int (*find)(void *, struct dl_find_object *) =
        (__typeof__(&_dl_find_object))libc_next_functions[REAL__dl_find_object];
    if (!find || find((void *)(uintptr_t)run, &object) != 0) /* NOLINT */
        return NULL;
    const struct link_map *file = object.dlfo_link_map;
    const char *path = file->l_name[0] ? file->l_name : program;
    if (path[0] != '/')
        return NULL;
    const unsigned id = start_build_id(&object, digits);
    const int bytes = snprintf(text, START_NAME_BYTES, "%s+0x%" PRIxPTR "%s%.*s%s", path,
                               (uintptr_t)run - file->l_addr, id ? " (BuildId: " : "", (int)id,
                               digits, id ? ")" : "");
    return bytes > 0 && bytes < START_NAME_BYTES ? text : NULL;
}
#else
void start_name_prepare(void) {}

const char *start_name_of(void *(*run)(void *), char text[START_NAME_BYTES])
{
    (void)run;
    (void)text;
    return NULL;
}
#endif
