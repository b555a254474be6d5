/* SPDX-License-Identifier: Apache-2.0 */
#include "code_map.h"

#include <dlfcn.h>
#include <elf.h>
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- ELF files ------------------------------------------------------------------------------- */
/*
 * ELF files that a recording names, as modules of libdwfl.
 *
 * A recording may name anything: only regular files are opened, and only those that are what was
 * mapped. That is so where the build id is the same; of a file that had none, where there is still
 * none and the file is older than the recording.
 */

/* Which instruction stands before an address: one that calls `target`, one that calls what a
 * register, memory or the linker says, one that calls something else. */
enum code_call { CALL_NONE, CALL_THERE, CALL_ANYWHERE, CALL_ELSEWHERE };

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

/*
 * Reports each file that counts, of one machine: that of the first. Returns EM_..., EM_NONE: there
 * is no file.
 */
static unsigned code_elf_report(Dwfl *dwfl, const struct code_map *map, int64_t time_ns)
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

/* The same of one file, at the addresses that it was linked for. False: it does not count. */
static bool code_elf_report_linked(Dwfl *dwfl, const struct code_range *range, int64_t time_ns)
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

static enum code_call code_elf_call(Dwfl *dwfl, const struct code_map *map, unsigned machine,
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

/* ---- unwinding ------------------------------------------------------------------------------- */
/* What libdwfl asks for is answered out of the words; a word that was not kept is not known. */

enum { THE_THREAD = 1, GUESSES_MAX = 64, NAME_BYTES_MAX = 4096 };

/* Numbers of registers as frame information has them. */
struct machine {
    unsigned elf;
    int instruction; /* -1: it has no number */
    int stack, frame;
};
static const struct machine machines[] = {{EM_X86_64, 16, 7, 6}, {EM_AARCH64, -1, 31, 29}};

struct registers {
    uint64_t instruction, stack, frame;
    uint64_t in; /* of a return address, the call before it */
    bool has_stack, has_frame;
};

struct unwind {
    struct code_map map;
    Dwfl *dwfl;                    /* NULL: no memory */
    const struct machine *machine; /* NULL: no file counts, or none of a machine that is known */
    char *(*demangle)(const char *name, char *buffer, size_t *bytes, int *status);
    char **names; /* that were made */
    uint32_t name_count;
    struct unwound_frame frames[FRAMES_MAX];
    /* Of the stack. */
    const struct stack_word *words;
    uint32_t word_count, count;
    struct registers from, last; /* where a walk begins; of the last frame */
    bool whole;
};

/* ---- what libdwfl asks ----------------------------------------------------------------------- */

static pid_t next_thread(Dwfl *dwfl, void *context, void **thread)
{
    (void)dwfl;
    pid_t next = *thread ? 0 : THE_THREAD;
    *thread = context;
    return next;
}

static bool read_word(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *word_out, void *context)
{
    const struct unwind *unwind = context;
    const struct stack_word *word = address < PLACE_REGISTERS
                                        ? NULL
                                        : stack_word_at(unwind->words, unwind->word_count, address);
    (void)dwfl;
    *word_out = word ? word->word : 0;
    return word;
}

static bool set_registers(Dwfl_Thread *thread, void *context)
{
    const struct unwind *unwind = context;
    const struct machine *machine = unwind->machine;
    const struct registers *from = &unwind->from;
    const Dwarf_Word instruction = from->instruction, stack = from->stack, frame = from->frame;
    if (machine->instruction < 0)
        dwfl_thread_state_register_pc(thread, instruction);
    else if (!dwfl_thread_state_registers(thread, machine->instruction, 1, &instruction))
        return false;
    return dwfl_thread_state_registers(thread, machine->stack, 1, &stack) &&
           (!from->has_frame || dwfl_thread_state_registers(thread, machine->frame, 1, &frame));
}

static const Dwfl_Thread_Callbacks thread_callbacks = {
    .next_thread = next_thread, .memory_read = read_word, .set_initial_registers = set_registers};

/* By build id alone: by name it would open what a file names, and ask servers. */
static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_build_id_find_elf,
                                         .find_debuginfo = dwfl_build_id_find_debuginfo};

