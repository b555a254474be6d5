/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two passes over the statements of a body: where blocks begin, and the blocks with their edges.
 * Labels are found by a hash of their names; those of one name in several braces hang together.
 */
#include "ptx_flow.h"
#include "ptx_text.h"

#include <string.h>

struct flow_builder {
    const struct ptx_module *module;
    const struct ptx_function *function;
    struct ptx_error *error;
    struct ptx_flow *flow;
    uint32_t *heads; /* by hash: a label's place in the body + 1, 0: none */
    uint32_t *next;  /* by place in the body: the next label of this hash */
    uint32_t mask;
    uint32_t *block; /* by place in the body: PTX_NONE, or the block that begins there */
    uint32_t room, edge_room;
    uint32_t from; /* the block whose edges are added */
};

static uint32_t first_of(const struct flow_builder *builder)
{
    return builder->function->open + 1;
}

static uint32_t body_count(const struct flow_builder *builder)
{
    return builder->function->close - first_of(builder);
}

/* ---- labels ---------------------------------------------------------------------------- */

static uint32_t name_hash(const struct ptx_module *module, struct ptx_span name)
{
    uint32_t hash = 2166136261u;
    for (uint32_t at = name.begin; at < name.end; at++)
        hash = (hash ^ (unsigned char)module->text[at]) * 16777619u;
    return hash ^ hash >> 15;
}

static void collect_labels(struct flow_builder *builder)
{
    for (uint32_t i = 0; i < body_count(builder); i++) {
        const struct ptx_statement *label = &builder->module->statements[first_of(builder) + i];
        if (label->kind != PTX_LABEL)
            continue;
        uint32_t *head = &builder->heads[name_hash(builder->module, label->name) & builder->mask];
        builder->next[i] = *head;
        *head = i + 1;
    }
}

/* Whether what stands in the braces inner sees what stands in outer. */
static bool sees(const struct ptx_module *module, uint32_t inner, uint32_t outer)
{
    while (inner != outer && inner != PTX_NONE)
        inner = module->statements[inner].scope;
    return inner == outer;
}

/* The place in the body of the label that a name means in these braces: of those that are seen
 * from there the innermost, which is the one whose braces open last. */
static bool find_label(const struct flow_builder *builder, struct ptx_span name, uint32_t scope,
                       uint32_t *place_out)
{
    const struct ptx_module *module = builder->module;
    uint32_t count = name.end - name.begin, best = PTX_NONE;
    uint32_t at = builder->heads[name_hash(module, name) & builder->mask];
    for (; at; at = builder->next[at - 1]) {
        const struct ptx_statement *label = &module->statements[first_of(builder) + at - 1];
        if (label->name.end - label->name.begin == count &&
            memcmp(module->text + label->name.begin, module->text + name.begin, count) == 0 &&
            sees(module, scope, label->scope) && (best == PTX_NONE || label->scope > best)) {
            best = label->scope;
            *place_out = at - 1;
        }
    }
    return best != PTX_NONE ||
           ptx_fail(builder->error, module, name.begin, "no label '%.*s' in this function",
                    (int)(count < 100 ? count : 100), module->text + name.begin);
}

/* ---- where branches go ----------------------------------------------------------------- */

typedef bool target_fn(struct flow_builder *builder, uint32_t place, enum ptx_edge_kind kind);

/* The labels of: LIST: .branchtargets A, B ...; */
static bool each_indexed(struct flow_builder *builder, const struct ptx_statement *branch,
                         target_fn *take)
{
    const struct ptx_module *module = builder->module;
    uint32_t place, list;
    if (!find_label(builder, branch->last, branch->scope, &place))
        return false;
    list = first_of(builder) + place + 1;
    const struct ptx_statement *targets = &module->statements[list];
    if (list >= builder->function->close || !ptx_is(module, targets->name, ".branchtargets"))
        return ptx_fail(builder->error, module, branch->last.begin,
                        "no .branchtargets behind this label");
    for (uint32_t at = targets->name.end; at < targets->span.end; at++) {
        struct ptx_span name = {at, at};
        while (name.end < targets->span.end && ptx_name_byte(module->text[name.end]))
            name.end++;
        if (name.end == at)
            continue;
        if (!find_label(builder, name, branch->scope, &place) || !take(builder, place, PTX_INDEXED))
            return false;
        at = name.end - 1;
    }
    return true;
}

static bool each_target(struct flow_builder *builder, const struct ptx_statement *statement,
                        target_fn *take)
{
    uint32_t place;
    switch (ptx_move(builder->module, statement)) {
    case PTX_BRANCH:
        return find_label(builder, statement->last, statement->scope, &place) &&
               take(builder, place, PTX_TAKEN);
    case PTX_BRANCH_INDEXED:
        return each_indexed(builder, statement, take);
    default:
        return true;
    }
}

/* ---- blocks ---------------------------------------------------------------------------- */

static bool mark(struct flow_builder *builder, uint32_t place, enum ptx_edge_kind kind)
{
    (void)kind;
    builder->block[place] = 0;
    return true;
}

static bool mark_beginnings(struct flow_builder *builder)
{
    uint32_t count = body_count(builder);
    for (uint32_t i = 0; i < count; i++) {
        const struct ptx_statement *statement = &builder->module->statements[first_of(builder) + i];
        if (!each_target(builder, statement, mark))
            return false;
        if (ptx_move(builder->module, statement) != PTX_ON && i + 1 < count)
            builder->block[i + 1] = 0;
    }
    return true;
}

