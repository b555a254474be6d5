/* SPDX-License-Identifier: Apache-2.0 */
/* rbwp ptx: probes in PTX. One command with a word for what it does; the work is in ptx/. */
#include "message.h"
#include "ptx_tool.h"

#include <string.h>

static const struct {
    const char *word;
    enum exit_code (*run)(const struct ptx_tool_options *options, struct operands files);
} actions[] = {
    {"print", ptx_tool_print},           {"blocks", ptx_tool_blocks},
    {"instrument", ptx_tool_instrument}, {"decode", ptx_tool_decode},
    {"sanitize", ptx_tool_sanitize},     {"annotate", ptx_tool_annotate},
};
#define ACTIONS "print, blocks, instrument, decode, sanitize, annotate"

static enum exit_code ptx_run(void *config, struct operands words)
{
    const struct ptx_tool_options *options = config;
    for (size_t i = 0; words.count > 0 && i < sizeof actions / sizeof actions[0]; i++) {
        if (strcmp(words.words[0], actions[i].word) != 0)
            continue;
        bool configured = options->config && actions[i].run == ptx_tool_sanitize;
        if (words.count == 2 || (words.count == 1 && configured))
            return actions[i].run(options, (struct operands){words.words + 1, words.count - 1});
        return message_usage("give one FILE behind %s ('-' is standard input)", actions[i].word);
    }
    if (words.count == 0)
        message_usage("say what to do: " ACTIONS);
    else
        message_usage("'%s' is none of " ACTIONS, words.words[0]);
    return EXIT_USAGE;
}

const struct command command_ptx = {
    .name = "ptx",
    .summary = "put clock probes into PTX, and read what they wrote",
    .operands = "print|blocks|instrument|decode|sanitize|annotate FILE",
    .description =
        "Works on PTX, the text that compilers make for NVIDIA's GPUs.\n"
        "  print       FILE  reads it and writes it again, as it was\n"
        "  blocks      FILE  the blocks of each kernel, by source line and by flow\n"
        "  instrument  FILE  writes it with clock probes in a kernel, and --map what they are\n"
        "  decode      RAW   a buffer as tables, CSV, NumPy and Chrome's JSON; with --rbwp a\n"
        "                    folder of launches as a profile\n"
        "  sanitize    CSV   the probes that a second run can do with: active_probes.json;\n"
        "                    of a folder of launches HASH.active.json for each map\n"
        "  annotate    RAW   the source with what each line took; of a folder of launches\n"
        "                    that of each kernel\n"
        "'-' is standard input.\n"
        "Exit status: 0 good, 1 bad data or not written, 2 usage, 3 partly read.",
    .groups = ptx_option_groups,
    .config_bytes = sizeof(struct ptx_tool_options),
    .run = ptx_run,
};
