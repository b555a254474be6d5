/* SPDX-License-Identifier: Apache-2.0 */
/* rbwp ptx print and blocks: what the front end sees. */
#include "json_text.h"
#include "message.h"
#include "ptx_flow.h"
#include "ptx_lines.h"
#include "ptx_source.h"
#include "ptx_tool.h"
#include "text_name.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- print ----------------------------------------------------------------------------- */

enum exit_code ptx_tool_print(const struct ptx_tool_options *options, struct operands files)
{
    struct ptx_source source;
    struct out out;
    size_t bytes;
    if (!ptx_source_open(&source, files.words[0]))
        return EXIT_BAD_DATA;
    char *text = ptx_print(&source.module, NULL, &bytes);
    enum exit_code code = EXIT_BAD_DATA;
    if (!text)
        message("out of memory");
    else if (out_open(&out, &options->output, files)) {
        out_bytes(&out, text, bytes);
        code = out_close(&out);
    }
    free(text);
    ptx_source_close(&source);
    return code;
}

/* ---- blocks ---------------------------------------------------------------------------- */

static const char *const edge_names[] = {
    [PTX_FALLS] = "falls", [PTX_TAKEN] = "taken", [PTX_INDEXED] = "indexed"};

struct shown {
    const struct ptx_module *module;
    const struct ptx_function *function;
    struct ptx_lines lines;
    struct ptx_flow flow;
};

static uint32_t line_of(const struct shown *shown, uint32_t statement)
{
    return shown->module->statements[statement].line;
}

static uint32_t last_line_of(const struct shown *shown, uint32_t statement)
{
    return shown->module->statements[statement].last_line;
}

/* Of the numbers those from `first` on; without any there may be none at all. */
static void json_numbers(struct out *out, const char *key, const uint32_t *numbers, uint32_t first,
                         uint32_t count)
{
    json_key(out, key);
    out_text(out, "[");
    for (uint32_t i = 0; i < count; i++)
        out_format(out, "%s%" PRIu32, i ? "," : "", numbers[first + i]);
    out_text(out, "]");
}

static void json_line_block(struct out *out, const struct shown *shown,
                            const struct ptx_line_block *block)
{
    out_format(out, "{\"entry\":%" PRIu32 ",\"exit\":%" PRIu32 ",\"file\":%" PRIu32, block->entry,
               block->exit, block->file);
    out_format(out, ",\"loc\":%" PRId64 ",\"is_start\":%s,\"is_end\":%s,\"is_sync\":%s,",
               block->loc, block->is_start ? "true" : "false", block->is_end ? "true" : "false",
               block->is_sync ? "true" : "false");
    json_numbers(out, "mma", shown->lines.mma.lines, block->mma, block->mma_count);
    out_text(out, ",");
    json_numbers(out, "empty", shown->lines.empty.lines, block->empty, block->empty_count);
    out_text(out, "}");
}

static void json_flow_block(struct out *out, const struct shown *shown, uint32_t index)
{
    const struct ptx_block *block = &shown->flow.blocks[index];
    out_format(out, "{\"block\":%" PRIu32 ",\"first\":%" PRIu32 ",\"last\":%" PRIu32, index,
               line_of(shown, block->first), last_line_of(shown, block->last));
    if (block->begin != PTX_NONE)
        out_format(out, ",\"begin\":%" PRIu32 ",\"end\":%" PRIu32, line_of(shown, block->begin),
                   last_line_of(shown, block->end));
    out_format(out, ",\"file\":%" PRIu32 ",\"loc\":%" PRIu32, block->loc.at.file,
               block->loc.at.line);
    if (block->loc.inlined)
        out_format(out, ",\"inlined_at\":{\"file\":%" PRIu32 ",\"loc\":%" PRIu32 "}",
                   block->loc.call.file, block->loc.call.line);
    out_format(out, ",\"leaves\":%s,\"edges\":[", block->leaves ? "true" : "false");
    for (uint32_t i = 0; i < block->edge_count; i++) {
        const struct ptx_edge *edge = &shown->flow.edges[block->edges + i];
        out_format(out, "%s{\"to\":%" PRIu32 ",\"kind\":\"%s\"}", i ? "," : "", edge->to,
                   edge_names[edge->kind]);
    }
    out_text(out, "]}");
}

static void json_function(struct out *out, const struct shown *shown)
{
    struct ptx_span name = shown->function->name;
    out_text(out, "{");
    json_name(out, "name", shown->module->text + name.begin, name.end - name.begin);
    out_format(out, ",\"kind\":\"%s\",\"line\":%" PRIu32 ",\"blocks\":[",
               shown->function->entry ? "entry" : "func", line_of(shown, shown->function->header));
    for (uint32_t i = 0; i < shown->lines.count; i++) {
        out_text(out, i ? ",\n" : "\n");
        json_line_block(out, shown, &shown->lines.blocks[i]);
    }
    out_text(out, "],\"cfg\":[");
    for (uint32_t i = 0; i < shown->flow.count; i++) {
        out_text(out, i ? ",\n" : "\n");
        json_flow_block(out, shown, i);
    }
    out_text(out, "]}");
}