/* ---- frames ---------------------------------------------------------------------------------- */

/* Names of C++ as they were written, if its library is there. */
static const char *plain_name(struct unwind *unwind, const char *name)
{
    int status;
    if (!unwind->demangle || !name || strncmp(name, "_Z", 2) != 0 ||
        strnlen(name, NAME_BYTES_MAX) == NAME_BYTES_MAX || unwind->name_count == FRAMES_MAX)
        return name;
    char *plain = unwind->demangle(name, NULL, NULL, &status);
    if (plain)
        unwind->names[unwind->name_count++] = plain;
    return plain ? plain : name;
}

/* in: an address of the instruction itself, which a return address is behind. */
/* The line, by the table of addresses of all units, or, as clang writes none, unit by unit. */
static void find_source(struct unwound_frame *frame, Dwfl_Module *module, uint64_t in)
{
    int line = 0;
    Dwarf_Addr bias = 0;
    Dwfl_Line *source = dwfl_module_getsrc(module, in);
    if (source)
        frame->source = dwfl_lineinfo(source, NULL, &line, NULL, NULL, NULL);
    for (Dwarf_Die *unit = NULL; !source && (unit = dwfl_module_nextcu(module, unit, &bias));) {
        Dwarf_Line *found =
            dwarf_haspc(unit, in - bias) > 0 ? dwarf_getsrc_die(unit, in - bias) : NULL;
        if (!found)
            continue;
        frame->source = dwarf_linesrc(found, NULL, NULL);
        (void)dwarf_lineno(found, &line);
        break;
    }
    frame->line = frame->source && line > 0 ? (uint32_t)line : 0;
}

static void add_frame(struct unwind *unwind, uint64_t address, uint64_t in, bool guessed)
{
    struct unwound_frame *frame = &unwind->frames[unwind->count++];
    Dwfl_Module *module = unwind->machine ? dwfl_addrmodule(unwind->dwfl, in) : NULL;
    GElf_Off offset;
    GElf_Sym symbol;
    *frame = code_map_frame(&unwind->map, address);
    frame->guessed = guessed;
    if (!module)
        return;
    const char *name = dwfl_module_addrinfo(module, in, &offset, &symbol, NULL, NULL, NULL);
    if (name) {
        frame->function = plain_name(unwind, name);
        frame->offset = offset + (address - in);
    }
    find_source(frame, module, in);
}

static bool is_return_address(const struct unwind *unwind, uint64_t address)
{
    return code_elf_call(unwind->dwfl, &unwind->map, unwind->machine->elf, address, 0) != CALL_NONE;
}

/* Of a walk: its first frame is there already. What is no return address is no frame. */
static int on_frame(Dwfl_Frame *state, void *context)
{
    struct unwind *unwind = context;
    Dwarf_Addr address;
    Dwarf_Word stack = 0;
    bool exact;
    if (!dwfl_frame_pc(state, &address, &exact))
        return DWARF_CB_ABORT;
    const bool has_stack = dwfl_frame_reg(state, (unsigned)unwind->machine->stack, &stack) == 0;
    const bool first = !unwind->last.in;
    if (!first) {
        if (unwind->count == FRAMES_MAX || (!exact && !is_return_address(unwind, address)) ||
            (has_stack && unwind->last.has_stack && stack <= unwind->last.stack))
            return DWARF_CB_ABORT;
        add_frame(unwind, address, exact ? address : address - 1, false);
    }
    unwind->last = (struct registers){.instruction = address,
                                      .in = exact ? address : address - 1,
                                      .stack = stack,
                                      .has_stack = has_stack};
    return DWARF_CB_OK;
}

/* Frame information says of the function that a thread begins in that it returns nowhere. libdwfl
 * ends in the same way where the return address is not known. */
