/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked for, checked against the module; the plan; and the text with all of it. */
#include "ptx_probe.h"

#include "ptx_cell.h"
#include "ptx_emit.h"
#include "ptx_flow.h"
#include "ptx_text.h"
#include "ptx_lines.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- where the probes of one kernel go, by mode ---------------------------------------------- */
/*
 * Modes as lists of probes.
 *
 * Blocks of lines become the statements that begin in them: START goes before the first, END behind
 * the last, where that may be in the middle of a line. A block of comments has its pair before what
 * follows.
 */

struct planner {
    struct ptx_probes *probes;
    const struct ptx_module *module;
    const struct ptx_options *options;
    struct ptx_error *error;
    uint32_t kernel;
    const struct ptx_function *function;
};

/* ---- probes ---------------------------------------------------------------------------- */

static bool has_id(struct ptx_ids ids, uint32_t id)
{
    uint32_t low = 0, high = ids.count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (ids.ids[middle] < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < ids.count && ids.ids[low] == id;
}

/* Takes the next number and the options' choice, and keeps it if anything is left of it. */
static bool add_probe_of(struct planner *planner, struct ptx_probe probe, uint32_t id)
{
    struct ptx_probes *probes = planner->probes;
    const struct ptx_options *options = planner->options;
    probe.id = id;
    probe.kernel = planner->kernel;
    probe.start = probe.start && (!options->active || has_id(options->active_start, id));
    probe.end = probe.end && (!options->active || has_id(options->active_end, id));
    if (!probe.start && !probe.end)
        return true;
    struct ptx_probe *all = ptx_grow(probes->probes, probes->count, &probes->room, sizeof *all);
    if (!all)
        return ptx_fail_plain(planner->error, "out of memory");
    probes->probes = all;
    all[probes->count++] = probe;
    return true;
}

static bool add_probe(struct planner *planner, struct ptx_probe probe)
{
    return add_probe_of(planner, probe, planner->probes->ids++);
}

static bool wanted_file(const struct planner *planner, uint32_t file)
{
    return planner->options->file == 0 || planner->options->file == file;
}

/* ---- blocks of lines ------------------------------------------------------------------- */

/* Where a probe of these lines begins and ends in the text. */
static void place_lines(const struct ptx_module *module, struct ptx_probe *probe)
{
    uint32_t first = ptx_line_first(module, probe->entry);
    uint32_t last = ptx_line_last(module, probe->exit);
    probe->entry_at = first == PTX_NONE ? module->bytes : ptx_before(module, first);
    probe->exit_at = probe->entry_at;
    if (first != PTX_NONE && last != PTX_NONE && first <= last)
        probe->exit_at = ptx_after(module, last);
}

static bool add_lines(struct planner *planner, struct ptx_probe probe)
{
    place_lines(planner->module, &probe);
    return add_probe(planner, probe);
}

/* A wait for an mbarrier has no probe of its own: the one that begins before it ends behind. */
static bool plan_blocks(struct planner *planner, const struct ptx_lines *lines)
{
    struct ptx_probe probe = {0};
    bool open = false;
    for (uint32_t i = 0; i < lines->count; i++) {
        const struct ptx_line_block *block = &lines->blocks[i];
        if (block->is_start || block->is_end || block->is_sync ||
            !wanted_file(planner, block->file))
            continue;
        bool before = i + 1 < lines->count && lines->blocks[i + 1].is_sync;
        bool behind = i > 0 && lines->blocks[i - 1].is_sync;
        probe.file = block->file;
        probe.loc = block->loc;
        probe.exit = block->exit;
        if (behind && open && !add_lines(planner, probe))
            return false;
        open = open && !behind;
        if (behind && !before)
            continue;
        probe = (struct ptx_probe){.file = block->file,
                                   .loc = block->loc,
                                   .entry = block->entry,
                                   .exit = block->exit,
                                   .start = true,
                                   .end = true};
        open = before;
        if (!before && !add_lines(planner, probe))
            return false;
    }
    return true;
}

/* The last statement of a block that ends the kernel; PTX_NONE if the block does not. */
static uint32_t leaving(const struct planner *planner, const struct ptx_line_block *block)
{
    uint32_t last = ptx_line_last(planner->module, block->exit);
    bool leaves = block->is_end && last != PTX_NONE &&
                  ptx_move(planner->module, &planner->module->statements[last]) == PTX_LEAVE;
    return leaves ? last : PTX_NONE;
}

/* One number: START before the second block, END behind the last but one, and before each earlier
 * end of the kernel. */
static bool plan_entire(struct planner *planner, const struct ptx_lines *lines)
{
    if (lines->count < 3)
        return true;
    uint32_t id = planner->probes->ids++, before_last = lines->count - 2;
    struct ptx_probe probe = {.loc = -1, .entry = lines->blocks[1].entry, .start = true};
    probe.exit = lines->blocks[before_last].exit;
    place_lines(planner->module, &probe);
    struct ptx_probe end = probe;
    end.end = true;
    end.start = false;
    if (!add_probe_of(planner, probe, id))
        return false;
    for (uint32_t i = 2; i < lines->count; i++) {
        uint32_t leave = leaving(planner, &lines->blocks[i]);
        bool ends_early = leaving(planner, &lines->blocks[before_last]) != PTX_NONE;
        if (i == lines->count - 1 && !ends_early)
            return add_probe_of(planner, end, id);
        if (leave == PTX_NONE)
            continue;
        struct ptx_probe early = end;
        early.exit = lines->blocks[i].exit;
        early.exit_at = ptx_before(planner->module, leave);
        if (!add_probe_of(planner, early, id))
            return false;
    }
    return true;
}

/* Each instruction of a block; what leaves it has no END. */
static bool plan_instructions(struct planner *planner, const struct ptx_line_block *block)
{
    const struct ptx_module *module = planner->module;
    uint32_t at = ptx_line_first(module, block->entry);
    for (; at < planner->function->close && module->statements[at].line <= block->exit; at++) {
        const struct ptx_statement *statement = &module->statements[at];
        if (statement->kind != PTX_INSTRUCTION)
            continue;
        struct ptx_probe probe = {.file = block->file,
                                  .loc = block->loc,
                                  .entry = statement->line,
                                  .exit = statement->last_line,
                                  .entry_at = ptx_before(module, at),
                                  .exit_at = ptx_after(module, at),
                                  .start = true,
                                  .end = ptx_move(module, statement) == PTX_ON};
        if (!add_probe(planner, probe))
            return false;
    }
    return true;
}

static bool plan_single(struct planner *planner, const struct ptx_lines *lines)
{
    for (uint32_t i = 0; i < lines->count; i++) {
        const struct ptx_line_block *block = &lines->blocks[i];
        if (!block->is_start && !block->is_end && !block->is_sync &&
            wanted_file(planner, block->file) && !plan_instructions(planner, block))
            return false;
    }
    return true;
}

/* ---- blocks of the flow ---------------------------------------------------------------- */

static struct ptx_probe between(const struct planner *planner, uint32_t first, uint32_t last,
                                struct ptx_place loc)
{
    const struct ptx_module *module = planner->module;
    const struct ptx_statement *end = &module->statements[last];
    bool leaves = ptx_move(module, end) != PTX_ON;
    return (struct ptx_probe){.file = loc.line || loc.file ? loc.file : 1,
                              .loc = loc.line || loc.file ? (int64_t)loc.line : -1,
                              .entry = module->statements[first].line,
                              .exit = end->last_line,
                              .entry_at = ptx_before(module, first),
                              .exit_at =
                                  leaves ? ptx_before(module, last) : ptx_after(module, last),
                              .start = true,
                              .end = true};
}

static bool plan_cfg(struct planner *planner)
{
    struct ptx_flow flow;
    if (!ptx_flow(&flow, planner->module, planner->function, planner->error))
        return false;
    bool planned = true;
    for (uint32_t i = 0; planned && i < flow.count; i++) {
        const struct ptx_block *block = &flow.blocks[i];
        if (block->begin == PTX_NONE)
            continue;
        struct ptx_probe probe = between(planner, block->begin, block->end, block->loc.at);
        if (wanted_file(planner, probe.file))
            planned = add_probe(planner, probe);
    }
    ptx_flow_free(&flow);
    return planned;
}

/* A run ends where an instruction of another class comes, or a brace or label. */
static bool plan_mma(struct planner *planner)
{
    const struct ptx_module *module = planner->module;
    struct ptx_place loc = {0};
    for (uint32_t i = planner->function->open + 1; i < planner->function->close; i++) {
        const struct ptx_statement *statement = &module->statements[i];
        enum ptx_class unit = ptx_class(module, statement);
        if (statement->kind == PTX_LOC)
            loc = ptx_loc(module, statement).at;
        if (unit == PTX_SCALAR)
            continue;
        uint32_t last = i;
        for (uint32_t next = i + 1; next < planner->function->close; next++) {
            if (ptx_class(module, &module->statements[next]) == unit)
                last = next;
            else if (module->statements[next].kind != PTX_LOC)
                break;
        }
        struct ptx_probe probe = between(planner, i, last, loc);
        probe.unit = unit;
        if (wanted_file(planner, probe.file) && !add_probe(planner, probe))
            return false;
        for (; i < last; i++)
            if (module->statements[i + 1].kind == PTX_LOC)
                loc = ptx_loc(module, &module->statements[i + 1]).at;
    }
    return true;
}

/* ---- modes ----------------------------------------------------------------------------- */

typedef bool lines_fn(struct planner *planner, const struct ptx_lines *lines);

static bool plan_by_lines(struct planner *planner, lines_fn *plan)
{
    struct ptx_lines lines;
    if (!ptx_lines(&lines, planner->module, planner->function))
        return ptx_fail_plain(planner->error, "out of memory");
    bool planned = plan(planner, &lines);
    ptx_lines_free(&lines);
    return planned;
}

/* Adds those of the module's function kernel to probes, numbered from probes->ids on. */
static bool ptx_plan(struct ptx_probes *probes, const struct ptx_module *module, uint32_t kernel,
                     const struct ptx_options *options, struct ptx_error *error)
{
    struct planner planner = {probes, module, options, error, kernel, &module->functions[kernel]};
    switch (options->mode) {
    case PTX_MODE_BLOCK:
    case PTX_MODE_WARP:
        return plan_by_lines(&planner, plan_blocks);
    case PTX_MODE_SINGLE:
        return plan_by_lines(&planner, plan_single);
    case PTX_MODE_ENTIRE:
        return plan_by_lines(&planner, plan_entire);
    case PTX_MODE_CFG:
        return plan_cfg(&planner);
    case PTX_MODE_MMA:
        return plan_mma(&planner);
    case PTX_MODE_CONFIG:
        break;
    }
    return true;
}

/* ---- which parameter has the buffer's address ------------------------------------------------ */

#define PTX_PARAM_NAME_BYTES 256

struct ptx_param_choice {
    const struct ptx_module *module;
    const struct ptx_function *function;
    const struct ptx_options *options;
    char
        *param; /* PTX_PARAM_NAME_BYTES: the choice, as it was before where there is none to make */
    struct ptx_error *error;
};

/* The type of a parameter is the word before its name, which other words may stand before. */
static bool is_pointer_wide(const struct ptx_module *module, const struct ptx_function *function,
                            struct ptx_span name)
{
    uint32_t begin = name.begin;
    while (begin > function->params.begin && module->text[begin - 1] != ',')
        begin--;
    const char *text = module->text + begin;
    size_t count = name.begin - begin;
    return memmem(text, count, ".u64", 4) || memmem(text, count, ".b64", 4) ||
           memmem(text, count, ".s64", 4);
}

/* n of a NAME_param_<n> that begins at name, PTX_NONE if it is none. */
static uint32_t param_number(const char *text, const char *end, const char *prefix, size_t count)
{
    uint64_t number = 0;
    if ((size_t)(end - text) <= count || memcmp(text, prefix, count) != 0 || text[count] < '0' ||
        text[count] > '9')
        return PTX_NONE;
    for (text += count; text < end && *text >= '0' && *text <= '9' && number < PTX_NONE; text++)
        number = number * 10 + (uint64_t)(*text - '0');
    return number < PTX_NONE ? (uint32_t)number : PTX_NONE;
}

/* The greatest n of all NAME_param_<n> in the text, wherever they are named; PTX_NONE: none. */
static uint32_t greatest_param(const struct ptx_module *module, const char *prefix)
{
    uint32_t greatest = PTX_NONE;
    size_t count = strlen(prefix);
    const char *at = module->text, *end = at + module->bytes;
    while ((at = memmem(at, (size_t)(end - at), prefix, count))) {
        uint32_t number = param_number(at, end, prefix, count);
        if (number != PTX_NONE && (greatest == PTX_NONE || number > greatest))
            greatest = number;
        at += count;
    }
    return greatest;
}

static bool third_from_last(const struct ptx_param_choice *choice)
{
    const struct ptx_function *function = choice->function;
    char *param = choice->param;
    const size_t room = PTX_PARAM_NAME_BYTES;
    int name = (int)(function->name.end - function->name.begin);
    const char *text = choice->module->text + function->name.begin;
    if ((size_t)name + 32 > room)
        return ptx_fail(choice->error, choice->module, function->name.begin,
                        "this name is too long: name the parameter");
    snprintf(param, room, "%.*s_param_", name, text);
    uint32_t greatest = greatest_param(choice->module, param);
    if (greatest == PTX_NONE || greatest < 2)
        return ptx_fail(choice->error, choice->module, function->name.begin,
                        "the buffer is the third parameter from last, and of %.80s<n> there are %u",
                        param, greatest == PTX_NONE ? 0 : greatest + 1);
    snprintf(param, room, "%.*s_param_%u", name, text, greatest - 2);
    return true;
}

static bool check_param(const struct ptx_param_choice *choice)
{
    const struct ptx_function *function = choice->function;
    const char *wanted = choice->param;
    for (uint32_t i = 0;; i++) {
        struct ptx_span name = ptx_param(choice->module, function, i);
        if (name.end == 0)
            return ptx_fail(choice->error, choice->module, function->name.begin,
                            "this kernel has no parameter %.150s", wanted);
        if (!ptx_is(choice->module, name, wanted))
            continue;
        return is_pointer_wide(choice->module, function, name) ||
               ptx_fail(choice->error, choice->module, name.begin,
                        "the buffer's parameter has not 64 bits");
    }
}

/* ---- room for one more ----------------------------------------------------------------- */

/* What stands behind word in the text, as a number; otherwise where it is not there. */
static uint64_t number_behind(const char *text, const char *word, uint64_t otherwise)
{
    const char *at = strstr(text, word);
    return at ? strtoull(at + strlen(word), NULL, 10) : otherwise;
}

/* Bits of the type: the number behind its letter. */
static uint64_t type_bits(const char *text)
{
    static const char *const letters[] = {".u", ".s", ".b", ".f"};
    for (const char *at = strchr(text, '.'); at; at = strchr(at + 1, '.'))
        for (int i = 0; i < 4; i++)
            if (strncmp(at, letters[i], 2) == 0 && at[2] >= '0' && at[2] <= '9')
                return strtoull(at + 2, NULL, 10);
    return 64;
}

/* Where the next parameter may begin, behind the one that is declared in text and begins at or
 * behind offset. Of a pointer .align is that of what it points to. */
static uint64_t behind_param(const char *text, uint64_t offset)
{
    uint64_t bytes = type_bits(text) / 8, align = bytes ? bytes : 1;
    if (!strstr(text, ".ptr"))
        align = number_behind(text, ".align ", align);
    if (align == 0 || align > 4096)
        align = 1;
    uint64_t count = number_behind(text, "[", 1);
    return (offset + align - 1) / align * align + bytes * (count < UINT32_MAX ? count : UINT32_MAX);
}

static uint64_t all_params(const struct ptx_module *module, const struct ptx_function *function)
{
    uint64_t offset = 0;
    uint32_t begin = function->params.begin;
    while (begin < function->params.end) {
        char text[256];
        const char *from = module->text + begin;
        const char *comma = memchr(from, ',', function->params.end - begin);
        size_t count = comma ? (size_t)(comma - from) : function->params.end - begin;
        size_t kept = count < sizeof text ? count : sizeof text - 1;
        memcpy(text, from, kept);
        text[kept] = '\0';
        if (strstr(text, ".param"))
            offset = behind_param(text, offset);
        begin += (uint32_t)count + 1;
    }
    return offset;
}

/* Version 8.1 has more of it, for GPUs of this decade. */
static uint64_t param_room(const struct ptx_module *module)
{
    for (uint32_t i = 0; i < module->count; i++) {
        struct ptx_span last = module->statements[i].last;
        if (!ptx_is(module, module->statements[i].name, ".version"))
            continue;
        bool old = ptx_is(module, last, "8.0") || module->text[last.begin] < '8';
        return old && last.end - last.begin == 3 ? 4352 : 32764;
    }
    return 4352;
}

static bool room_for_param(const struct ptx_param_choice *choice)
{
    uint64_t used = all_params(choice->module, choice->function), room = param_room(choice->module);
    return (used + 7) / 8 * 8 + 8 <= room ||
           ptx_fail(choice->error, choice->module, choice->function->name.begin,
                    "this kernel has no room for another parameter: %llu of %llu bytes are taken",
                    (unsigned long long)used, (unsigned long long)room);
}

/* False with the error filled: there is none of that name or index, it is too narrow, or there is
 * no room for one more. */
static bool ptx_choose_param(const struct ptx_param_choice *choice)
{
    char *param = choice->param;
    const size_t room = PTX_PARAM_NAME_BYTES;
    switch (choice->options->binding) {
    case PTX_BIND_VARIABLE:
        return true;
    case PTX_BIND_APPEND:
        snprintf(param, room, "%s", PTX_BUFFER_NAME);
        return room_for_param(choice);
    case PTX_BIND_PARAM:
        break;
    }
    if (!choice->options->param)
        return third_from_last(choice) && check_param(choice);
    if (strlen(choice->options->param) >= room)
        return ptx_fail_plain(choice->error, "a parameter's name has below %zu bytes", room);
    snprintf(param, room, "%s", choice->options->param);
    return check_param(choice);
}

/* ---- ptx probe ------------------------------------------------------------------------------- */

#define BUFFER_BYTES_MAX (UINT64_C(1) << 40)

struct maker {
    struct ptx_probes *probes;
    const struct ptx_module *module;
    const struct ptx_options *options;
    struct ptx_error *error;
    struct ptx_edits edits;
};

const char *ptx_mode_name(enum ptx_mode mode)
{
    static const char *const names[PTX_MODE_COUNT] = {"block", "single", "entire", "config",
                                                      "cfg",   "mma",    "warp"};
    return names[mode];
}

/* ---- what the options come to ---------------------------------------------------------- */

static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t count)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ at[i]) * UINT64_C(1099511628211);
    return hash;
}

