/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of probes. Nothing in it branches, so it may stand wherever an instruction may: between
 * the parts of a call, in braces, before a label.
 *
 * What a probe costs is how many instructions it has, in all threads, so each is one less where it
 * can be: a lane's records are counted and nothing else, the cell's address is made of that by
 * mad.wide, what found no room is counted at the kernel's end: a red in each END would cost more
 * than all the rest. An instruction has room for one constant, so the mask of a stamp is a register
 * of which the assembler cannot know what it holds.
 *
 * Registers that live through the kernel: d4 (the lane's first cell), r6 (how many it has; 0: this
 * thread has no lane), r8 (ENDs so far), compat: r7 (65535), wide: d5 (SM and warp); between a
 * START and its END r0 and r1, the stamp. Everything else is scratch. The clock is read as one
 * 64-bit register: its halves, read one after the other, would be 2^32 cycles apart when the lower
 * one wraps between.
 */
#include "ptx_emit.h"
#include "ptx_cell.h"

#include <inttypes.h>
#include <string.h>

/* ---- edits ----------------------------------------------------------------------------- */

/* Text from now on stands before the byte at, in lines of its own. */
static void lines_at(const struct ptx_emit *emit, uint32_t at)
{
    ptx_edit_at(emit->edits, at);
    if (at > 0 && emit->module->text[at - 1] != '\n')
        ptx_edit_add(emit->edits, "\n");
}

static void ptx_emit_add(const struct ptx_emit *emit, const char *lines)
{
    ptx_edit_add(emit->edits, "%s", lines);
}

static bool wide(const struct ptx_emit *emit)
{
    return emit->probes->cells == PTX_CELLS_WIDE;
}

/* ---- the module ------------------------------------------------------------------------ */

static uint32_t behind_module_head(const struct ptx_module *module)
{
    uint32_t head = PTX_NONE; /* the last of what must come first */
    for (uint32_t i = 0; i < module->count && module->statements[i].kind == PTX_DIRECTIVE; i++)
        if (ptx_is(module, module->statements[i].name, ".version") ||
            ptx_is(module, module->statements[i].name, ".target") ||
            ptx_is(module, module->statements[i].name, ".address_size"))
            head = i;
    return head != PTX_NONE ? ptx_after(module, head) : 0;
}

/* What a host that knows no map needs to make the buffer; no instruction reads it. */
static void add_shape(const struct ptx_emit *emit)
{
    const struct ptx_probes *probes = emit->probes;
    const uint64_t words[PTX_SHAPE_WORDS] = {
        PTX_SHAPE_MAGIC, probes->hash,  probes->buffer_bytes, emit->options->capacity,
        probes->lanes,   probes->cells, probes->lane,         emit->options->mode};
    ptx_edit_add(emit->edits, ".visible .global .align 8 .u64 " PTX_SHAPE_NAME "[%d] = {",
                 PTX_SHAPE_WORDS);
    for (int i = 0; i < PTX_SHAPE_WORDS; i++)
        ptx_edit_add(emit->edits, "%s0x%" PRIx64, i ? ", " : "", words[i]);
    ptx_emit_add(emit, "};\n");
}

void ptx_emit_variables(const struct ptx_emit *emit)
{
    lines_at(emit, behind_module_head(emit->module));
    if (emit->options->binding == PTX_BIND_VARIABLE) {
        ptx_emit_add(emit, ".visible .global .align 8 .u64 " PTX_BUFFER_NAME ";\n");
        add_shape(emit);
    }
    if (!wide(emit) && emit->options->mode != PTX_MODE_CONFIG)
        ptx_emit_add(emit, ".visible .global .align 8 .u64 " PTX_DROPPED_NAME ";\n");
}

void ptx_emit_param(const struct ptx_emit *emit, const struct ptx_function *function)
{
    bool parentheses = function->params.begin > 0;
    bool first = ptx_param(emit->module, function, 0).end == 0;
    ptx_edit_at(emit->edits, parentheses ? function->params.end : function->name.end);
    ptx_edit_add(emit->edits, "%s\n\t.param .u64 " PTX_BUFFER_NAME "\n%s",
                 parentheses ? first ? "" : "," : "(", parentheses ? "" : ")");
}

