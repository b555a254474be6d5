/* SPDX-License-Identifier: Apache-2.0 */
/* rbwp info: what files hold, as text or JSON. Gathering and the two forms are in info*.c. */
#include "documents.h"
#include "info.h"
#include "input_list.h"

struct info_options {
    struct input_options inputs;
    bool json, quick, live, index;
    const char *csv;
    struct out_options output;
};

static const struct option info_option_table[] = {
    {"json", 0, NULL, NULL, "as JSON; several files give an array",
     offsetof(struct info_options, json), NULL},
    CSV_OPTION(offsetof(struct info_options, csv),
               "files slot_counts sub_item_counts thread_counts table_counts losses problems"),
    {"quick", 0, NULL, NULL, "skip the counts, which need all blocks to be read",
     offsetof(struct info_options, quick), NULL},
    {"index", 0, NULL, NULL, "where its blocks are and when, as the file's own index tells",
     offsetof(struct info_options, index), NULL},
    {"live", 0, NULL, NULL, INPUT_LIVE_HELP, offsetof(struct info_options, live), NULL},
    {0},
};

static const struct option_group info_groups[] = {
    {"Content", info_option_table, 0},
    {"Inputs", input_option_table, offsetof(struct info_options, inputs)},
    {"Output", out_option_table, offsetof(struct info_options, output)},
    {0},
};

static enum exit_code info_file(struct out *out, const struct info_options *options,
                                const char *path, uint64_t *written)
{
    struct input input;
    struct info info;
    if (!(options->live ? input_open_live(&input, path) : input_open(&input, path, true)))
        return EXIT_BAD_DATA;
    if (!info_gather(&info, &input, options->quick)) {
        input_close(&input);
        return EXIT_BAD_DATA;
    }
    info.index = options->index;
    const struct result_column *files = info_document();
    if (*written && !options->csv)
        out_text(out, options->json ? ",\n" : "\n");
    if (options->csv)
        result_lines(out, files, options->csv, *written == 0, &info);
    else if (options->json)
        result_json_object(out, files->list->columns, &(struct result_at){&info, &info, NULL, 0});
    else
        info_text(out, &info);
    ++*written;
    enum exit_code code = info.tables.broken || info.tables.failed ? EXIT_PARTIAL : EXIT_GOOD;
    if (info.map.full) {
        message_plain("%s: too many threads, or out of memory: some are in the sums only", path);
        code = EXIT_PARTIAL;
    }
    info_free(&info);
    return exit_worse(code, input_close(&input));
}

static enum exit_code info_run(void *config, struct operands files)
{
    const struct info_options *options = config;
    struct out out;
    if (!csv_is_known(result_has_list(info_document(), options->csv), options->csv, options->json))
        return EXIT_USAGE;
    if (!out_open(&out, &options->output, files))
        return EXIT_BAD_DATA;
    bool array = options->json && files.count > 1;
    uint64_t written = 0;
    enum exit_code code = EXIT_GOOD;
    out_text(&out, array ? "[" : "");
    for (int i = 0; i < files.count && !out_failed(&out); i++)
        code = exit_worse(code, info_file(&out, options, files.words[i], &written));
    out_text(&out, array ? "]\n" : options->json && written ? "\n" : "");
    return exit_worse(code, out_close(&out));
}

const struct command command_info = {
    .name = "info",
    .summary = "show what files hold",
    .operands = "FILE...",
    .description =
        "Shows header, session, losses, clock, counts, threads and names of RBWP files;\n"
        "'-' is standard input.\n"
        "Exit status: 0 good, 1 bad data, 2 usage, 3 partly read.",
    .groups = info_groups,
    .config_bytes = sizeof(struct info_options),
    .needs_file = true,
    .inputs = INPUTS_EACH,
    .inputs_offset = offsetof(struct info_options, inputs),
    .run = info_run,
};