static uint64_t hash_number(uint64_t hash, uint64_t number)
{
    unsigned char bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(number >> (8 * i));
    return hash_bytes(hash, bytes, sizeof bytes);
}

/* Of all that decides on what a buffer holds; not 0. */
static uint64_t hash_all(const struct maker *maker)
{
    const struct ptx_options *options = maker->options;
    uint64_t hash =
        hash_bytes(UINT64_C(14695981039346656037), maker->module->text, maker->module->bytes);
    const uint64_t numbers[] = {options->mode,     maker->probes->cells, maker->probes->lane,
                                options->capacity, options->file,        options->active,
                                options->binding,  maker->probes->lanes};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        hash = hash_number(hash, numbers[i]);
    for (uint32_t i = 0; i < options->range_count; i++) {
        hash = hash_number(hash, options->ranges[i].first);
        hash = hash_number(hash, options->ranges[i].step);
    }
    const struct ptx_ids *lists[] = {&options->active_start, &options->active_end};
    for (int list = 0; list < 2; list++)
        for (uint32_t i = 0; i < lists[list]->count; i++)
            hash = hash_number(hash, lists[list]->ids[i]);
    if (options->kernel)
        hash = hash_bytes(hash, options->kernel, strlen(options->kernel));
    return hash ? hash : 1;
}