static bool is_outermost(const struct unwind *unwind, uint64_t in)
{
    Dwfl_Module *module = dwfl_addrmodule(unwind->dwfl, in);
    Dwarf_Addr bias = 0, start, end;
    Dwarf_Frame *frame = NULL;
    Dwarf_Op place[3], *rule = NULL;
    size_t steps = 1;
    bool is_signal;
    Dwarf_CFI *rules = module ? dwfl_module_eh_cfi(module, &bias) : NULL;
    if (!rules || dwarf_cfi_addrframe(rules, in - bias, &frame) != 0)
        return false;
    const int address = dwarf_frame_info(frame, &start, &end, &is_signal);
    const bool nowhere = address >= 0 &&
                         dwarf_frame_register(frame, address, place, &rule, &steps) == 0 &&
                         steps == 0 && rule == place;
    free(frame);
    return nowhere;
}

/* From unwind->from on. */
static void walk(struct unwind *unwind)
{
    unwind->last = (struct registers){0};
    const int end = dwfl_getthread_frames(unwind->dwfl, THE_THREAD, on_frame, unwind);
    if (!unwind->last.in)
        unwind->last = unwind->from;
    unwind->whole = end == 0 && is_outermost(unwind, unwind->last.in);
}

/* ---- guesses --------------------------------------------------------------------------------- */

/* Where the function of that address begins; 0: not known. */
static uint64_t begin_of_function(const struct unwind *unwind, uint64_t in)
{
    Dwfl_Module *module = dwfl_addrmodule(unwind->dwfl, in);
    GElf_Off offset;
    GElf_Sym symbol;
    return module && dwfl_module_addrinfo(module, in, &offset, &symbol, NULL, NULL, NULL)
               ? in - offset
               : 0;
}

/* Takes the word for the return address of the frame that was found last. True if the stack goes on
 * from there. */
static bool guess_at(struct unwind *unwind, const struct stack_word *word,
                     const struct stack_word *frame)
{
    const uint32_t count = unwind->count;
    add_frame(unwind, word->word, word->word - 1, true);
    unwind->from = (struct registers){.instruction = word->word - 1,
                                      .in = word->word - 1,
                                      .stack = word->place + sizeof(uint64_t),
                                      .frame = frame ? frame->word : 0,
                                      .has_stack = true,
                                      .has_frame = frame};
    walk(unwind);
    const bool good = unwind->whole || unwind->count > count + 1;
    if (!good)
        unwind->count = count;
    return good;
}

/* The nearest word that goes on: behind a call of this very function; otherwise behind one of which
 * nobody knows where it leads, beside a saved frame pointer. */
static bool guess(struct unwind *unwind, enum code_call wanted)
{
    const struct registers last = unwind->last;
    const uint64_t function = begin_of_function(unwind, last.in);
    uint32_t tries = 0;
    for (uint32_t i = 0; last.has_stack && unwind->count < FRAMES_MAX && i < unwind->word_count &&
                         tries < GUESSES_MAX;
         i++) {
        const struct stack_word *word = &unwind->words[i];
        if (word->place < PLACE_REGISTERS || word->place < last.stack ||
            code_elf_call(unwind->dwfl, &unwind->map, unwind->machine->elf, word->word, function) !=
                wanted)
            continue;
        const bool saved = i && word[-1].place == word->place - sizeof(uint64_t) &&
                           word[-1].place >= PLACE_REGISTERS && word[-1].word > word->place;
        if (!saved && wanted == CALL_ANYWHERE)
            continue;
        tries++;
        if (guess_at(unwind, word, saved ? &word[-1] : NULL))
            return true;
    }
    unwind->last = last;
    return false;
}

/* ---- a stack --------------------------------------------------------------------------------- */

static void forget_names(struct unwind *unwind)
{
    while (unwind->name_count)
        free(unwind->names[--unwind->name_count]);
}