/* ---- the kernel's beginning ------------------------------------------------------------ */

/* d0: number of the block in the launch; r2: of the thread in the block; r3: threads of a block. */
static const char where_am_i[] = "\tmov.u32 %rbwp_r2, %ctaid.z;\n"
                                 "\tcvt.u64.u32 %rbwp_d0, %rbwp_r2;\n"
                                 "\tmov.u32 %rbwp_r2, %nctaid.y;\n"
                                 "\tcvt.u64.u32 %rbwp_d1, %rbwp_r2;\n"
                                 "\tmov.u32 %rbwp_r2, %ctaid.y;\n"
                                 "\tcvt.u64.u32 %rbwp_d2, %rbwp_r2;\n"
                                 "\tmad.lo.s64 %rbwp_d0, %rbwp_d0, %rbwp_d1, %rbwp_d2;\n"
                                 "\tmov.u32 %rbwp_r2, %nctaid.x;\n"
                                 "\tcvt.u64.u32 %rbwp_d1, %rbwp_r2;\n"
                                 "\tmov.u32 %rbwp_r2, %ctaid.x;\n"
                                 "\tcvt.u64.u32 %rbwp_d2, %rbwp_r2;\n"
                                 "\tmad.lo.s64 %rbwp_d0, %rbwp_d0, %rbwp_d1, %rbwp_d2;\n"
                                 "\tmov.u32 %rbwp_r2, %tid.z;\n"
                                 "\tmov.u32 %rbwp_r3, %ntid.y;\n"
                                 "\tmov.u32 %rbwp_r4, %tid.y;\n"
                                 "\tmad.lo.s32 %rbwp_r2, %rbwp_r2, %rbwp_r3, %rbwp_r4;\n"
                                 "\tmov.u32 %rbwp_r3, %ntid.x;\n"
                                 "\tmov.u32 %rbwp_r4, %tid.x;\n"
                                 "\tmad.lo.s32 %rbwp_r2, %rbwp_r2, %rbwp_r3, %rbwp_r4;\n"
                                 "\tmov.u32 %rbwp_r4, %ntid.y;\n"
                                 "\tmul.lo.s32 %rbwp_r3, %rbwp_r3, %rbwp_r4;\n"
                                 "\tmov.u32 %rbwp_r4, %ntid.z;\n"
                                 "\tmul.lo.s32 %rbwp_r3, %rbwp_r3, %rbwp_r4;\n";

/* d1: number of the thread in the launch; a warp's, with the thread's place in it in r5. */
static const char which_thread[] = "\tcvt.u64.u32 %rbwp_d1, %rbwp_r3;\n"
                                   "\tcvt.u64.u32 %rbwp_d2, %rbwp_r2;\n"
                                   "\tmad.lo.s64 %rbwp_d1, %rbwp_d0, %rbwp_d1, %rbwp_d2;\n";
static const char which_warp[] = "\tand.b32 %rbwp_r5, %rbwp_r2, 31;\n"
                                 "\tshr.u32 %rbwp_r4, %rbwp_r2, 5;\n"
                                 "\tadd.u32 %rbwp_r3, %rbwp_r3, 31;\n"
                                 "\tshr.u32 %rbwp_r3, %rbwp_r3, 5;\n"
                                 "\tcvt.u64.u32 %rbwp_d1, %rbwp_r3;\n"
                                 "\tcvt.u64.u32 %rbwp_d2, %rbwp_r4;\n"
                                 "\tmad.lo.s64 %rbwp_d1, %rbwp_d0, %rbwp_d1, %rbwp_d2;\n";

static void load_buffer(const struct ptx_emit *emit)
{
    if (emit->options->binding == PTX_BIND_VARIABLE)
        ptx_emit_add(emit, "\tld.global.u64 %rbwp_d4, [" PTX_BUFFER_NAME "];\n");
    else
        ptx_edit_add(emit->edits, "\tld.param.u64 %%rbwp_d4, [%s];\n", emit->probes->param);
    ptx_emit_add(emit, "\tcvta.to.global.u64 %rbwp_d4, %rbwp_d4;\n");
}