static bool count_lanes(struct maker *maker)
{
    struct ptx_probes *probes = maker->probes;
    const struct ptx_options *options = maker->options;
    for (uint32_t i = 0; i < options->range_count; i++) {
        const struct ptx_range *range = &options->ranges[i];
        if (range->last < range->first || range->step == 0)
            return ptx_fail_plain(maker->error, "the set of threads is empty");
        probes->lanes += (range->last - range->first) / range->step + 1;
        if (probes->lanes > BUFFER_BYTES_MAX)
            break;
    }
    if (probes->lanes == 0)
        return ptx_fail_plain(maker->error, "the set of threads is empty");
    if (options->capacity == 0 || options->capacity > INT32_MAX)
        return ptx_fail_plain(maker->error, "a lane has 1 to %d cells", INT32_MAX);
    uint64_t lane = probes->cells == PTX_CELLS_WIDE
                        ? PTX_WIDE_BYTES * ((uint64_t)options->capacity + 1)
                        : (uint64_t)PTX_COMPAT_BYTES * options->capacity;
    if (probes->lanes > BUFFER_BYTES_MAX / lane)
        return ptx_fail_plain(maker->error, "so many threads and cells need more than 1 TiB");
    probes->buffer_bytes =
        probes->lanes * lane + (probes->cells == PTX_CELLS_WIDE ? PTX_WIDE_BYTES : 0);
    return true;
}

