/* SPDX-License-Identifier: Apache-2.0 */
#include "stall_stack.h"

#include "known_tables.h"
#include "record_extend.h"
#include "stall_proc.h"
#include "stray_rows.h"
#include "tables.h"

#include <elf.h>
#include <link.h>
#include <string.h>

#define CODES_MAX 2048u         /* mappings that have code */
#define PATH_BYTES (128u << 10) /* of all of them */
#define NAME_BYTES (256u << 10) /* of those that have rows, their build ids, and Python's */
#define NAMES_AHEAD 2048u
#define HEADERS_MAX 64u /* program headers */
#define NOTE_BYTES_MAX 1024u
#define DYNAMIC_MAX 64u      /* entries of a dynamic section */
#define SYMBOL_BYTES_MAX 32u /* of those that are asked for */
#define CHAIN_MAX 64u        /* symbols of a hash value */

struct code {
    uint64_t start, end, offset, device, inode;
    uint64_t file; /* where the file's first byte is mapped; 0: not known */
    const char *path;
    uint32_t path_bytes;
    bool is_said, is_searched;
};

/* What is known, and what was before, so that a mapping which stays is said once. */
static struct code codes[2][CODES_MAX];
static unsigned code_count[2], now;
static char paths[PATH_BYTES]; /* of the present ones */
static size_t path_bytes;
static char names[NAME_BYTES]; /* names of the process refer to it: nothing in it ever changes */
static size_t name_bytes;
static unsigned file_table;

bool code_prepare(unsigned number)
{
    file_table = number;
    code_count[0] = code_count[1] = 0;
    return tables_make_name_room(NAMES_AHEAD);
}

/* ---- mappings -------------------------------------------------------------------------------- */

struct loading {
    struct code_stack *stacks;
    unsigned stack_count, before; /* looked through, of what was known */
    struct proc_map first;        /* the last mapping of a file's first byte */
};

static bool is_same_code(const struct code *a, const struct code *b)
{
    return a->start == b->start && a->end == b->end && a->offset == b->offset &&
           a->device == b->device && a->inode == b->inode;
}

/* Both lists have rising addresses. */
static void take_over(struct loading *loading, struct code *code)
{
    const struct code *before = codes[!now];
    while (loading->before < code_count[!now] && before[loading->before].start < code->start)
        loading->before++;
    if (loading->before == code_count[!now] || !is_same_code(&before[loading->before], code))
        return;
    code->is_said = before[loading->before].is_said;
    code->is_searched = before[loading->before].is_searched;
}

static void add_code(struct loading *loading, const struct proc_map *map)
{
    const struct proc_map *first = &loading->first;
    if (code_count[now] == CODES_MAX)
        return;
    struct code *code = &codes[now][code_count[now]++];
    *code =
        (struct code){map->start, map->end, map->offset, map->device, map->inode, 0, NULL, 0, 0, 0};
    if (map->offset == 0)
        code->file = map->start;
    else if (map->inode && map->inode == first->inode && map->device == first->device)
        code->file = first->start;
    if (map->path_bytes && map->path_bytes <= sizeof paths - path_bytes) {
        code->path = memcpy(paths + path_bytes, map->path, map->path_bytes);
        code->path_bytes = (uint32_t)map->path_bytes;
        path_bytes += map->path_bytes;
    }
    take_over(loading, code);
}

static bool is_main_stack(const struct proc_map *map)
{
    return map->path_bytes == 7 && memcmp(map->path, "[stack]", 7) == 0;
}

static void stall_on_map(void *context, const struct proc_map *map)
{
    struct loading *loading = context;
    for (unsigned i = 0; i < loading->stack_count; i++) {
        struct code_stack *stack = &loading->stacks[i];
        if (stack->address ? stack->address >= map->start && stack->address < map->end
                           : is_main_stack(map)) {
            stack->start = map->start;
            stack->end = map->end;
        }
    }
    if (map->offset == 0 && map->inode)
        loading->first = *map;
    if (map->is_code)
        add_code(loading, map);
}

bool code_load(struct code_stack *stacks, unsigned count)
{
    struct loading loading = {.stacks = stacks, .stack_count = count};
    now = !now;
    code_count[now] = 0;
    path_bytes = 0;
    return proc_each_map(stall_on_map, &loading);
}

