/* SPDX-License-Identifier: Apache-2.0 */
/* rbwp compare: runs of two commands by turns (record_pairs.c), judged as diff does. */
#include "judge_runs.h"
#include "message.h"
#include "record.h"
#include "record_words.h"

#include <string.h>

#define DEFAULT_FOLDER "rbwp-compare"
enum { DEFAULT_RUNS = 10, DEFAULT_WARM_UP = 1 };

struct compare_options {
    struct judge_options judge;
    uint32_t runs; /* 0: the default */
    struct {
        bool set;
        uint32_t runs;
    } warm_up;
    uint32_t level, sources;
    const char *folder;
};

static bool store_warm_up(void *value, const char *text, struct option_error *error)
{
    struct compare_options *options = value;
    options->warm_up.set = true;
    return option_number(text, 0, DIFF_RUNS_MAX, &options->warm_up.runs, error);
}

static const struct option compare_option_table[] = {
    {"runs", 'n', "N", "1..64", "runs of each that are judged (10)",
     offsetof(struct compare_options, runs), NULL},
    {"warm-up", 0, "N", NULL, "runs of each before, which are not (1)", 0, store_warm_up},
    RECORD_WHAT_OPTION(offsetof(struct compare_options, sources)),
    {"level", 0, "LEVEL", "1..2", "of what the programs record of themselves (2)",
     offsetof(struct compare_options, level), NULL},
    {"output", 'o', "FOLDER", NULL, "keep the runs in FOLDER/a and FOLDER/b (rbwp-compare)",
     offsetof(struct compare_options, folder), NULL},
    {"force", 'f', NULL, NULL, "remove runs that are there; overwrite the page",
     offsetof(struct compare_options, judge.reading.output.force), NULL},
    {0},
};

static const struct option_group compare_groups[] = {
    {"Runs", compare_option_table, 0},
    {"Comparison", judge_option_table, offsetof(struct compare_options, judge)},
    {"Reading", reading_option_table, offsetof(struct compare_options, judge.reading)},
    {"Filters", filter_option_table, offsetof(struct compare_options, judge.reading.filter)},
    {"Terminal", terminal_option_table, offsetof(struct compare_options, judge.reading.terminal)},
    {0},
};

/* Two commands with one "--" between them. False with the message given. */
static bool divide_words(struct operands words, struct operands programs[2])
{
    int at = -1, ends = 0;
    for (int i = 0; i < words.count; i++)
        if (strcmp(words.words[i], "--") == 0) {
            at = i;
            ends++;
        }
    if (ends == 1 && at > 0 && at + 1 < words.count) {
        programs[0] = (struct operands){words.words, at};
        programs[1] = (struct operands){words.words + at + 1, words.count - at - 1};
        return true;
    }
    message_usage(ends > 1 ? "more than one '--' between the commands: put those that have one "
                             "into a script"
                           : "give two commands: -- A... -- B...");
    return false;
}

static enum exit_code cmd_compare_run(void *config, struct operands words)
{
    struct compare_options *options = config;
    struct record_pairs pairs = {.record = {.sources = options->sources, .level = options->level},
                                 .runs = options->runs ? options->runs : DEFAULT_RUNS,
                                 .warm_up =
                                     options->warm_up.set ? options->warm_up.runs : DEFAULT_WARM_UP,
                                 .folder = options->folder ? options->folder : DEFAULT_FOLDER,
                                 .force = options->judge.reading.output.force,
                                 .quiet = options->judge.reading.align.quiet};
    char folders[2][PATH_MAX];
    if (!judge_options_good(&options->judge) || !divide_words(words, pairs.programs))
        return EXIT_USAGE;
    if (!record_pairs(&pairs, folders))
        return EXIT_BAD_DATA;
    const struct run_list sides[2] = {{.list = {folders[0]}, .count = 1},
                                      {.list = {folders[1]}, .count = 1}};
    options->judge.reading.align.quiet = true; /* files of one run are those of one machine */
    return judge_runs(&options->judge, sides);
}

const struct command command_compare = {
    .name = "compare",
    .summary = "run two commands by turns, and show what one does slower",
    .operands = "-- A... -- B...",
    .description =
        "Runs two commands by turns (A B B A), records each run as rbwp record does, and judges\n"
        "them as rbwp diff does: B after A. Programs that record themselves get their file's name\n"
        "in RBWP_FLAGS, or in the place of the one behind -bgworkprofile_logfile. They have no\n"
        "input, and their standard output is dropped. A command that fails ends it, and nothing "
        "is\n"
        "judged.\n"
        "Exit status: that of diff: 0 good or no verdict, 1 a command failed or bad data, 2 "
        "usage,\n"
        "3 partly read, 4 something got slower by more than the threshold.",
    .groups = compare_groups,
    .config_bytes = sizeof(struct compare_options),
    .run = cmd_compare_run,
};
