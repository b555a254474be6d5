/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modes as lists of probes.
 *
 * Blocks of lines become the statements that begin in them: START goes before the first, END behind
 * the last, where that may be in the middle of a line. A block of comments has its pair before what
 * follows.
 */
#include "ptx_plan.h"
#include "ptx_flow.h"
#include "ptx_grow.h"
#include "ptx_lines.h"

#include <string.h>

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

bool ptx_plan(struct ptx_probes *probes, const struct ptx_module *module, uint32_t kernel,
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
