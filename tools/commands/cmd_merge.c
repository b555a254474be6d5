/* SPDX-License-Identifier: Apache-2.0 */
/* rbwp merge: export of several files, with a say in how they come onto one axis. */
#include "documents.h"
#include "export.h"

#include <string.h>

static const struct option_group merge_groups[] = {
    {"Alignment", align_option_table, offsetof(struct export_options, reading.align)},
    {"Format", export_option_table, 0},
    {"Report", export_report_table, 0},
    READING_GROUPS(struct export_options, FILTER_OPTIONS_UNTIL, progress_option_table),
    {0},
};

static bool method_is_known(const char *method)
{
    static const char *const known[] = {"auto",     "clocks",   "monotonic", "zero",
                                        "realtime", "messages", "start"};
    for (size_t i = 0; method && i < sizeof known / sizeof known[0]; i++)
        if (strcmp(method, known[i]) == 0)
            return true;
    if (method)
        message_usage(
            "--align %s: is none of auto, clocks, monotonic, zero, realtime, messages, start",
            method);
    return !method;
}

static enum exit_code cmd_merge_run(void *config, struct operands files)
{
    struct export_options *options = config;
    options->reading.align.whole_job = options->reading.inputs.shard.of == 0;
    if (!method_is_known(options->reading.align.method) ||
        !csv_is_known(result_has_list(export_columns, options->csv), options->csv, options->json))
        return EXIT_USAGE;
    return export_files(options, files);
}

const struct command command_merge = {
    .name = "merge",
    .summary = "put files of several nodes and profilers onto one time axis",
    .operands = "FILE...",
    .description = "Writes RBWP files, Legion Prof logs, Chrome JSON and Perfetto traces as one "
                   "trace, in any form\n"
                   "that export knows. How each file came onto the axis, and how wrong that can "
                   "be, is reported and\n"
                   "stored; files that cannot belong together are refused.\n"
                   "Exit status: 0 good, 1 bad data or refused, 2 usage, 3 partly read.",
    .groups = merge_groups,
    .config_bytes = sizeof(struct export_options),
    .needs_file = true,
    .inputs = INPUTS_TOGETHER,
    .inputs_offset = offsetof(struct export_options, reading.inputs),
    .run = cmd_merge_run,
};