static void text_function(struct out *out, const struct shown *shown)
{
    struct ptx_span name = shown->function->name;
    out_text(out, shown->function->entry ? "kernel " : "function ");
    text_name(out, shown->module->text + name.begin, name.end - name.begin);
    out_format(out, ", line %" PRIu32 "\n", line_of(shown, shown->function->header));
    out_text(out, "   block   entry    exit    file     loc\n");
    for (uint32_t i = 0; i < shown->lines.count; i++) {
        const struct ptx_line_block *block = &shown->lines.blocks[i];
        out_format(out, "%8" PRIu32 "%8" PRIu32 "%8" PRIu32 "%8" PRIu32 "%8" PRId64 "%s%s%s", i,
                   block->entry, block->exit, block->file, block->loc,
                   block->is_start ? "  start" : "", block->is_end ? "  end" : "",
                   block->is_sync ? "  sync" : "");
        if (block->mma_count)
            out_format(out, "  %" PRIu32 " mma", block->mma_count);
        out_text(out, "\n");
    }
    out_text(out, "   basic   first    last    file     loc  goes to\n");
    for (uint32_t i = 0; i < shown->flow.count; i++) {
        const struct ptx_block *block = &shown->flow.blocks[i];
        out_format(out, "%8" PRIu32 "%8" PRIu32 "%8" PRIu32 "%8" PRIu32 "%8" PRIu32 " ", i,
                   line_of(shown, block->first), last_line_of(shown, block->last),
                   block->loc.at.file, block->loc.at.line);
        for (uint32_t e = 0; e < block->edge_count; e++)
            out_format(out, " %" PRIu32 " (%s)", shown->flow.edges[block->edges + e].to,
                       edge_names[shown->flow.edges[block->edges + e].kind]);
        out_text(out, block->leaves ? " out\n" : "\n");
    }
}

/* False with the message given. */
static bool show_function(struct out *out, const struct ptx_source *source,
                          const struct ptx_function *function, bool json)
{
    struct shown shown = {.module = &source->module, .function = function};
    struct ptx_error error;
    if (!ptx_lines(&shown.lines, shown.module, function))
        return message_fail("out of memory");
    bool good = ptx_flow(&shown.flow, shown.module, function, &error);
    if (!good)
        ptx_source_error(source, &error);
    else if (json)
        json_function(out, &shown);
    else
        text_function(out, &shown);
    ptx_flow_free(&shown.flow);
    ptx_lines_free(&shown.lines);
    return good;
}

/* The files that .loc may name: what --file takes. */
static void show_files(struct out *out, const struct ptx_source *source, bool json)
{
    const struct ptx_module *module = &source->module;
    uint32_t shown = 0;
    out_text(out, json ? "\"files\":{" : "");
    for (uint32_t i = 0; i < module->count; i++) {
        uint32_t number = ptx_file_number(module, &module->statements[i]);
        struct ptx_span path = number ? ptx_file(module, number) : (struct ptx_span){0, 0};
        if (number == 0)
            continue;
        out_format(out, json ? "%s\"%" PRIu32 "\":" : "%sfile %" PRIu32 ": ",
                   json && shown++ ? "," : "", number);
        if (json)
            json_string(out, module->text + path.begin, path.end - path.begin);
        else
            text_name(out, module->text + path.begin, path.end - path.begin);
        out_text(out, json ? "" : "\n");
    }
    out_text(out, json ? "}," : "");
}

/* Of all functions with a body, or of the kernel that was asked for. */
static bool show_functions(struct out *out, const struct ptx_source *source,
                           const struct ptx_tool_options *options)
{
    const struct ptx_module *module = &source->module;
    const char *kernel = options->probes.kernel;
    uint32_t only = kernel ? ptx_find_kernel(module, kernel) : PTX_NONE, shown = 0;
    if (kernel && only == PTX_NONE) {
        message_plain("%s: no kernel '%s' in it", source->path, kernel);
        return false;
    }
    out_text(out, options->json ? "{" : "");
    show_files(out, source, options->json);
    out_text(out, options->json ? "\"functions\":[" : "");
    for (uint32_t i = 0; i < module->function_count; i++) {
        const struct ptx_function *function = &module->functions[i];
        if (function->open == PTX_NONE || (kernel && i != only))
            continue;
        out_text(out, shown++ == 0 ? "" : options->json ? ",\n" : "\n");
        if (!show_function(out, source, function, options->json))
            return false;
    }
    out_text(out, options->json ? "]}\n" : "");
    return true;
}

enum exit_code ptx_tool_blocks(const struct ptx_tool_options *options, struct operands files)
{
    struct ptx_source source;
    struct out out;
    if (!ptx_source_open(&source, files.words[0]))
        return EXIT_BAD_DATA;
    enum exit_code code = EXIT_BAD_DATA;
    if (out_open(&out, &options->output, files)) {
        code = show_functions(&out, &source, options) ? EXIT_GOOD : EXIT_BAD_DATA;
        if (code != EXIT_GOOD)
            out_discard(&out);
        code = exit_worse(code, out_close(&out));
    }
    ptx_source_close(&source);
    return code;
}
