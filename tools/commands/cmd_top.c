/* SPDX-License-Identifier: Apache-2.0 */
/* rbwp top: what running programs do now. The view is in top/. */
#include "documents.h"
#include "filter.h"
#include "top.h"

#include <string.h>

static bool store_interval(void *value, const char *text, struct option_error *error)
{
    int64_t ns;
    if (strspn(text, "0123456789.") == strlen(text))
        return option_wrong(error, "needs a unit: 500ms, 2s");
    if (!filter_parse_duration(text, &ns, error))
        return false;
    if (ns < 100000000 || ns > INT64_C(3600000000000))
        return option_wrong(error, "is not 100ms to 3600s");
    *(uint64_t *)value = (uint64_t)ns;
    return true;
}

static const struct option top_option_table[] = {
    {"once", 0, NULL, NULL, "one look, for scripts", offsetof(struct top_options, once), NULL},
    {"count", 'n', "N", "1..1000000", "so many looks", offsetof(struct top_options, times), NULL},
    {"interval", 'd', "TIME", NULL, "between looks, and what each tells of: 500ms (default 2s)",
     offsetof(struct top_options, interval_ns), store_interval},
    {"sort", 's', "KEY", "busy calls mean max open name",
     "busy (default), calls, mean, max, open (longest), name", offsetof(struct top_options, order),
     NULL},
    {"limit", 'l', "N", "1..1000000", "the first N items", offsetof(struct top_options, lines),
     NULL},
    {"json", 0, NULL, NULL, "a JSON object a line for each item",
     offsetof(struct top_options, json), NULL},
    CSV_OPTION(offsetof(struct top_options, csv), "items"),
    {0},
};

static const struct option_group top_groups[] = {
    {"View", top_option_table, 0},
    {"Terminal", terminal_option_table, offsetof(struct top_options, terminal)},
    {0},
};

static enum exit_code top_run(void *config, struct operands words)
{
    const struct top_options *options = config;
    return csv_is_known(result_has_list(top_columns, options->csv), options->csv, options->json)
               ? top_show(options, words)
               : EXIT_USAGE;
}

const struct command command_top = {
    .name = "top",
    .summary = "show what running programs do now, again and again",
    .operands = "[FILE|FOLDER|PID...]",
    .description =
        "Shows for programs that record (by file, folder or process id; all of this user's\n"
        "without one) which work items and sub-items kept threads busy in the last interval,\n"
        "how many ended, how long they took, and how many are open and for how long.\n"
        "Their files are read; the programs do not notice. Busy is of one thread: 200 %\n"
        "is two. In a pipe each look is a block of lines, with --once the only one.\n"
        "Exit status: 0 good, 1 bad data or no such process, 2 usage.",
    .groups = top_groups,
    .config_bytes = sizeof(struct top_options),
    .inputs = INPUTS_NONE,
    .run = top_run,
};