/* The last one that begins at the address or below. */
static struct code *code_up_to(uint64_t address)
{
    unsigned from = 0, to = code_count[now];
    while (from < to) {
        const unsigned middle = (from + to) / 2;
        if (address < codes[now][middle].start)
            to = middle;
        else
            from = middle + 1;
    }
    return from ? &codes[now][from - 1] : NULL;
}

static struct code *stall_find_code(uint64_t address)
{
    struct code *code = code_up_to(address);
    return code && address < code->end ? code : NULL;
}

bool code_is_at(uint64_t address)
{
    return stall_find_code(address) != NULL;
}

/* ---- build ids and symbols ------------------------------------------------------------------- */

unsigned rbwp_extend_build_id(const char *notes, size_t bytes, char *digits_out)
{
    static const char digits[] = "0123456789abcdef";
    ElfW(Nhdr) note;
    for (size_t at = 0; bytes - at >= sizeof note;) {
        memcpy(&note, notes + at, sizeof note);
        at += sizeof note;
        const size_t name = (note.n_namesz + (size_t)3) & ~(size_t)3;
        const size_t data = (note.n_descsz + (size_t)3) & ~(size_t)3;
        if (name > bytes - at || data > bytes - at - name)
            return 0;
        const unsigned char *id = (const unsigned char *)notes + at + name;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
            memcmp(notes + at, "GNU", 4) == 0 && note.n_descsz <= CODE_BUILD_ID_MAX / 2) {
            for (unsigned i = 0; i < note.n_descsz; i++) {
                digits_out[2 * i] = digits[id[i] >> 4];
                digits_out[2 * i + 1] = digits[id[i] & 15];
            }
            return 2 * note.n_descsz;
        }
        at += name + data;
    }
    return 0;
}

/* How many program headers there are in headers, and what is added to their addresses. */
static unsigned read_headers(uint64_t base, ElfW(Phdr) * headers, uint64_t *shift_out)
{
    ElfW(Ehdr) elf;
    if (proc_read_memory(&elf, base, sizeof elf) != sizeof elf ||
        memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 || elf.e_phentsize != sizeof *headers ||
        elf.e_phnum > HEADERS_MAX)
        return 0;
    const size_t bytes = elf.e_phnum * sizeof *headers;
    unsigned i = 0;
    if (proc_read_memory(headers, base + elf.e_phoff, bytes) != bytes)
        return 0;
    while (i < elf.e_phnum && headers[i].p_type != PT_LOAD)
        i++;
    if (i == elf.e_phnum)
        return 0;
    *shift_out = base - (headers[i].p_vaddr - headers[i].p_offset);
    return elf.e_phnum;
}

unsigned code_build_id(uint64_t base, char *digits_out)
{
    static ElfW(Phdr) headers[HEADERS_MAX];
    char notes[NOTE_BYTES_MAX];
    uint64_t shift;
    const unsigned count = read_headers(base, headers, &shift);
    unsigned digits = 0;
    for (unsigned i = 0; i < count && !digits; i++) {
        if (headers[i].p_type != PT_NOTE)
            continue;
        const size_t bytes =
            headers[i].p_filesz < sizeof notes ? (size_t)headers[i].p_filesz : sizeof notes;
        digits = rbwp_extend_build_id(
            notes, proc_read_memory(notes, shift + headers[i].p_vaddr, bytes), digits_out);
    }
    return digits;
}

uint64_t code_new_file(void)
{
    for (unsigned i = 0; i < code_count[now]; i++) {
        const bool is_new = codes[now][i].file && !codes[now][i].is_searched;
        codes[now][i].is_searched = true;
        if (is_new)
            return codes[now][i].file;
    }
    return 0;
}

