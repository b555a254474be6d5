/* SPDX-License-Identifier: Apache-2.0 */
/* What single statements say. */
#include "ptx.h"
#include "ptx_text.h"

#include <string.h>

bool ptx_begins(const struct ptx_module *module, struct ptx_span span, const char *text)
{
    size_t count = strlen(text);
    return span.end - span.begin >= count && memcmp(module->text + span.begin, text, count) == 0;
}

bool ptx_is(const struct ptx_module *module, struct ptx_span span, const char *text)
{
    return span.end - span.begin == strlen(text) && ptx_begins(module, span, text);
}

/* The next number from *at on, before end; 0 where none stands. */
static uint32_t ptx_read_number(const struct ptx_module *module, uint32_t *at, uint32_t end)
{
    uint64_t value = 0;
    while (*at < end && (module->text[*at] == ' ' || module->text[*at] == '\t'))
        ++*at;
    for (; *at < end && ptx_digit(module->text[*at]); ++*at)
        value = value > UINT32_MAX ? value : value * 10 + (uint64_t)(module->text[*at] - '0');
    return value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

static struct ptx_place ptx_read_place(const struct ptx_module *module, uint32_t at, uint32_t end)
{
    struct ptx_place read;
    read.file = ptx_read_number(module, &at, end);
    read.line = ptx_read_number(module, &at, end);
    read.column = ptx_read_number(module, &at, end);
    return read;
}

struct ptx_loc ptx_loc(const struct ptx_module *module, const struct ptx_statement *statement)
{
    static const char inlined[] = "inlined_at";
    const size_t word = sizeof inlined - 1;
    struct ptx_span span = statement->span;
    struct ptx_loc loc = {.at = ptx_read_place(module, statement->name.end, span.end)};
    for (uint32_t at = statement->name.end; at + word <= span.end && !loc.inlined; at++)
        if (memcmp(module->text + at, inlined, word) == 0) {
            loc.inlined = true;
            loc.call = ptx_read_place(module, at + (uint32_t)word, span.end);
        }
    return loc;
}

uint32_t ptx_file_number(const struct ptx_module *module, const struct ptx_statement *statement)
{
    uint32_t at = statement->name.end;
    bool file = statement->kind == PTX_DIRECTIVE && ptx_is(module, statement->name, ".file");
    return file ? ptx_read_number(module, &at, statement->span.end) : 0;
}

struct ptx_span ptx_file(const struct ptx_module *module, uint32_t wanted)
{
    for (uint32_t i = 0; i < module->count; i++) {
        const struct ptx_statement *statement = &module->statements[i];
        struct ptx_span span = statement->span;
        if (wanted == 0 || ptx_file_number(module, statement) != wanted)
            continue;
        const char *end = module->text + span.end;
        const char *open = memchr(module->text + span.begin, '"', span.end - span.begin);
        const char *close = open ? memchr(open + 1, '"', (size_t)(end - open - 1)) : NULL;
        if (close)
            return (struct ptx_span){(uint32_t)(open + 1 - module->text),
                                     (uint32_t)(close - module->text)};
    }
    return (struct ptx_span){0, 0};
}

uint32_t ptx_find_kernel(const struct ptx_module *module, const char *name)
{
    for (uint32_t i = 0; i < module->function_count; i++) {
        const struct ptx_function *function = &module->functions[i];
        if (function->entry && function->open != PTX_NONE &&
            (!name || ptx_is(module, function->name, name)))
            return i;
    }
    return PTX_NONE;
}

/* A parameter's name is the last name before its comma; an array's size stands behind it. */
struct ptx_span ptx_param(const struct ptx_module *module, const struct ptx_function *function,
                          uint32_t index)
{
    struct ptx_span name = {0};
    uint32_t at = function->params.begin, end = function->params.end;
    bool bracket = false, suffix = false;
    for (; at < end; at++) {
        char c = module->text[at];
        if (c == '/' && at + 1 < end && module->text[at + 1] == '/') {
            while (at < end && module->text[at] != '\n')
                at++;
            continue;
        }
        bracket = c == '[' || (bracket && c != ']');
        if (c == ',' && index-- == 0)
            return name;
        if (c == ',')
            name = (struct ptx_span){0};
        if (!ptx_name_byte(c) || bracket) {
            suffix = c == '.';
            continue;
        }
        struct ptx_span word = {at, at};
        while (word.end < end && ptx_name_byte(module->text[word.end]))
            word.end++;
        if (!suffix && !ptx_digit(c))
            name = word;
        at = word.end - 1;
        suffix = false;
    }
    return index == 0 ? name : (struct ptx_span){0};
}

/* ---- instructions ---------------------------------------------------------------------- */

/* The mnemonic up to its first dot. */
static struct ptx_span opcode(const struct ptx_module *module, struct ptx_span name)
{
    const char *dot = memchr(module->text + name.begin, '.', name.end - name.begin);
    if (dot)
        name.end = (uint32_t)(dot - module->text);
    return name;
}

enum ptx_move ptx_move(const struct ptx_module *module, const struct ptx_statement *statement)
{
    if (statement->kind != PTX_INSTRUCTION)
        return PTX_ON;
    struct ptx_span name = opcode(module, statement->name);
    if (ptx_is(module, name, "bra"))
        return PTX_BRANCH;
    if (ptx_is(module, name, "brx"))
        return PTX_BRANCH_INDEXED;
    return ptx_is(module, name, "ret") || ptx_is(module, name, "exit") ||
                   ptx_is(module, name, "trap")
               ? PTX_LEAVE
               : PTX_ON;
}

enum ptx_class ptx_class(const struct ptx_module *module, const struct ptx_statement *statement)
{
    static const struct {
        const char *begins;
        enum ptx_class unit;
    } classes[] = {{"mma.", PTX_MMA},          {"wmma.", PTX_MMA},
                   {"wgmma.", PTX_WGMMA},      {"tcgen05.", PTX_TCGEN05},
                   {"cp.async.bulk", PTX_TMA}, {"cp.reduce.async.bulk", PTX_TMA},
                   {"cp.async", PTX_CP_ASYNC}};
    if (statement->kind == PTX_INSTRUCTION)
        for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++)
            if (ptx_begins(module, statement->name, classes[i].begins))
                return classes[i].unit;
    return PTX_SCALAR;
}

