/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lines of a body, one after the other, by the statement that begins in each.
 *
 * An early ret ends a block and the next line begins one; the rest of the body is divided all the
 * same. Braces of inline assembly do not begin anything.
 */
#include "ptx_lines.h"
#include "ptx_text.h"

#include <string.h>

struct divider {
    const struct ptx_module *module;
    const struct ptx_function *function;
    struct ptx_lines *lines;
    struct ptx_line_block now;
    uint32_t file;
    int64_t loc;
    bool instruction; /* now has one */
    bool left;        /* the block before now ended with a ret */
};

/* ---- statements of a line -------------------------------------------------------------- */

/* The first statement that begins behind the line. */
static uint32_t behind_line(const struct ptx_module *module, uint32_t line)
{
    uint32_t low = 0, high = module->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (module->statements[middle].line > line)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

uint32_t ptx_line_first(const struct ptx_module *module, uint32_t line)
{
    uint32_t first = behind_line(module, line - 1);
    return first < module->count ? first : PTX_NONE;
}

uint32_t ptx_line_last(const struct ptx_module *module, uint32_t line)
{
    uint32_t behind = behind_line(module, line);
    return behind > 0 ? behind - 1 : PTX_NONE;
}

static bool blank_or_comment(const struct ptx_module *module, uint32_t line)
{
    uint32_t at = module->lines[line - 1];
    while (at < module->bytes && strchr(" \t\r\v\f", module->text[at]) && module->text[at])
        at++;
    return at == module->bytes || module->text[at] == '\n' ||
           (module->text[at] == '/' && at + 1 < module->bytes && module->text[at + 1] == '/');
}

static bool digits(const char **at, const char *end)
{
    const char *begin = *at;
    while (*at < end && ptx_digit(**at))
        ++*at;
    return *at > begin;
}

/* $L__BB<f>_<n> */
static bool block_label(const struct ptx_module *module, struct ptx_span name)
{
    const char *at = module->text + name.begin + 6, *end = module->text + name.end;
    return ptx_begins(module, name, "$L__BB") && digits(&at, end) && at < end && *at++ == '_' &&
           digits(&at, end) && at == end;
}

static bool divides(const struct divider *divider, const struct ptx_statement *statement)
{
    switch (ptx_move(divider->module, statement)) {
    case PTX_BRANCH:
        return block_label(divider->module, statement->last);
    case PTX_BRANCH_INDEXED:
        return true;
    case PTX_LEAVE:
        return statement->guarded;
    case PTX_ON:
        break;
    }
    return statement->kind == PTX_LABEL && block_label(divider->module, statement->name);
}

/* Braces with a label of their own wait in a loop of their own: an ordinary, if long, statement. */
static bool loops_in_braces(const struct divider *divider, const struct ptx_statement *statement)
{
    const struct ptx_statement *all = divider->module->statements;
    if (statement->scope == divider->function->open)
        return false;
    for (uint32_t i = statement->scope + 1; i < all[statement->scope].match; i++)
        if (all[i].kind == PTX_LABEL)
            return true;
    return false;
}

static bool waits(const struct divider *divider, const struct ptx_statement *statement)
{
    return statement->kind == PTX_INSTRUCTION &&
           ptx_begins(divider->module, statement->name, "mbarrier.try_wait") &&
           !loops_in_braces(divider, statement);
}

/* ---- blocks ---------------------------------------------------------------------------- */

static void ptx_lines_begin(struct divider *divider, uint32_t entry)
{
    divider->now = (struct ptx_line_block){.entry = entry,
                                           .exit = entry - 1,
                                           .file = divider->file,
                                           .loc = divider->loc,
                                           .mma = divider->lines->mma.count,
                                           .empty = divider->lines->empty.count};
    divider->instruction = false;
}

static bool ptx_lines_append(struct divider *divider, uint32_t exit)
{
    struct ptx_lines *lines = divider->lines;
    divider->now.exit = exit;
    bool nothing = divider->left && !divider->instruction;
    divider->left = divider->now.is_end;
    if (nothing) /* blank lines behind a ret */
        return true;
    struct ptx_line_block *all = ptx_grow(lines->blocks, lines->count, &lines->room, sizeof *all);
    if (!all)
        return false;
    lines->blocks = all;
    all[lines->count++] = divider->now;
    return true;
}

static bool ptx_lines_add_number(struct ptx_numbers *numbers, uint32_t line)
{
    uint32_t *all = ptx_grow(numbers->lines, numbers->count, &numbers->room, sizeof *all);
    if (!all)
        return false;
    numbers->lines = all;
    all[numbers->count++] = line;
    return true;
}

static bool at_loc(struct divider *divider, const struct ptx_statement *statement, uint32_t line)
{
    if (divider->now.exit != line - 1 && !ptx_lines_append(divider, line - 1))
        return false;
    struct ptx_place at = ptx_loc(divider->module, statement).at;
    divider->file = at.file;
    divider->loc = at.line;
    ptx_lines_begin(divider, line + 1);
    return true;
}

static bool at_boundary(struct divider *divider, uint32_t line)
{
    const struct ptx_module *module = divider->module;
    if (divider->now.entry != line && !ptx_lines_append(divider, line - 1))
        return false;
    ptx_lines_begin(divider, line);
    divider->instruction = true;
    if (!ptx_lines_append(divider, line))
        return false;
    uint32_t next = ptx_line_first(module, line + 1);
    bool loc_next = next != PTX_NONE && module->statements[next].kind == PTX_LOC &&
                    module->statements[next].line == line + 1;
    if (!loc_next)
        ptx_lines_begin(divider, line + 1);
    return true;
}

static bool at_end(struct divider *divider, uint32_t line)
{
    divider->now.is_end = divider->instruction = true;
    if (!ptx_lines_append(divider, line))
        return false;
    ptx_lines_begin(divider, line + 1);
    return true;
}

/* A line that is nothing special by its first statement; others may stand behind that. */
static bool at_other(struct divider *divider, const struct ptx_statement *statement,
                     const struct ptx_statement *end, uint32_t line)
{
    for (const struct ptx_statement *at = statement; at < end && at->line == line; at++) {
        divider->now.is_sync = divider->now.is_sync || waits(divider, at);
        divider->instruction = divider->instruction || at->kind == PTX_INSTRUCTION;
    }
    bool mma = !statement->guarded && statement->kind == PTX_INSTRUCTION &&
               ptx_begins(divider->module, statement->name, "mma");
    if (!mma)
        return true;
    divider->now.mma_count++;
    return ptx_lines_add_number(&divider->lines->mma, line);
}

static bool at_line(struct divider *divider, uint32_t line)
{
    const struct ptx_module *module = divider->module;
    const struct ptx_statement *end = &module->statements[divider->function->close];
    uint32_t first = ptx_line_first(module, line);
    if (blank_or_comment(module, line)) {
        divider->now.empty_count++;
        return ptx_lines_add_number(&divider->lines->empty, line);
    }
    if (first == PTX_NONE || module->statements[first].line != line ||
        first >= divider->function->close)
        return true; /* the rest of a statement, or the end */
    const struct ptx_statement *statement = &module->statements[first];
    if (statement->kind == PTX_LOC)
        return at_loc(divider, statement, line);
    if (divides(divider, statement))
        return at_boundary(divider, line);
    if (ptx_move(module, statement) == PTX_LEAVE)
        return at_end(divider, line);
    return at_other(divider, statement, end, line);
}

bool ptx_lines(struct ptx_lines *lines, const struct ptx_module *module,
               const struct ptx_function *function)
{
    *lines = (struct ptx_lines){0};
    if (function->open == PTX_NONE)
        return true;
    struct divider divider = {module, function, lines, {0}, 1, -1, false, false};
    uint32_t close = module->statements[function->close].line;
    ptx_lines_begin(&divider, module->statements[function->open].line + 1);
    divider.now.is_start = true;
    bool divided = true;
    for (uint32_t line = divider.now.entry; divided && line <= close; line++)
        divided = at_line(&divider, line);
    if (divided && divider.instruction) { /* no ret ends it */
        divider.now.is_end = true;
        divided = ptx_lines_append(&divider, close - 1);
    }
    if (!divided)
        ptx_lines_free(lines);
    return divided;
}

void ptx_lines_free(struct ptx_lines *lines)
{
    free(lines->blocks);
    free(lines->mma.lines);
    free(lines->empty.lines);
    *lines = (struct ptx_lines){0};
}