struct unwound unwind_stack(struct unwind *unwind, const struct stack_word *words, uint32_t count)
{
    const struct stack_word *at = stack_word_at(words, count, PLACE_INSTRUCTION);
    const struct stack_word *stack = stack_word_at(words, count, PLACE_STACK);
    const struct stack_word *frame = stack_word_at(words, count, PLACE_FRAME);
    forget_names(unwind);
    unwind->words = words;
    unwind->word_count = count;
    unwind->count = 0;
    unwind->whole = false;
    if (!at)
        return (struct unwound){0};
    add_frame(unwind, at->word, at->word, false);
    if (unwind->machine && stack) {
        unwind->from = (struct registers){.instruction = at->word,
                                          .in = at->word,
                                          .stack = stack->word,
                                          .frame = frame ? frame->word : 0,
                                          .has_stack = true,
                                          .has_frame = frame};
        walk(unwind);
        while (!unwind->whole && (guess(unwind, CALL_THERE) || guess(unwind, CALL_ANYWHERE)))
            ;
    }
    return (struct unwound){unwind->frames, unwind->count, unwind->whole};
}

/* ---- all of them ----------------------------------------------------------------------------- */

struct unwind *unwind_new(const struct code_file *files, uint32_t count, int64_t time_ns)
{
    struct unwind *unwind = calloc(1, sizeof *unwind);
    if (!unwind)
        return NULL;
    unwind->names = calloc(FRAMES_MAX, sizeof *unwind->names);
    unwind->dwfl = dwfl_begin(&callbacks);
    if (!code_map_make(&unwind->map, files, count) || !unwind->names || !unwind->dwfl) {
        unwind_free(unwind);
        return NULL;
    }
    const unsigned machine = code_elf_report(unwind->dwfl, &unwind->map, time_ns);
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++)
        if (machines[i].elf == machine)
            unwind->machine = &machines[i];
    if (unwind->machine &&
        !dwfl_attach_state(unwind->dwfl, NULL, THE_THREAD, &thread_callbacks, unwind))
        unwind->machine = NULL;
    void *library = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL);
    void *found = library ? dlsym(library, "__cxa_demangle") : NULL;
    memcpy(&unwind->demangle, &found, sizeof found);
    return unwind;
}

void unwind_free(struct unwind *unwind)
{
    if (!unwind)
        return;
    if (unwind->names)
        forget_names(unwind);
    if (unwind->dwfl)
        dwfl_end(unwind->dwfl);
    code_map_free(&unwind->map);
    free(unwind->names);
    free(unwind);
}

size_t unwind_object(struct unwind *unwind, uint64_t address, char *text, size_t bytes)
{
    GElf_Off offset = 0;
    GElf_Sym symbol = {0};
    GElf_Addr bias;
    Dwfl_Module *module = dwfl_addrmodule(unwind->dwfl, address);
    if (!module || !dwfl_module_getelf(module, &bias))
        return 0;
    const char *name = dwfl_module_addrinfo(module, address, &offset, &symbol, NULL, NULL, NULL);
    forget_names(unwind);
    if (name && (offset == 0 || offset < symbol.st_size)) {
        name = plain_name(unwind, name);
    } else {
        const char *path = dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
        const char *slash = strrchr(path, '/');
        name = slash ? slash + 1 : path;
        offset = address - bias;
    }
    const int count = offset ? snprintf(text, bytes, "%.*s+0x%" PRIx64, (int)strcspn(name, "@"),
                                        name, (uint64_t)offset)
                             : snprintf(text, bytes, "%.*s", (int)strcspn(name, "@"), name);
    return count < 0 ? 0 : (size_t)count < bytes ? (size_t)count : bytes - 1;
}

char *unwind_function(const struct code_file *file, uint64_t address, int64_t time_ns)
{
    const struct code_file named = {0, UINT64_MAX, 0, file->path, file->build_id};
    struct unwind *unwind = unwind_new(NULL, 0, 0);
    struct code_map map = {0};
    char text[512], *function = NULL;
    if (unwind && code_map_make(&map, &named, 1) &&
        code_elf_report_linked(unwind->dwfl, map.ranges, time_ns) &&
        unwind_object(unwind, address, text, sizeof text))
        function = strdup(text);
    code_map_free(&map);
    unwind_free(unwind);
    return function;
}