/* d5: the lane; r6: its cells, 0 without a lane. */
static void choose_lane(const struct ptx_emit *emit)
{
    uint64_t lanes = 0;
    ptx_emit_add(emit, "\tmov.u32 %rbwp_r6, 0;\n\tmov.u64 %rbwp_d5, 0;\n");
    for (uint32_t i = 0; i < emit->options->range_count; i++) {
        const struct ptx_range *range = &emit->options->ranges[i];
        ptx_edit_add(emit->edits,
                     "\tsetp.ge.u64 %%rbwp_p0, %%rbwp_d1, %" PRIu64 ";\n"
                     "\tsetp.le.and.u64 %%rbwp_p0, %%rbwp_d1, %" PRIu64 ", %%rbwp_p0;\n"
                     "\tsub.s64 %%rbwp_d2, %%rbwp_d1, %" PRIu64 ";\n",
                     range->first, range->last, range->first);
        if (range->step > 1)
            ptx_edit_add(emit->edits,
                         "\trem.u64 %%rbwp_d3, %%rbwp_d2, %" PRIu64 ";\n"
                         "\tsetp.eq.and.u64 %%rbwp_p0, %%rbwp_d3, 0, %%rbwp_p0;\n"
                         "\tdiv.u64 %%rbwp_d2, %%rbwp_d2, %" PRIu64 ";\n",
                         range->step, range->step);
        ptx_edit_add(emit->edits,
                     "\t@%%rbwp_p0 add.s64 %%rbwp_d5, %%rbwp_d2, %" PRIu64 ";\n"
                     "\t@%%rbwp_p0 mov.u32 %%rbwp_r6, %" PRIu32 ";\n",
                     lanes, emit->options->capacity);
        lanes += (range->last - range->first) / range->step + 1;
    }
    if (emit->probes->lane == PTX_LANE_WARP)
        ptx_emit_add(emit,
                     "\tsetp.ne.u32 %rbwp_p0, %rbwp_r5, 0;\n\t@%rbwp_p0 mov.u32 %rbwp_r6, 0;\n");
    ptx_emit_add(emit, "\tsetp.eq.u64 %rbwp_p0, %rbwp_d4, 0;\n\t@%rbwp_p0 mov.u32 %rbwp_r6, 0;\n");
}

/* The heads of buffer and lane, d4 at the lane's first cell, and where the thread runs in d5. */
static void write_lane(const struct ptx_emit *emit)
{
    uint64_t lane_bytes = PTX_WIDE_BYTES * ((uint64_t)emit->options->capacity + 1);
    ptx_edit_add(emit->edits,
                 "\tsetp.ne.u32 %%rbwp_p0, %%rbwp_r6, 0;\n"
                 "\tmov.u64 %%rbwp_d1, %" PRIu64 ";\n"
                 "\tmov.u64 %%rbwp_d2, %" PRIu64 ";\n"
                 "\t@%%rbwp_p0 st.global.v2.u64 [%%rbwp_d4], {%%rbwp_d1, %%rbwp_d2};\n"
                 "\tmad.lo.s64 %%rbwp_d4, %%rbwp_d5, %" PRIu64 ", %%rbwp_d4;\n",
                 PTX_WIDE_MAGIC, emit->probes->hash, lane_bytes);
    ptx_emit_add(emit, "\tmov.u64 %rbwp_d1, %globaltimer;\n"
                       "\tmov.u64 %rbwp_d2, %clock64;\n"
                       "\t@%rbwp_p0 st.global.v2.u64 [%rbwp_d4+32], {%rbwp_d1, %rbwp_d2};\n"
                       "\tcvt.u32.u64 %rbwp_r3, %rbwp_d0;\n"
                       "\t@%rbwp_p0 st.global.v2.u32 [%rbwp_d4+48], {%rbwp_r3, %rbwp_r2};\n"
                       "\tmov.u64 %rbwp_d1, %clock64;\n"
                       "\tmov.b64 {%rbwp_r0, %rbwp_r1}, %rbwp_d1;\n"
                       "\tbfi.b32 %rbwp_r1, %rbwp_r1, 0, 20, 12;\n"
                       "\tmov.u64 %rbwp_d2, %clock64;\n"
                       "\tsub.s64 %rbwp_d2, %rbwp_d2, %rbwp_d1;\n"
                       "\tcvt.u32.u64 %rbwp_r3, %rbwp_d2;\n"
                       "\t@%rbwp_p0 st.global.u32 [%rbwp_d4+60], %rbwp_r3;\n"
                       "\tmov.u32 %rbwp_r4, %smid;\n"
                       "\tmov.u32 %rbwp_r5, %warpid;\n"
                       "\tmov.b64 %rbwp_d5, {%rbwp_r4, %rbwp_r5};\n");
    ptx_emit_add(emit, "\tadd.s64 %rbwp_d4, %rbwp_d4, 64;\n");
}

