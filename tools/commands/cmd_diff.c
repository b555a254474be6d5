/* SPDX-License-Identifier: Apache-2.0 */
/* rbwp diff: what got slower from one run to another, by judge_runs.c. */
#include "judge_runs.h"
#include "message.h"

struct diff_options {
    struct judge_options judge;
    struct run_list before, after;
};

static bool store_run(void *value, const char *text, struct option_error *error)
{
    struct run_list *runs = value;
    if (runs->count == DIFF_RUNS_MAX - 1) { /* one may be an operand */
        return option_wrong(error, "is one of more than %d", DIFF_RUNS_MAX);
    }
    runs->list[runs->count++] = text;
    return true;
}

static const struct option diff_option_table[] = {
    {"before", 0, "FILE", NULL, "another run of before; may be repeated: the median counts",
     offsetof(struct diff_options, before), store_run},
    {"after", 0, "FILE", NULL, "another run of after", offsetof(struct diff_options, after),
     store_run},
    {0},
};

static const struct option_group diff_groups[] = {
    {"Runs", diff_option_table, 0},
    {"Comparison", judge_option_table, offsetof(struct diff_options, judge)},
    {"Reading", reading_option_table, offsetof(struct diff_options, judge.reading)},
    {"Filters", filter_option_table, offsetof(struct diff_options, judge.reading.filter)},
    {"Output", out_option_table, offsetof(struct diff_options, judge.reading.output)},
    {"Terminal", terminal_option_table, offsetof(struct diff_options, judge.reading.terminal)},
    {0},
};

/* Operands are the first run of each side. False with the message given. */
static bool diff_collect(const struct diff_options *options, struct operands files,
                         struct run_list sides[2])
{
    const struct run_list *const more[] = {&options->before, &options->after};
    if (files.count != 2 && (files.count || !options->before.count || !options->after.count)) {
        message_usage("give two files: before and after");
        return false;
    }
    for (int side = 0; side < 2; side++) {
        if (files.count)
            sides[side].list[sides[side].count++] = files.words[side];
        for (uint32_t i = 0; i < more[side]->count; i++)
            sides[side].list[sides[side].count++] = more[side]->list[i];
    }
    return true;
}

static enum exit_code cmd_diff_run(void *config, struct operands files)
{
    const struct diff_options *options = config;
    struct run_list sides[2] = {{.count = 0}};
    if (!judge_options_good(&options->judge) || !diff_collect(options, files, sides))
        return EXIT_USAGE;
    return judge_runs(&options->judge, sides);
}

const struct command command_diff = {
    .name = "diff",
    .summary = "show what got slower from one run to another",
    .operands = "BEFORE AFTER",
    .description =
        "Compares work items, sub-items and GPU work of two files, by kind and name; launches of\n"
        "GPUs and counters, too. With --threshold it is a gate for regressions: give several runs\n"
        "a side, or folders of them. Their medians are compared, and by the ranks of all runs\n"
        "chance finds something in one of a hundred comparisons of equal programs.\n"
        "Exit status: 0 good or no verdict, 1 bad data, 2 usage, 3 partly read, 4 something got\n"
        "slower by more than the threshold.",
    .groups = diff_groups,
    .config_bytes = sizeof(struct diff_options),
    .run = cmd_diff_run,
};
