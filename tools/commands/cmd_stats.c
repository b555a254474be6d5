/* SPDX-License-Identifier: Apache-2.0 */
/* rbwp stats: sums over files. Adding up and the forms are in stats/. */
#include "critical_path.h"
#include "documents.h"

#include <stdio.h>
#include <string.h>

#define ARGUMENT "arg:"

static bool store_key(struct stats_report_options *options, const char *key,
                      struct option_error *error)
{
    bool good = key[0] && (!options->arg_key || strcmp(options->arg_key, key) == 0);
    if (!good)
        snprintf(error->text, sizeof error->text,
                 key[0] ? "is a second key; one at a time" : "has no key behind arg:");
    options->arg_key = key;
    options->sections |= SECTION_ARGUMENTS;
    return good;
}

#define BY "slot sub-item thread node gpu kernel range counter message stack "

static bool store_sections(void *value, const char *text, struct option_error *error)
{
    static const unsigned sections[] = {SECTION_WORK_ITEMS,
                                        SECTION_SUB_ITEMS,
                                        SECTION_THREADS | SECTION_CONCURRENCY,
                                        SECTION_NODES,
                                        SECTION_GPUS | SECTION_GPU_WORK,
                                        SECTION_INSIDE,
                                        SECTION_RANGES,
                                        SECTION_COUNTERS,
                                        SECTION_MESSAGES,
                                        SECTION_STACKS};
    struct stats_report_options *options = value;
    uint32_t which;
    if (strncmp(text, ARGUMENT, strlen(ARGUMENT)) == 0)
        return store_key(options, text + strlen(ARGUMENT), error);
    if (!option_choice(text, BY "arg:KEY", &which, error))
        return false;
    options->sections |= sections[which];
    return true;
}

static bool unknown_column(struct option_error *error, const char *what)
{
    int used = snprintf(error->text, sizeof error->text, "%s none of ", what);
    for (const char *at = stats_row_titles; *at && used + 3 < (int)sizeof error->text; at++)
        used += snprintf(error->text + used, 3, *at == ',' ? ", " : "%c", *at);
    return false;
}

static bool store_sort(void *value, const char *text, struct option_error *error)
{
    *(const char **)value = text;
    return stats_has_title(text, strlen(text)) || unknown_column(error, "is");
}

/* Whether such a word is in a list up to its end. */
static bool has_word(const char *list, const char *end, size_t bytes)
{
    while (list < end) {
        size_t own = strcspn(list, ",");
        if (own == bytes && memcmp(list, end, bytes) == 0)
            return true;
        list += own + 1;
    }
    return false;
}

/* "count,p99": each at most once. */
static bool store_columns(void *value, const char *text, struct option_error *error)
{
    for (const char *at = text;; at++) {
        size_t bytes = strcspn(at, ",");
        if (!stats_has_title(at, bytes))
            return unknown_column(error, "has a word that is");
        if (has_word(text, at, bytes))
            return option_wrong(error, "has %.*s twice", (int)bytes, at);
        at += bytes;
        if (*at == '\0')
            break;
    }
    *(const char **)value = text;
    return true;
}

#define TABLES                                                                                     \
    "open findings values work_items queued sub_items gpu_work nodes threads gpus inside_kernels " \
    "kernel_lines ranges gpu_ranges other_tracks counters messages slow_stacks longest losses "    \
    "lines hops shares pieces"

/* It is shown alone, so that nothing else needs to be added up. */
static bool store_csv(void *value, const char *text, struct option_error *error)
{
    struct stats_report_options *options = value;
    unsigned section;
    (void)error;
    options->csv = text;
    options->csv_known = stats_csv_section(text, &section);
    options->sections |= section;
    return true;
}

static bool store_findings(void *value, const char *text, struct option_error *error)
{
    (void)text, (void)error;
    *(unsigned *)value |= SECTION_FINDINGS;
    return true;
}

static bool store_top(void *value, const char *text, struct option_error *error)
{
    struct stats_report_options *options = value;
    options->top.set = true;
    return option_number(text, 0, STATS_TOP_MAX, &options->top.count, error);
}

static const struct option stats_option_table[] = {
    {"json", 0, NULL, NULL, "as JSON", offsetof(struct stats_report_options, json), NULL},
    {"csv", 0, "TABLE", TABLES, "one table of --json as CSV", 0, store_csv},
    {"by", 0, "WHAT", "slot sub-item thread node gpu kernel range counter message stack arg:",
     "only this table; may be repeated; arg:KEY: calls by what they noted", 0, store_sections},
    {"fold-literals", 0, NULL, NULL,
     "by arg:KEY, texts that differ in numbers and quoted strings alone are one",
     offsetof(struct stats_report_options, fold_literals), NULL},
    {"findings", 0, NULL, NULL, "what stands out: who was idle, hung, slow at times",
     offsetof(struct stats_report_options, sections), store_findings},
    {"sort", 0, "COLUMN", "count total share self mean p50 p90 p99 max kind id name",
     "by which column rows are sorted (total)", offsetof(struct stats_report_options, sort),
     store_sort},
    {"columns", 0, "COLUMN,...", "count total share self mean p50 p90 p99 max kind id name",
     "which columns rows have (all that fit)", offsetof(struct stats_report_options, columns),
     store_columns},
    {"cache", 0, "DIR", "beside",
     "keep the sums of each file in DIR, or beside it, for the next time",
     offsetof(struct stats_report_options, cache), option_store_text},
    {"critical-path", 0, NULL, NULL, "the chain of work and waits that held the run up, alone",
     offsetof(struct stats_report_options, critical_path), NULL},
    {"of", 0, "NAME", NULL, "with --critical-path: of the longest call of this name (* and ?)",
     offsetof(struct stats_report_options, of), NULL},
    {"top", 0, "N", NULL, "the N longest calls (default 10, 0 none)", 0, store_top},
    {0},
};

static const struct option_group stats_groups[] = {
    {"Content", stats_option_table, 0},
    READING_GROUPS(struct stats_report_options, filter_option_table, terminal_option_table),
    {0},
};

static enum exit_code stats_run(void *config, struct operands files)
{
    const struct stats_report_options *options = config;
    if (!csv_is_known(options->critical_path ? result_has_list(critical_columns, options->csv)
                                             : !options->csv || options->csv_known,
                      options->csv, options->json))
        return EXIT_USAGE;
    if (options->of && !options->critical_path)
        return message_usage("--of is of --critical-path");
    return (options->critical_path ? critical_report : stats_report)(options, files);
}

const struct command command_stats = {
    .name = "stats",
    .summary = "sums by work item, sub-item, thread, node, GPU, kernel, range, counter and message",
    .operands = "FILE...",
    .description =
        "Counts, total and self time, quantiles and share of the workers' time of each work\n"
        "item and sub-item, how busy threads and GPUs were, what groups of warps did inside\n"
        "kernels, and the longest calls, over all files together; '-' is standard input.\n"
        "Quantiles are within 1.6 %; all else is exact.\n"
        "Exit status: 0 good, 1 bad data, 2 usage, 3 partly read.",
    .groups = stats_groups,
    .config_bytes = sizeof(struct stats_report_options),
    .needs_file = true,
    .inputs = INPUTS_TOGETHER,
    .inputs_offset = offsetof(struct stats_report_options, reading.inputs),
    .run = stats_run,
};