/* d4 the lane's first cell, and r7 the mask, of a number that is 0 and nobody can know. */
static void find_lane(const struct ptx_emit *emit)
{
    ptx_emit_add(emit, "\tmad.lo.s64 %rbwp_d4, %rbwp_d5, 16, %rbwp_d4;\n"
                       "\tmov.u32 %rbwp_r7, %nsmid;\n"
                       "\tshr.u32 %rbwp_r7, %rbwp_r7, 31;\n"
                       "\txor.b32 %rbwp_r7, %rbwp_r7, 65535;\n");
}

/* Thread 0 of the launch writes its shape. */
static void write_config(const struct ptx_emit *emit)
{
    static const char *const sizes[] = {"%ntid.x",   "%ntid.y",   "%ntid.z",
                                        "%nctaid.x", "%nctaid.y", "%nctaid.z"};
    ptx_emit_add(emit, "\tsetp.eq.u64 %rbwp_p0, %rbwp_d1, 0;\n"
                       "\tsetp.ne.and.u64 %rbwp_p0, %rbwp_d4, 0, %rbwp_p0;\n"
                       "\tmov.u64 %rbwp_d3, 1;\n");
    for (int i = 0; i < 6; i++)
        ptx_edit_add(emit->edits,
                     "\tmov.u32 %%rbwp_r2, %s;\n"
                     "\tcvt.u64.u32 %%rbwp_d2, %%rbwp_r2;\n"
                     "\t@%%rbwp_p0 st.global.u64 [%%rbwp_d4+%d], %%rbwp_d2;\n"
                     "\tmul.lo.s64 %%rbwp_d3, %%rbwp_d3, %%rbwp_d2;\n",
                     sizes[i], i * 8);
    ptx_emit_add(emit, "\t@%rbwp_p0 st.global.u64 [%rbwp_d4+48], %rbwp_d3;\n");
}

void ptx_emit_head(const struct ptx_emit *emit, const struct ptx_function *function)
{
    lines_at(emit, ptx_after(emit->module, function->open));
    ptx_emit_add(emit, "\t.reg .pred %rbwp_p<2>;\n"
                       "\t.reg .b32 %rbwp_r<9>;\n"
                       "\t.reg .b64 %rbwp_d<6>;\n");
    ptx_emit_add(emit, where_am_i);
    ptx_emit_add(emit, emit->probes->lane == PTX_LANE_WARP ? which_warp : which_thread);
    load_buffer(emit);
    if (emit->options->mode == PTX_MODE_CONFIG) {
        write_config(emit);
        return;
    }
    choose_lane(emit);
    if (wide(emit))
        write_lane(emit);
    else
        find_lane(emit);
    ptx_emit_add(emit, "\tmov.u32 %rbwp_r0, 0;\n\tmov.u32 %rbwp_r1, 0;\n\tmov.u32 %rbwp_r8, 0;\n");
}

/* ---- START and END --------------------------------------------------------------------- */

