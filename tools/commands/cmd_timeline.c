/* SPDX-License-Identifier: Apache-2.0 */
/* rbwp timeline: threads over time in a terminal. The view is in timeline/. */
#include "documents.h"
#include "timeline.h"

static const struct option timeline_option_table[] = {
    {"width", 0, "N", "40..1000", "columns (default: the terminal's)",
     offsetof(struct timeline_options, width), NULL},
    {"ascii", 0, NULL, NULL, "no block characters", offsetof(struct timeline_options, ascii), NULL},
    {"json", 0, NULL, NULL, "as JSON: columns of each track, with what took most of their time",
     offsetof(struct timeline_options, json), NULL},
    CSV_OPTION(offsetof(struct timeline_options, csv), "tracks columns values"),
    {0},
};

static const struct option_group timeline_groups[] = {
    {"View", timeline_option_table, 0},
    READING_GROUPS(struct timeline_options, filter_option_table, terminal_option_table),
    {0},
};

static enum exit_code timeline_run(void *config, struct operands files)
{
    const struct timeline_options *options = config;
    return csv_is_known(result_has_list(timeline_columns, options->csv), options->csv,
                        options->json)
               ? timeline_show(options, files)
               : EXIT_USAGE;
}

const struct command command_timeline = {
    .name = "timeline",
    .summary = "show threads and GPUs over time in the terminal",
    .operands = "FILE...",
    .description =
        "Shows for each thread and GPU how busy it was over time (bars) and with what most\n"
        "(letters, explained below them). --from and --to zoom in. '!' marks losses.\n"
        "Exit status: 0 good, 1 bad data, 2 usage, 3 partly read.",
    .groups = timeline_groups,
    .config_bytes = sizeof(struct timeline_options),
    .needs_file = true,
    .inputs = INPUTS_TOGETHER,
    .inputs_offset = offsetof(struct timeline_options, reading.inputs),
    .run = timeline_run,
};
