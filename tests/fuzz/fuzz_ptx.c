/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PTX: whatever a text says, reading it ends; what was read prints as it was; blocks and edges stay
 * inside of it; and with probes of any mode it can be read again, with as many functions.
 */
#include "fuzz.h"
#include "ptx_flow.h"
#include "ptx_lines.h"
#include "ptx_probe.h"

#include <stdlib.h>
#include <string.h>

static void check_print(const struct ptx_module *module)
{
    size_t bytes;
    char *text = ptx_print(module, NULL, &bytes);
    REQUIRE(text);
    REQUIRE(bytes == module->bytes && memcmp(text, module->text, bytes) == 0);
    free(text);
}

static void check_function(const struct ptx_module *module, const struct ptx_function *function)
{
    struct ptx_lines lines;
    struct ptx_flow flow;
    struct ptx_error error;
    REQUIRE(ptx_lines(&lines, module, function));
    for (uint32_t i = 0; i < lines.count; i++)
        REQUIRE(lines.blocks[i].entry > 0 && lines.blocks[i].exit <= module->line_count);
    ptx_lines_free(&lines);
    if (!ptx_flow(&flow, module, function, &error))
        return;
    for (uint32_t i = 0; i < flow.edge_count; i++)
        REQUIRE(flow.edges[i].from < flow.count && flow.edges[i].to < flow.count);
    ptx_flow_free(&flow);
}

static void check_mode(const struct ptx_module *module, int mode)
{
    struct ptx_options options = {.mode = (enum ptx_mode)mode,
                                  .binding = (enum ptx_binding)(mode % 3),
                                  .kernel = "*",
                                  .capacity = 4,
                                  .ranges = {{0, 3, 1}},
                                  .range_count = 1,
                                  .unknown_too = mode % 2};
    struct ptx_probes probes;
    struct ptx_module again;
    struct ptx_error error;
    if (!ptx_probes(&probes, module, &options, &error))
        return;
    REQUIRE(ptx_parse(&again, probes.text, probes.bytes, &error));
    REQUIRE(again.function_count == module->function_count);
    ptx_free(&again);
    ptx_probes_free(&probes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ptx_module module;
    struct ptx_error error;
    char line[PTX_EXCERPT_BYTES], caret[PTX_EXCERPT_BYTES];
    const char *text = (const char *)guarded_copy(data, size);
    if (!text)
        return 0;
    if (!ptx_parse(&module, text, size, &error)) {
        ptx_excerpt(text, size, &error, line, caret);
        REQUIRE(strlen(line) < PTX_EXCERPT_BYTES && strlen(caret) < PTX_EXCERPT_BYTES);
        return 0;
    }
    check_print(&module);
    for (uint32_t i = 0; i < module.function_count; i++)
        check_function(&module, &module.functions[i]);
    for (int mode = 0; mode < PTX_MODE_COUNT; mode++)
        check_mode(&module, mode);
    ptx_free(&module);
    return 0;
}
