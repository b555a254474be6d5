/* SPDX-License-Identifier: Apache-2.0 */
/* rbwp processes: a program, its children and theirs. The view is in dump/. */
#include "documents.h"
#include "processes.h"

static const struct option processes_option_table[] = {
    {"json", 0, NULL, NULL, "a JSON object a line for each process",
     offsetof(struct processes_options, json), NULL},
    CSV_OPTION(offsetof(struct processes_options, csv), "processes"),
    {0},
};

static const struct option_group processes_groups[] = {
    {"View", processes_option_table, 0},
    {"Inputs", input_option_table, offsetof(struct processes_options, inputs)},
    {"Output", out_option_table, offsetof(struct processes_options, output)},
    {"Terminal", terminal_option_table, offsetof(struct processes_options, terminal)},
    {0},
};

static enum exit_code processes_run(void *config, struct operands files)
{
    const struct processes_options *options = config;
    return csv_is_known(result_has_list(processes_columns, options->csv), options->csv,
                        options->json)
               ? processes_show(options, files)
               : EXIT_USAGE;
}

const struct command command_processes = {
    .name = "processes",
    .summary = "show which processes recorded, parents above their children",
    .operands = "FILE...",
    .description =
        "Shows the processes of the files, each above those that it started: when its recording\n"
        "began and ended, on one clock, or that it runs still or died; threads and records. Of\n"
        "unfinished files it is what their FILE.live tells.\n"
        "Exit status: 0 good, 1 bad data, 2 usage, 3 partly read.",
    .groups = processes_groups,
    .config_bytes = sizeof(struct processes_options),
    .needs_file = true,
    .inputs = INPUTS_EACH,
    .inputs_offset = offsetof(struct processes_options, inputs),
    .run = processes_run,
};
