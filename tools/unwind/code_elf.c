/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording may name anything: only regular files are opened, and only those that are what was
 * mapped. That is so where the build id is the same; of a file that had none, where there is still
 * none and the file is older than the recording.
 */
#include "code_elf.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ELF_BYTES_MAX (INT64_C(8) << 30)
#define SYSTEM_FILES "/usr/lib/debug/.build-id"
enum { MODULES_MAX = 512, BUILD_ID_DIGITS_MAX = 128, CALL_BYTES_MAX = 7 };

struct module_place {
    uint64_t bias, low, high;
    unsigned machine;
};

/* ---- which file ------------------------------------------------------------------------------ */

/* A device may act when it is opened, and a FIFO waits for somebody. */
static int open_regular(const char *path, struct stat *status)
{
    struct stat opened;
    if (stat(path, status) != 0 || !S_ISREG(status->st_mode) || status->st_size == 0 ||
        status->st_size > ELF_BYTES_MAX)
        return -1;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0 && (fstat(fd, &opened) != 0 || opened.st_dev != status->st_dev ||
                    opened.st_ino != status->st_ino)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static bool is_same(Elf *elf, const struct stat *status, const struct code_range *range,
                    int64_t time_ns)
{
    const void *id;
    char digits[BUILD_ID_DIGITS_MAX + 1] = "";
    const ssize_t bytes = dwelf_elf_gnu_build_id(elf, &id);
    if (bytes > BUILD_ID_DIGITS_MAX / 2)
        return false;
    for (ssize_t i = 0; i < bytes; i++)
        snprintf(digits + 2 * i, 3, "%02x", ((const unsigned char *)id)[i]);
    if (range->build_id[0] || bytes > 0)
        return strcmp(digits, range->build_id) == 0;
    return status->st_mtim.tv_sec < time_ns / 1000000000;
}

/* Where its segments lie, if the mapping is of one with code. */
static bool place_of(Elf *elf, const struct code_range *range, struct module_place *place_out)
{
    GElf_Ehdr header;
    GElf_Phdr segment;
    size_t count;
    bool found = false;
    if (!gelf_getehdr(elf, &header) || (header.e_type != ET_DYN && header.e_type != ET_EXEC) ||
        elf_getphdrnum(elf, &count) != 0)
        return false;
    struct module_place place = {.machine = header.e_machine, .low = UINT64_MAX};
    for (size_t i = 0; i < count && gelf_getphdr(elf, (int)i, &segment); i++) {
        if (segment.p_type != PT_LOAD)
            continue;
        place.low = segment.p_vaddr < place.low ? segment.p_vaddr : place.low;
        if (segment.p_vaddr + segment.p_memsz > place.high)
            place.high = segment.p_vaddr + segment.p_memsz;
        if (segment.p_flags & PF_X && range->offset < segment.p_offset + segment.p_filesz &&
            range->offset + (range->end - range->start) > segment.p_offset) {
            place.bias = range->start - range->offset + segment.p_offset - segment.p_vaddr;
            found = true;
        }
    }
    place.low += place.bias;
    place.high += place.bias;
    *place_out = place;
    return found && place.low < place.high && range->start < place.high && range->end > place.low &&
           (header.e_type == ET_DYN || place.bias == 0);
}

/* A file of this name, if it is the one that was mapped; -1: it is not. place_out: NULL, or where.
 */
static int open_mapped(const char *path, const struct code_range *range, int64_t time_ns,
                       struct module_place *place_out)
{
    struct stat status;
    int fd = open_regular(path, &status);
    Elf *elf = fd >= 0 ? elf_begin(fd, ELF_C_READ_MMAP, NULL) : NULL;
    const bool good = elf && elf_kind(elf) == ELF_K_ELF && is_same(elf, &status, range, time_ns) &&
                      (!place_out || place_of(elf, range, place_out));
    if (elf)
        elf_end(elf);
    if (fd >= 0 && !good)
        close(fd);
    return good ? fd : -1;
}

/* The same, or the one of that build id that the system keeps for debuggers. */
static int open_any(const struct code_range *range, int64_t time_ns, struct module_place *place_out)
{
    char path[sizeof SYSTEM_FILES + BUILD_ID_DIGITS_MAX + 4];
    const char *id = range->build_id;
    int fd = range->path[0] == '/' ? open_mapped(range->path, range, time_ns, place_out) : -1;
    if (fd >= 0 || strlen(id) < 3 || strlen(id) > BUILD_ID_DIGITS_MAX ||
        id[strspn(id, "0123456789abcdef")])
        return fd;
    snprintf(path, sizeof path, SYSTEM_FILES "/%.2s/%s", id, id + 2);
    return open_mapped(path, range, time_ns, place_out);
}

/* ---- modules --------------------------------------------------------------------------------- */

static bool is_free(const struct module_place *places, uint32_t count,
                    const struct module_place *place)
{
    for (uint32_t i = 0; i < count; i++)
        if (place->low < places[i].high && places[i].low < place->high)
            return false;
    return count == 0 || place->machine == places[0].machine;
}

unsigned code_elf_report(Dwfl *dwfl, const struct code_map *map, int64_t time_ns)
{
    struct module_place *places = calloc(MODULES_MAX, sizeof *places);
    uint32_t count = 0;
    unsigned machine = EM_NONE;
    (void)elf_version(EV_CURRENT);
    dwfl_report_begin(dwfl);
    for (uint32_t i = 0; places && i < map->count && count < MODULES_MAX; i++) {
        const struct code_range *range = &map->ranges[i];
        int fd = range->unsure ? -1 : open_any(range, time_ns, &places[count]);
        if (fd >= 0 && is_free(places, count, &places[count]) &&
            dwfl_report_elf(dwfl, range->path, range->path, fd, places[count].bias, true))
            count++; /* which has the descriptor now */
        else if (fd >= 0)
            close(fd);
    }
    dwfl_report_end(dwfl, NULL, NULL);
    machine = count ? places[0].machine : EM_NONE;
    free(places);
    return machine;
}

bool code_elf_report_linked(Dwfl *dwfl, const struct code_range *range, int64_t time_ns)
{
    (void)elf_version(EV_CURRENT);
    int fd = open_any(range, time_ns, NULL);
    dwfl_report_begin(dwfl);
    const bool good = fd >= 0 && dwfl_report_elf(dwfl, range->path, range->path, fd, 0, true);
    if (fd >= 0 && !good)
        close(fd);
    dwfl_report_end(dwfl, NULL, NULL);
    return good;
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* end: behind the instruction. FF /2 calls where a register or memory says, with what addresses
 * that behind it. */
static bool x86_calls_anywhere(const uint8_t *end, size_t before)
{
    for (size_t bytes = 2; bytes <= CALL_BYTES_MAX && bytes <= before; bytes++) {
        const uint8_t *at = end - bytes;
        const uint8_t mode = at[1] >> 6, memory = at[1] & 7;
        const bool scaled = mode != 3 && memory == 4;
        const size_t more = mode == 1 ? 1 : mode == 2 || (mode == 0 && memory == 5) ? 4 : 0;
        if (at[0] == 0xff && (at[1] >> 3 & 7) == 2 &&
            (bytes == 2 + scaled + more || (scaled && mode == 0 && bytes == 7)))
            return true;
    }
    return false;
}

/* What the linker made leads to another file. */
static bool is_linkers(Dwfl *dwfl, uint64_t address)
{
    Dwfl_Module *module = dwfl_addrmodule(dwfl, address);
    Dwarf_Addr at = address, bias;
    GElf_Addr file_bias;
    GElf_Shdr header;
    size_t names;
    Elf *elf = module ? dwfl_module_getelf(module, &file_bias) : NULL;
    Elf_Scn *section = elf ? dwfl_module_address_section(module, &at, &bias) : NULL;
    const char *name =
        section && gelf_getshdr(section, &header) && elf_getshdrstrndx(elf, &names) == 0
            ? elf_strptr(elf, names, header.sh_name)
            : NULL;
    return name && strncmp(name, ".plt", 4) == 0;
}

static enum code_call direct_call(Dwfl *dwfl, uint64_t to, uint64_t target)
{
    return to == target ? CALL_THERE : is_linkers(dwfl, to) ? CALL_ANYWHERE : CALL_ELSEWHERE;
}

static enum code_call x86_call(Dwfl *dwfl, const uint8_t *end, size_t before, uint64_t address,
                               uint64_t target)
{
    enum code_call call = CALL_NONE;
    if (before >= 5 && end[-5] == 0xe8) {
        int32_t distance;
        memcpy(&distance, end - sizeof distance, sizeof distance);
        call = direct_call(dwfl, address + (uint64_t)(int64_t)distance, target);
    }
    return call != CALL_THERE && x86_calls_anywhere(end, before) ? CALL_ANYWHERE : call;
}

static enum code_call arm_call(Dwfl *dwfl, const uint8_t *end, size_t before, uint64_t address,
                               uint64_t target)
{
    uint32_t word;
    if (before < sizeof word)
        return CALL_NONE;
    memcpy(&word, end - sizeof word, sizeof word);
    if ((word & 0xfffffc1f) == 0xd63f0000)
        return CALL_ANYWHERE;
    const int64_t distance = (int64_t)((int32_t)(word << 6) >> 6) * 4;
    return (word & 0xfc000000) == 0x94000000
               ? direct_call(dwfl, address - sizeof word + (uint64_t)distance, target)
               : CALL_NONE;
}

enum code_call code_elf_call(Dwfl *dwfl, const struct code_map *map, unsigned machine,
                             uint64_t address, uint64_t target)
{
    const struct code_range *range = address ? code_map_find(map, address - 1) : NULL;
    Dwfl_Module *module = range ? dwfl_addrmodule(dwfl, address - 1) : NULL;
    GElf_Addr bias;
    size_t bytes = 0;
    Elf *elf = module ? dwfl_module_getelf(module, &bias) : NULL;
    const uint8_t *file = elf ? (const uint8_t *)elf_rawfile(elf, &bytes) : NULL;
    const uint64_t before = range ? address - range->start : 0;
    const uint64_t at = range ? range->offset + before : 0;
    if (!file || at > bytes || before > at)
        return CALL_NONE;
    return (machine == EM_X86_64 ? x86_call : arm_call)(dwfl, file + at, before, address, target);
}