const char *ptx_class_name(enum ptx_class unit)
{
    static const char *const names[] = {"scalar", "mma", "wgmma", "tcgen05", "cp.async", "tma"};
    return names[unit];
}

bool ptx_instruction_known(const struct ptx_module *module, const struct ptx_statement *statement)
{
    static const char known[] =
        " abs activemask add addc alloca and applypriority atom bar barrier bfe bfi bfind bmsk bra "
        "brev brkpt brx call clusterlaunchcontrol clz cnot copysign cos cp createpolicy cvt cvta "
        "discard div dp2a dp4a elect ex2 exit fence fma fns getctarank griddepcontrol isspacep "
        "istypep ld ldmatrix ldu lg2 lop3 mad mad24 madc mapa match max mbarrier membar min mma "
        "mov "
        "movmatrix mul mul24 multimem nanosleep neg not or pmevent popc prefetch prefetchu prmt "
        "rcp "
        "red redux rem ret rsqrt sad selp set setmaxnreg setp shf shfl shl shr sin slct sqrt st "
        "stackrestore stacksave stmatrix sub subc suld suq sured sust szext tanh tcgen05 tensormap "
        "testp tex tld4 trap txq vabsdiff vabsdiff2 vabsdiff4 vadd vadd2 vadd4 vavrg2 vavrg4 vmad "
        "vmax vmax2 vmax4 vmin vmin2 vmin4 vote vset vset2 vset4 vshl vshr vsub vsub2 vsub4 wgmma "
        "wmma xor ";
    struct ptx_span name = opcode(module, statement->name);
    char word[32] = " ";
    size_t count = name.end - name.begin;
    if (count == 0 || count > sizeof word - 3)
        return false;
    memcpy(word + 1, module->text + name.begin, count);
    memcpy(word + 1 + count, " ", 2);
    return strstr(known, word) != NULL;
}
