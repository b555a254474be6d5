/* SPDX-License-Identifier: Apache-2.0 */
/* rbwp export: files for other tools. The kinds are in export/. */
#include "documents.h"
#include "export.h"

static const struct option_group export_groups[] = {
    {"Format", export_option_table, 0},
    {"Report", export_report_table, 0},
    READING_GROUPS(struct export_options, FILTER_OPTIONS_UNTIL, progress_option_table),
    {0},
};

static enum exit_code export_run(void *config, struct operands files)
{
    const struct export_options *options = config;
    return csv_is_known(result_has_list(export_columns, options->csv), options->csv, options->json)
               ? export_files(options, files)
               : EXIT_USAGE;
}

const struct command command_export = {
    .name = "export",
    .summary = "write files for viewers, databases and scripts",
    .operands = "FILE...",
    .description =
        "Writes the spans of RBWP files in a form that other programs open; '-' is standard\n"
        "input. Files of several nodes come out as one.\n"
        "Exit status: 0 good, 1 bad data, 2 usage, 3 partly read.",
    .groups = export_groups,
    .config_bytes = sizeof(struct export_options),
    .needs_file = true,
    .inputs = INPUTS_TOGETHER,
    .inputs_offset = offsetof(struct export_options, reading.inputs),
    .run = export_run,
};