static bool resolve(struct maker *maker)
{
    const struct ptx_options *options = maker->options;
    struct ptx_probes *probes = maker->probes;
    bool ours = options->mode > PTX_MODE_CONFIG;
    probes->cells = options->cells != PTX_CELLS_MODE ? options->cells
                    : ours                           ? PTX_CELLS_WIDE
                                                     : PTX_CELLS_COMPAT;
    probes->lane = options->lane != PTX_LANE_MODE   ? options->lane
                   : options->mode == PTX_MODE_WARP ? PTX_LANE_WARP
                                                    : PTX_LANE_THREAD;
    if (options->mode == PTX_MODE_CONFIG) {
        probes->cells = PTX_CELLS_COMPAT;
        probes->lane = PTX_LANE_THREAD;
        probes->lanes = 1;
        probes->buffer_bytes = PTX_CONFIG_BYTES;
    } else if (!count_lanes(maker)) {
        return false;
    }
    probes->hash = hash_all(maker);
    return true;
}

/* ---- the module ------------------------------------------------------------------------ */

static bool check_module(const struct maker *maker)
{
    const struct ptx_module *module = maker->module;
    for (uint32_t i = 0; i < module->count; i++) {
        const struct ptx_statement *statement = &module->statements[i];
        if (ptx_is(module, statement->name, ".address_size") &&
            !ptx_is(module, statement->last, "64"))
            return ptx_fail(maker->error, module, statement->last.begin,
                            "probes need addresses of 64 bits");
    }
    const char *own = memmem(module->text, module->bytes, "rbwp_ptx_", 9);
    if (!own)
        own = memmem(module->text, module->bytes, "%rbwp_", 6);
    return !own || ptx_fail(maker->error, module, (uint32_t)(own - module->text),
                            "this PTX has probes, or names like theirs");
}

