/* SPDX-License-Identifier: Apache-2.0 */
/* rbwp why: what slow calls have that others have not. The engine is in why/. */
#include "documents.h"
#include "what_if.h"

#include <stdlib.h>
#include <string.h>

static bool store_slower(void *value, const char *text, struct option_error *error)
{
    struct filter_time *time = value;
    time->set = true;
    return filter_parse_duration(text, &time->ns, error) &&
           (time->ns > 0 || option_wrong(error, "is no time that a call could take longer than"));
}

static bool store_factor(const char *text, double *factor_out, struct option_error *error)
{
    char *end;
    *factor_out = strtod(text, &end);
    return (end != text && *end == '\0' && *factor_out >= 0 && *factor_out <= 1000) ||
           option_wrong(error, "is no factor from 0 to 1000");
}

static bool store_change(void *value, const char *text, struct option_error *error)
{
    struct what_if_ask *ask = value;
    const char *equals = strrchr(text, '=');
    if (!equals || equals == text)
        return option_wrong(error, "is not NAME=FACTOR");
    if (ask->count == WHAT_IF_CHANGES)
        return option_wrong(error, "is one too many");
    ask->changes[ask->count].name = text;
    return store_factor(equals + 1, &ask->changes[ask->count++].factor, error);
}

static bool store_launch(void *value, const char *text, struct option_error *error)
{
    struct what_if_ask *ask = value;
    ask->launch = true;
    return store_factor(text, &ask->launch_factor, error);
}

static const struct option why_option_table[] = {
    {"json", 0, NULL, NULL, "as JSON", offsetof(struct why_options, json), NULL},
    CSV_OPTION(offsetof(struct why_options, csv), "causes evidence rows"),
    {"name", 0, "NAME", NULL, "calls of this name alone (a pattern with * and ?)",
     offsetof(struct why_options, name), NULL},
    {"slower-than", 0, "TIME", NULL, "calls that take longer are slow (found by rank)",
     offsetof(struct why_options, slower_than), store_slower},
    {"what-if", 0, "NAME=FACTOR", NULL,
     "how long the run would take if own time of NAME took FACTOR of it", /* may be repeated */
     offsetof(struct what_if_options, ask), store_change},
    {"workers", 0, "N", "1..4096", "how long it would take with N workers in its pool",
     offsetof(struct what_if_options, ask.workers), NULL},
    {"gpu-launch", 0, "FACTOR", NULL, "how long it would take if launches took FACTOR as long",
     offsetof(struct what_if_options, ask), store_launch},
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
    const struct what_if_options *what_if = config;
    const struct why_options *options = &what_if->why;
    const bool asks = what_if->ask.count || what_if->ask.workers || what_if->ask.launch;
    if (!csv_is_known(result_has_list(asks ? what_if_columns : why_columns, options->csv),
                      options->csv, options->json))
        return EXIT_USAGE;
    if (files.count == 0)
        return message_usage("no FILE given");
    return asks ? what_if_show(what_if, files) : why_show(options, files);
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
        "With --what-if, --workers or --gpu-launch: replays the run with that changed.\n"
        "Exit status: 0 good, 1 bad data, 2 usage, 3 partly read.",
    .groups = why_groups,
    .config_bytes = sizeof(struct what_if_options),
    .inputs = INPUTS_TOGETHER,
    .inputs_offset = offsetof(struct why_options, reading.inputs),
    .run = why_run,
};