/* Addresses in a dynamic section are the loader's, who has added the shift, or as in the file. */
static bool read_dynamic(uint64_t base, struct code_symbols *symbols)
{
    static ElfW(Phdr) headers[HEADERS_MAX];
    ElfW(Dyn) entries[DYNAMIC_MAX] = {{0}};
    const unsigned count = read_headers(base, headers, &symbols->shift);
    unsigned i = 0;
    while (i < count && headers[i].p_type != PT_DYNAMIC)
        i++;
    if (i == count)
        return false;
    (void)proc_read_memory(entries, symbols->shift + headers[i].p_vaddr,
                           headers[i].p_memsz < sizeof entries ? (size_t)headers[i].p_memsz
                                                               : sizeof entries);
    for (i = 0; i < DYNAMIC_MAX && entries[i].d_tag != DT_NULL; i++) {
        uint64_t *to = entries[i].d_tag == DT_GNU_HASH ? &symbols->hash
                       : entries[i].d_tag == DT_SYMTAB ? &symbols->table
                       : entries[i].d_tag == DT_STRTAB ? &symbols->texts
                                                       : NULL;
        if (to)
            *to = entries[i].d_un.d_ptr + (entries[i].d_un.d_ptr < base ? symbols->shift : 0);
    }
    return symbols->hash && symbols->table && symbols->texts;
}

bool code_symbols(uint64_t base, struct code_symbols *symbols_out)
{
    const size_t bytes = sizeof symbols_out->header;
    *symbols_out = (struct code_symbols){0};
    return read_dynamic(base, symbols_out) &&
           proc_read_memory(symbols_out->header, symbols_out->hash, bytes) == bytes &&
           symbols_out->header[0];
}

static bool is_symbol(const struct code_symbols *symbols, uint64_t number, const char *name,
                      ElfW(Sym) * symbol)
{
    char text[SYMBOL_BYTES_MAX];
    const size_t bytes = strlen(name) + 1;
    return proc_read_memory(symbol, symbols->table + number * sizeof *symbol, sizeof *symbol) ==
               sizeof *symbol &&
           symbol->st_shndx != SHN_UNDEF && bytes <= sizeof text &&
           proc_read_memory(text, symbols->texts + symbol->st_name, bytes) == bytes &&
           memcmp(text, name, bytes) == 0;
}

/* A bucket has the number of the first symbol with one of its hash values; the values lie behind
 * all buckets, each with a 1 as its last bit at a bucket's end. */
uint64_t code_symbol(const struct code_symbols *symbols, const char *name)
{
    const uint32_t bucket_count = symbols->header[0], first = symbols->header[1];
    const uint64_t buckets =
        symbols->hash + sizeof symbols->header + symbols->header[2] * (uint64_t)sizeof(ElfW(Addr));
    uint32_t hash = 5381, number = 0, value = 0;
    ElfW(Sym) symbol;
    for (const char *at = name; *at; at++)
        hash = hash * 33 + (unsigned char)*at;
    (void)proc_read_memory(&number, buckets + hash % bucket_count * sizeof number, sizeof number);
    for (unsigned i = 0; number >= first && number && i < CHAIN_MAX && !(value & 1);
         i++, number++) {
        const uint64_t place = buckets + ((uint64_t)bucket_count + number - first) * sizeof value;
        if (proc_read_memory(&value, place, sizeof value) != sizeof value)
            return 0;
        if ((value | 1) == (hash | 1) && is_symbol(symbols, number, name, &symbol))
            return symbols->shift + symbol.st_value;
    }
    return 0;
}

/* ---- rows ------------------------------------------------------------------------------------ */

uint64_t code_name(const char *text, size_t bytes)
{
    uint64_t number = 0;
    if (bytes == 0 || bytes > sizeof names - name_bytes)
        return 0;
    char *own = memcpy(names + name_bytes, text, bytes);
    if (tables_name_that_stays(&own, bytes, &number) == RBWP_OK && !own)
        name_bytes += bytes;
    return number;
}

static bool say_code(struct code *code)
{
    char digits[CODE_BUILD_ID_MAX];
    if (!code || code->is_said)
        return true;
    const uint64_t path = code_name(code->path, code->path_bytes);
    const uint64_t cells[COLUMNS_code_file] = {
        [AT_code_file_start] = code->start,
        [AT_code_file_end] = code->end,
        [AT_code_file_offset] = code->offset,
        [AT_code_file_path] = path,
        [AT_code_file_build_id] =
            code->file ? code_name(digits, code_build_id(code->file, digits)) : 0,
    };
    if (code->path_bytes && !path)
        return false;
    stray_rows_add(file_table, cells);
    code->is_said = true;
    return true;
}

bool code_say(uint64_t address)
{
    return say_code(stall_find_code(address));
}

bool code_say_below(uint64_t address)
{
    return say_code(code_up_to(address));
}