static bool check_kernel(const struct maker *maker, const struct ptx_function *function)
{
    for (uint32_t i = function->open; i < function->close && !maker->options->unknown_too; i++) {
        const struct ptx_statement *statement = &maker->module->statements[i];
        int shown = (int)(statement->name.end - statement->name.begin);
        if (statement->kind == PTX_INSTRUCTION && !ptx_instruction_known(maker->module, statement))
            return ptx_fail(maker->error, maker->module, statement->name.begin,
                            "unknown instruction '%.*s': where it goes on is not known",
                            shown < 60 ? shown : 60, maker->module->text + statement->name.begin);
    }
    return true;
}

/* ---- text ------------------------------------------------------------------------------ */

static bool check_ids(const struct maker *maker)
{
    bool wide = maker->probes->cells == PTX_CELLS_WIDE;
    uint32_t most = UINT32_C(1) << (wide ? PTX_WIDE_ID_BITS : PTX_COMPAT_ID_BITS);
    return maker->probes->ids <= most ||
           ptx_fail_plain(maker->error, "%" PRIu32 " probes, and cells have numbers below %" PRIu32,
                          maker->probes->ids, most);
}

/* The instructions from *at on that may end the kernel and stand before the byte `before`. What an
 * END counts at the same byte is in front of it. */
