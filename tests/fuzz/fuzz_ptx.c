/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PTX: whatever a text says, reading it ends; what was read prints as it was; blocks and edges stay
 * inside of it; and with probes of any mode it can be read again, with as many functions.
 *
 * An input that begins with a zero byte is what a launch left: lengths of two texts (16 bits each),
 * launches-1.ndjson, m.map.json, and r.raw. Whatever they say, the profile that is made of them is
 * sound.
 */
#include "fuzz.h"
#include "ptx_folder.h"
#include "ptx_flow.h"
#include "ptx_lines.h"
#include "ptx_probe.h"
#include "rbwp_verify.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* ---- what launches left ---------------------------------------------------------------- */

enum { LEAVES = 3, HEAD = 5 };
static const char *const leaves[LEAVES] = {"launches-1.ndjson", "m.map.json", "r.raw"};

static void write_leaf(const char *folder, const char *leaf, const uint8_t *bytes, size_t count)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", folder, leaf);
    FILE *file = fopen(path, "wb");
    REQUIRE(file && fwrite(bytes, 1, count, file) == count && fclose(file) == 0);
}

/* What comes out of a folder, written to path. */
static void check_folder(const char *folder, const char *path)
{
    struct ptx_folder_summary summary;
    const struct out_options output = {path, true};
    uint32_t count;
    enum exit_code code = ptx_folder_write(folder, &output, &summary);
    REQUIRE(code == EXIT_GOOD || code == EXIT_BAD_DATA || code == EXIT_PARTIAL);
    REQUIRE((access(path, F_OK) == 0) == (code != EXIT_BAD_DATA));
    ptx_folder_summary_free(&summary);
    if (code != EXIT_BAD_DATA) {
        struct rbwp_verify_result result;
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        REQUIRE(fd >= 0 && rbwp_verify_fd(fd, NULL, NULL, &result, NULL) == RBWP_OK);
        REQUIRE(result.breaks == 0 && !result.cut);
        close(fd);
    }
    code = ptx_folder_active(folder, folder, (struct ptx_sanitizing){.dead = true, .merge = true},
                             &count);
    REQUIRE(code == EXIT_GOOD || code == EXIT_BAD_DATA || code == EXIT_PARTIAL);
}

static void remove_all(const char *folder)
{
    char command[PATH_MAX + 16];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    REQUIRE(system(command) == 0);
}

static void check_launches(const uint8_t *data, size_t size)
{
    char folder[] = "/tmp/rbwp-fuzz-XXXXXX", path[sizeof folder + 16];
    size_t lengths[LEAVES], at = HEAD;
    if (size < HEAD)
        return;
    lengths[0] = data[1] | (size_t)data[2] << 8;
    lengths[1] = data[3] | (size_t)data[4] << 8;
    REQUIRE(mkdtemp(folder));
    for (int i = 0; i < LEAVES; i++) {
        size_t count = i + 1 == LEAVES || lengths[i] > size - at ? size - at : lengths[i];
        write_leaf(folder, leaves[i], data + at, count);
        at += count;
    }
    snprintf(path, sizeof path, "%s/out.bin", folder);
    check_folder(folder, path);
    remove_all(folder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 0 && size <= INPUT_BYTES_MAX && data[0] == 0) {
        check_launches(data, size);
        return 0;
    }
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
