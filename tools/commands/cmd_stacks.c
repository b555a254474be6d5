/* SPDX-License-Identifier: Apache-2.0 */
/* rbwp stacks: what every thread is in at this moment. The view is in stacks/. */
#include "documents.h"
#include "stacks.h"

#include <stdlib.h>
#include <string.h>

static const struct option stacks_option_table[] = {
    {"json", 0, NULL, NULL, "a JSON object a line for each thread",
     offsetof(struct stacks_options, json), NULL},
    CSV_OPTION(offsetof(struct stacks_options, csv), "tracks stack stack_frames"),
    {"native", 0, NULL, NULL, "all frames of the stacks of slow calls, not the first 8",
     offsetof(struct stacks_options, native), NULL},
    {0},
};

static const struct option_group stacks_groups[] = {
    {"View", stacks_option_table, 0},
    {"Filters", filter_option_table, offsetof(struct stacks_options, reading.filter)},
    {"Inputs", input_option_table, offsetof(struct stacks_options, reading.inputs)},
    {"Output", out_option_table, offsetof(struct stacks_options, reading.output)},
    {"Terminal", terminal_option_table, offsetof(struct stacks_options, reading.terminal)},
    {0},
};

static enum exit_code stacks_run(void *config, struct operands files)
{
    struct stacks_options *options = config;
    enum exit_code code = EXIT_BAD_DATA;
    if (files.count == 0)
        return message_usage("no FILE or PID given");
    if (!csv_is_known(result_has_list(stacks_columns, options->csv), options->csv, options->json))
        return EXIT_USAGE;
    char **words = calloc((size_t)files.count, sizeof *words);
    int found = 0;
    while (words && found < files.count &&
           (words[found] = stacks_is_pid(files.words[found]) ? stacks_file_of(files.words[found])
                                                             : strdup(files.words[found])))
        found++;
    options->reading.live = true;
    if (found == files.count)
        code = stacks_show(options, (struct operands){words, found});
    else if (!words || !stacks_is_pid(files.words[found]))
        message("out of memory");
    for (int i = 0; i < found; i++)
        free(words[i]);
    free(words);
    return code;
}

const struct command command_stacks = {
    .name = "stacks",
    .summary = "show what every thread is doing at this moment",
    .operands = "FILE|PID...",
    .description =
        "Shows for each thread of a program that runs (by its file, or its process id) the calls\n"
        "and sub-items that it is in and for how long, or since when it is idle. Of a program\n"
        "that died, and of a finished file, it is the last moment. Of slow calls and waits that\n"
        "were recorded with their stacks: what they wait for, who holds it, and deadlocks.\n"
        "Exit status: 0 good, 1 bad data, 2 usage, 3 partly read.",
    .groups = stacks_groups,
    .config_bytes = sizeof(struct stacks_options),
    .inputs = INPUTS_TOGETHER,
    .inputs_offset = offsetof(struct stacks_options, reading.inputs),
    .run = stacks_run,
};