static void emit_leaves(const struct ptx_emit *emit, const struct ptx_function *function,
                        uint32_t *at, uint32_t before)
{
    for (; *at < function->close; ++*at) {
        const struct ptx_statement *statement = &emit->module->statements[*at];
        if (ptx_before(emit->module, *at) >= before)
            return;
        if (statement->kind == PTX_INSTRUCTION && ptx_move(emit->module, statement) == PTX_LEAVE)
            ptx_emit_leave(emit, *at);
    }
}

static bool make_kernel(struct maker *maker, uint32_t kernel)
{
    const struct ptx_function *function = &maker->module->functions[kernel];
    struct ptx_probes *probes = maker->probes;
    struct ptx_emit emit = {&maker->edits, maker->module, maker->options, probes};
    struct ptx_param_choice choice = {maker->module, function, maker->options, probes->param,
                                      maker->error};
    uint32_t first = probes->count;
    if (!check_kernel(maker, function) || !ptx_choose_param(&choice) ||
        !ptx_plan(probes, maker->module, kernel, maker->options, maker->error) || !check_ids(maker))
        return false;
    if (maker->options->binding == PTX_BIND_APPEND)
        ptx_emit_param(&emit, function);
    ptx_emit_head(&emit, function);
    uint32_t leave = function->open;
    for (uint32_t i = first; i < probes->count; i++) {
        const struct ptx_probe *probe = &probes->probes[i];
        if (probe->start) {
            emit_leaves(&emit, function, &leave, probe->entry_at);
            ptx_emit_start(&emit, probe);
        }
        if (probe->end) {
            emit_leaves(&emit, function, &leave, probe->exit_at);
            ptx_emit_end(&emit, probe);
        }
    }
    if (probes->count > first)
        emit_leaves(&emit, function, &leave, UINT32_MAX);
    return true;
}

