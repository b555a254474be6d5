/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked for, checked against the module; the plan; and the text with all of it. */
#include "ptx_probe.h"
#include "ptx_cell.h"
#include "ptx_emit.h"
#include "ptx_param.h"
#include "ptx_plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