static struct ptx_block *ptx_flow_begin_block(struct flow_builder *builder, uint32_t statement,
                                              struct ptx_loc loc)
{
    struct ptx_flow *flow = builder->flow;
    struct ptx_block *all = ptx_grow(flow->blocks, flow->count, &builder->room, sizeof *all);
    if (!all) {
        ptx_fail_plain(builder->error, "out of memory");
        return NULL;
    }
    flow->blocks = all;
    builder->block[statement - first_of(builder)] = flow->count;
    all[flow->count] = (struct ptx_block){
        .first = statement, .last = statement, .begin = PTX_NONE, .end = PTX_NONE, .loc = loc};
    return &all[flow->count++];
}

static bool make_blocks(struct flow_builder *builder)
{
    struct ptx_block *block = NULL;
    struct ptx_loc loc = {.inlined = false};
    for (uint32_t i = first_of(builder); i < builder->function->close; i++) {
        const struct ptx_statement *statement = &builder->module->statements[i];
        if (!block || builder->block[i - first_of(builder)] != PTX_NONE)
            block = ptx_flow_begin_block(builder, i, loc);
        if (!block)
            return false;
        block->last = i;
        if (statement->kind == PTX_LOC)
            loc = ptx_loc(builder->module, statement);
        if (statement->kind != PTX_INSTRUCTION)
            continue;
        if (block->begin == PTX_NONE) {
            block->begin = i;
            block->loc = loc;
        }
        block->end = i;
    }
    return true;
}

/* ---- edges ----------------------------------------------------------------------------- */

static bool add_edge(struct flow_builder *builder, uint32_t to, enum ptx_edge_kind kind)
{
    struct ptx_flow *flow = builder->flow;
    struct ptx_edge *all =
        ptx_grow(flow->edges, flow->edge_count, &builder->edge_room, sizeof *all);
    if (!all)
        return ptx_fail_plain(builder->error, "out of memory");
    flow->edges = all;
    uint32_t from = builder->from;
    for (uint32_t i = flow->blocks[from].edges; i < flow->edge_count; i++)
        if (all[i].to == to && all[i].kind == kind)
            return true;
    all[flow->edge_count++] = (struct ptx_edge){from, to, kind};
    return true;
}

static bool edge_to(struct flow_builder *builder, uint32_t place, enum ptx_edge_kind kind)
{
    return add_edge(builder, builder->block[place], kind);
}

static bool block_edges(struct flow_builder *builder, uint32_t index)
{
    struct ptx_flow *flow = builder->flow;
    struct ptx_block *block = &flow->blocks[index];
    const struct ptx_statement *end =
        block->end == PTX_NONE ? NULL : &builder->module->statements[block->end];
    enum ptx_move move = end ? ptx_move(builder->module, end) : PTX_ON;
    block->edges = flow->edge_count;
    builder->from = index;
    bool falls = move == PTX_ON || end->guarded;
    block->leaves = move == PTX_LEAVE || (falls && index + 1 == flow->count);
    if (end && !each_target(builder, end, edge_to))
        return false;
    if (falls && index + 1 < flow->count && !add_edge(builder, index + 1, PTX_FALLS))
        return false;
    block->edge_count = flow->edge_count - block->edges;
    return true;
}

/* Labels and braces behind the last ret are no block. */
static void drop_tail(struct ptx_flow *flow, const struct flow_builder *builder)
{
    if (flow->count < 2 || flow->blocks[flow->count - 1].begin != PTX_NONE)
        return;
    const struct ptx_block *before = &flow->blocks[flow->count - 2];
    if (before->end == PTX_NONE || builder->module->statements[before->end].guarded ||
        ptx_move(builder->module, &builder->module->statements[before->end]) != PTX_LEAVE)
        return;
    for (uint32_t i = 0; i < flow->edge_count; i++)
        if (flow->edges[i].to == flow->count - 1)
            return;
    flow->count--;
}

static bool build(struct flow_builder *builder)
{
    if (!mark_beginnings(builder) || !make_blocks(builder))
        return false;
    for (uint32_t i = 0; i < builder->flow->count; i++)
        if (!block_edges(builder, i))
            return false;
    drop_tail(builder->flow, builder);
    return true;
}

bool ptx_flow(struct ptx_flow *flow, const struct ptx_module *module,
              const struct ptx_function *function, struct ptx_error *error)
{
    *flow = (struct ptx_flow){0};
    if (function->open == PTX_NONE || function->close == function->open + 1)
        return true;
    struct flow_builder builder = {
        .module = module, .function = function, .error = error, .flow = flow, .mask = 63};
    uint32_t count = body_count(&builder);
    while (builder.mask < count / 4)
        builder.mask = builder.mask * 2 + 1;
    builder.heads = calloc((size_t)builder.mask + 1, sizeof *builder.heads);
    builder.next = calloc(count, sizeof *builder.next);
    builder.block = malloc(count * sizeof *builder.block);
    bool built = builder.heads && builder.next && builder.block;
    if (built) {
        memset(builder.block, 0xff, count * sizeof *builder.block);
        collect_labels(&builder);
        built = build(&builder);
    } else {
        ptx_fail_plain(error, "out of memory");
    }
    free(builder.heads);
    free(builder.next);
    free(builder.block);
    if (!built)
        ptx_flow_free(flow);
    return built;
}

void ptx_flow_free(struct ptx_flow *flow)
{
    free(flow->blocks);
    free(flow->edges);
    *flow = (struct ptx_flow){0};
}