/* The clock and the number as two words. */
static void stamp(const struct ptx_emit *emit, const char *low, const char *high, uint32_t id)
{
    ptx_edit_add(emit->edits,
                 "\tmov.u64 %%rbwp_d0, %%clock64;\n"
                 "\tmov.b64 {%s, %s}, %%rbwp_d0;\n",
                 low, high);
    if (wide(emit))
        ptx_edit_add(emit->edits, "\tshl.b32 %s, %s, %d;\n\tadd.s32 %s, %s, %" PRIu32 ";\n", high,
                     high, PTX_WIDE_ID_BITS, high, high, id);
    else
        ptx_edit_add(emit->edits,
                     "\tand.b32 %s, %s, %%rbwp_r7;\n"
                     "\tor.b32 %s, %s, %" PRIu32 ";\n",
                     high, high, high, high, id << PTX_COMPAT_ID_BITS);
}

void ptx_emit_start(const struct ptx_emit *emit, const struct ptx_probe *probe)
{
    lines_at(emit, probe->entry_at);
    stamp(emit, "%rbwp_r0", "%rbwp_r1", probe->id);
}

/* The next cell's address in d1. */
static void ptx_emit_find_cell(const struct ptx_emit *emit)
{
    uint64_t stride = wide(emit) ? PTX_WIDE_BYTES : emit->probes->lanes * PTX_COMPAT_BYTES;
    if (stride <= INT32_MAX)
        ptx_edit_add(emit->edits, "\tmad.wide.u32 %%rbwp_d1, %%rbwp_r8, %" PRIu64 ", %%rbwp_d4;\n",
                     stride);
    else
        ptx_edit_add(emit->edits,
                     "\tcvt.u64.u32 %%rbwp_d1, %%rbwp_r8;\n"
                     "\tmad.lo.s64 %%rbwp_d1, %%rbwp_d1, %" PRIu64 ", %%rbwp_d4;\n",
                     stride);
}

static void store_cell(const struct ptx_emit *emit)
{
    ptx_emit_add(emit, "\t@%rbwp_p0 st.global.v4.u32 [%rbwp_d1], "
                       "{%rbwp_r0, %rbwp_r1, %rbwp_r2, %rbwp_r3};\n");
    if (wide(emit))
        ptx_emit_add(emit, "\tmov.u64 %rbwp_d0, %globaltimer;\n"
                           "\t@%rbwp_p0 st.global.v2.u64 [%rbwp_d1+16], {%rbwp_d0, %rbwp_d5};\n");
}

void ptx_emit_end(const struct ptx_emit *emit, const struct ptx_probe *probe)
{
    lines_at(emit, probe->exit_at);
    stamp(emit, "%rbwp_r2", "%rbwp_r3", probe->id);
    ptx_emit_add(emit, "\tsetp.lt.u32 %rbwp_p0, %rbwp_r8, %rbwp_r6;\n");
    ptx_emit_find_cell(emit);
    store_cell(emit);
    ptx_emit_add(emit, "\tadd.s32 %rbwp_r8, %rbwp_r8, 1;\n");
}

void ptx_emit_leave(const struct ptx_emit *emit, uint32_t statement)
{
    lines_at(emit, ptx_before(emit->module, statement));
    ptx_emit_add(emit, "\tsetp.ne.u32 %rbwp_p0, %rbwp_r6, 0;\n"
                       "\tsetp.gt.and.u32 %rbwp_p0, %rbwp_r8, %rbwp_r6, %rbwp_p0;\n"
                       "\tsub.s32 %rbwp_r2, %rbwp_r8, %rbwp_r6;\n");
    if (wide(emit))
        ptx_emit_add(emit, "\t@%rbwp_p0 red.global.add.u32 [%rbwp_d4+-8], %rbwp_r2;\n");
    else
        ptx_emit_add(emit, "\tcvt.u64.u32 %rbwp_d0, %rbwp_r2;\n"
                           "\t@%rbwp_p0 red.global.add.u64 [" PTX_DROPPED_NAME "], %rbwp_d0;\n");
    ptx_emit_add(emit, "\tmin.u32 %rbwp_r8, %rbwp_r8, %rbwp_r6;\n"); /* it may not leave */
}
