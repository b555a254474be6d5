/* SPDX-License-Identifier: Apache-2.0 */
/* rbwp why: what slow calls have that others have not. The engine is in why/. */
#include "documents.h"
#include "why.h"

#include <stddef.h>

static bool store_slower(void *value, const char *text, struct option_error *error)
{
    struct filter_time *time = value;
    time->set = true;
    return filter_parse_duration(text, &time->ns, error) &&
           (time->ns > 0 || option_wrong(error, "is no time that a call could take longer than"));
}

static const struct option why_option_table[] = {
    {"json", 0, NULL, NULL, "as JSON", offsetof(struct why_options, json), NULL},
    CSV_OPTION(offsetof(struct why_options, csv), "causes evidence"),
    {"name", 0, "NAME", NULL, "calls of this name alone (a pattern with * and ?)",
     offsetof(struct why_options, name), NULL},
    {"slower-than", 0, "TIME", NULL, "calls that take longer are slow (found by rank)",
     offsetof(struct why_options, slower_than), store_slower},
    {"limit", 0, "N", "1..1000", "at most N causes as text (default 5)",
     offsetof(struct why_options, limit), NULL},
    {"max-bytes", 0, "N", "200..131072", "at most N bytes of text (default 4096)",
     offsetof(struct why_options, max_bytes), NULL},
    {0},
};

static const struct option_group why_groups[] = {
    {"View", why_option_table, 0},
    READING_GROUPS(struct why_options, filter_option_table, terminal_option_table),
    {0},
};

static enum exit_code why_run(void *config, struct operands files)
{
    const struct why_options *options = config;
    if (!csv_is_known(result_has_list(why_columns, options->csv), options->csv, options->json))
        return EXIT_USAGE;
    if (files.count == 0)
        return message_usage("no FILE given");
    return why_show(options, files);
}

const struct command command_why = {
    .name = "why",
    .summary = "why some calls took far longer than others of their name",
    .operands = "FILE...",
    .description =
        "Picks the calls that took far longer than the ordinary ones of their name, splits their\n"
        "time into causes (queue, lock, no CPU, page faults, a sub-item ...) and compares it with\n"
        "that of the ordinary ones. What cannot be shown is 'unknown'. FILE is read more than "
        "once.\n"
        "Exit status: 0 good, 1 bad data, 2 usage, 3 partly read.",
    .groups = why_groups,
    .config_bytes = sizeof(struct why_options),
    .inputs = INPUTS_TOGETHER,
    .inputs_offset = offsetof(struct why_options, reading.inputs),
    .run = why_run,
};
