/* SPDX-License-Identifier: Apache-2.0 */
/* What libdwfl asks for is answered out of the words; a word that was not kept is not known. */
#include "code_elf.h"

#include <dlfcn.h>
#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static void find_demangler(struct unwind *unwind)
{
    void *library = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL);
    void *found = library ? dlsym(library, "__cxa_demangle") : NULL;
    memcpy(&unwind->demangle, &found, sizeof found);
}

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
    find_demangler(unwind);
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