static bool make_kernels(struct maker *maker)
{
    const char *wanted = maker->options->kernel;
    bool all = wanted && strcmp(wanted, "*") == 0;
    uint32_t kernel = ptx_find_kernel(maker->module, all ? NULL : wanted);
    if (kernel == PTX_NONE)
        return wanted && !all ? ptx_fail_plain(maker->error, "no kernel '%.100s' in it", wanted)
                              : ptx_fail_plain(maker->error, "no kernel in it");
    ptx_emit_variables(
        &(struct ptx_emit){&maker->edits, maker->module, maker->options, maker->probes});
    for (uint32_t i = kernel; i < (all ? maker->module->function_count : kernel + 1); i++) {
        const struct ptx_function *function = &maker->module->functions[i];
        if (function->entry && function->open != PTX_NONE && !make_kernel(maker, i))
            return false;
    }
    maker->probes->text = ptx_print(maker->module, &maker->edits, &maker->probes->bytes);
    return maker->probes->text || ptx_fail_plain(maker->error, "out of memory");
}

bool ptx_probes(struct ptx_probes *probes, const struct ptx_module *module,
                const struct ptx_options *options, struct ptx_error *error)
{
    *probes = (struct ptx_probes){0};
    struct maker maker = {.probes = probes, .module = module, .options = options, .error = error};
    bool made = resolve(&maker) && check_module(&maker) && make_kernels(&maker);
    ptx_edits_free(&maker.edits);
    if (!made)
        ptx_probes_free(probes);
    return made;
}

void ptx_probes_free(struct ptx_probes *probes)
{
    free(probes->text);
    free(probes->probes);
    *probes = (struct ptx_probes){0};
}
