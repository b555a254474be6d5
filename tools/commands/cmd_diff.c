/* SPDX-License-Identifier: Apache-2.0 */
/* rbwp diff: what got slower from one run to another. Matching and judging are in stats_diff.c. */
#include "diff_page.h"
#include "documents.h"
#include "message.h"
#include "progress.h"
#include "stats_files.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Without a threshold: runs of the same program differ by so much. */
#define NOISE_MILLI_PERCENT 5000

/* Files, or folders, in the order in which they were given. */
struct run_list {
    const char *list[DIFF_RUNS_MAX];
    uint32_t count;
};

struct diff_options {
    struct reading_options reading;
    bool json, all;
    struct run_list before, after;
    uint32_t min_count;
    const char *page, *csv;
    int metric; /* enum diff_metric */
    struct {
        bool set;
        uint64_t milli_percent;
    } threshold;
};

/* "10%", "2.5": a percentage with at most three digits behind the point. */
static bool store_threshold(void *value, const char *text, struct option_error *error)
{
    struct diff_options *options = value;
    uint64_t whole = 0, part = 0, unit = 1000;
    const char *at = text;
    while (*at >= '0' && *at <= '9' && whole < 1000000)
        whole = whole * 10 + (uint64_t)(*at++ - '0');
    if (at > text && *at == '.')
        for (at++; *at >= '0' && *at <= '9' && unit > 1; at++)
            part += (uint64_t)(*at - '0') * (unit /= 10);
    if (at == text || at[-1] == '.' || (strcmp(at, "%") != 0 && *at) || whole >= 1000000)
        return option_wrong(error, "is not a percentage such as 10%% or 2.5%%");
    options->threshold.set = true;
    options->threshold.milli_percent = whole * 1000 + part;
    return true;
}

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
    {"threshold", 0, "PERCENT", NULL,
     "what differs by more is not the same (5); exit 4 if it got slower", 0, store_threshold},
    {"by", 0, "WHAT", "mean p50 p99 total running runnable waiting",
     "what is compared: mean (default), p50, p99, total, or what calls did: running, runnable, "
     "waiting",
     offsetof(struct diff_options, metric), NULL},
    {"before", 0, "FILE", NULL, "another run of before; may be repeated: the median counts",
     offsetof(struct diff_options, before), store_run},
    {"after", 0, "FILE", NULL, "another run of after", offsetof(struct diff_options, after),
     store_run},
    {"min-count", 0, "N", "0..1000000000",
     "rows with fewer spans in before or after are not judged (0)",
     offsetof(struct diff_options, min_count), NULL},
    {"report", 0, "PAGE.html", NULL, "a page with both sides beside each other, too",
     offsetof(struct diff_options, page), option_store_text},
    {"all", 0, NULL, NULL, "rows that are the same, too", offsetof(struct diff_options, all),
     option_store_true},
    {"json", 0, NULL, NULL, "as JSON", offsetof(struct diff_options, json), option_store_true},
    CSV_OPTION(offsetof(struct diff_options, csv), "rows launches counters"),
    {0},
};

static const struct option_group diff_groups[] = {
    {"Comparison", diff_option_table, 0},
    {"Reading", reading_option_table, offsetof(struct diff_options, reading)},
    {"Filters", filter_option_table, offsetof(struct diff_options, reading.filter)},
    {"Output", out_option_table, offsetof(struct diff_options, reading.output)},
    {"Terminal", terminal_option_table, offsetof(struct diff_options, reading.terminal)},
    {0},
};

/* ---- the command ----------------------------------------------------------------------- */

static enum exit_code diff_show(const struct diff_options *options, struct operands files,
                                const struct diff *diff)
{
    struct out out;
    if (!out_open(&out, &options->reading.output, files))
        return EXIT_BAD_DATA;
    if (options->json || options->csv)
        result_document(&out, diff_columns, options->csv, diff, diff);
    else
        diff_text(&out, diff, options->all, terminal_colors(&options->reading.terminal, out.fd));
    return out_close(&out);
}

/* What is compared: runs of before, then of after. */
struct runs {
    char *words[2 * DIFF_RUNS_MAX];
    uint32_t before, after;
    struct stats_load *loads;
};

static enum exit_code write_page(const struct diff_options *options, struct operands files,
                                 const struct diff *diff, const struct stats *const *stats)
{
    struct out out;
    if (!options->page)
        return EXIT_GOOD;
    if (!out_open(&out, &(struct out_options){options->page, options->reading.output.force}, files))
        return EXIT_BAD_DATA;
    bool whole = diff_page_write(&out, &(struct diff_page){diff, stats, files.words});
    enum exit_code code = out_close(&out);
    return whole ? code : exit_worse(code, EXIT_PARTIAL);
}

/* Of the gate. */
static enum exit_code diff_verdict(const struct diff *diff)
{
    if (diff->judged)
        return diff->slower ? EXIT_SLOWER : EXIT_GOOD;
    message("no verdict: %" PRIu32 " and %" PRIu32
            " runs cannot tell a change from chance in %" PRIu32 " comparisons; %" PRIu32
            " a side can (--before, --after)",
            diff->a_runs, diff->b_runs, diff->comparisons, diff->runs_needed);
    return EXIT_GOOD;
}

static enum exit_code diff_compare(const struct diff_options *options, const struct runs *runs)
{
    struct diff diff = {.metric = (enum diff_metric)options->metric,
                        .threshold = options->threshold.set ? options->threshold.milli_percent
                                                            : NOISE_MILLI_PERCENT,
                        .min_count = options->min_count,
                        .a_runs = runs->before,
                        .b_runs = runs->after};
    const struct stats *stats[2 * DIFF_RUNS_MAX];
    enum exit_code code = EXIT_BAD_DATA;
    for (uint32_t i = 0; i < runs->before + runs->after; i++)
        stats[i] = &runs->loads[i].stats;
    struct operands files = {(char **)(uintptr_t)runs->words, (int)(runs->before + runs->after)};
    if (diff_make(&diff, stats))
        code =
            exit_worse(write_page(options, files, &diff, stats), diff_show(options, files, &diff));
    else
        message("out of memory");
    if (code == EXIT_GOOD && options->threshold.set)
        code = diff_verdict(&diff);
    diff_free(&diff);
    return code;
}

/* Operands are the first run of each side. False with the message given. */
static bool diff_collect(const struct diff_options *options, struct operands files,
                         struct runs *runs)
{
    const struct run_list *const lists[] = {&options->before, &options->after};
    uint32_t *const counts[] = {&runs->before, &runs->after}, all = 0;
    if (files.count != 2 && (files.count || !options->before.count || !options->after.count)) {
        message_usage("give two files: before and after");
        return false;
    }
    for (int side = 0; side < 2; side++) {
        if (files.count)
            runs->words[all + (*counts[side])++] = files.words[side];
        for (uint32_t i = 0; i < lists[side]->count; i++)
            runs->words[all + (*counts[side])++] = (char *)(uintptr_t)lists[side]->list[i];
        all += *counts[side];
    }
    return true;
}

static enum exit_code load_and_compare(const struct diff_options *options, struct runs *runs)
{
    enum exit_code code = EXIT_GOOD, compared = EXIT_GOOD;
    uint32_t all = runs->before + runs->after, loaded = 0;
    for (uint32_t i = 0; i < all; i++) {
        struct stats_load *load = &runs->loads[i];
        load->options.no_concurrency = true;
        load->options.cells = options->page != NULL;
        load->reading = options->reading;
        code = exit_worse(code, stats_load(load, (struct operands){runs->words + i, 1}));
        loaded += load->loaded;
    }
    if (loaded == all)
        compared = diff_compare(options, runs);
    for (uint32_t i = 0; i < all; i++)
        if (runs->loads[i].loaded)
            stats_free(&runs->loads[i].stats);
    /* Of files that could not be read whole no verdict is to be had. */
    return code == EXIT_GOOD ? compared
                             : exit_worse(code, compared == EXIT_SLOWER ? code : compared);
}

static enum exit_code cmd_diff_run(void *config, struct operands files)
{
    const struct diff_options *options = config;
    struct runs runs = {.before = 0};
    if (!csv_is_known(result_has_list(diff_columns, options->csv), options->csv, options->json) ||
        !diff_collect(options, files, &runs))
        return EXIT_USAGE;
    runs.loads = calloc(runs.before + runs.after, sizeof *runs.loads);
    if (!runs.loads)
        return message_bad_data("out of memory");
    progress_allow(&options->reading.terminal);
    enum exit_code code = load_and_compare(options, &runs);
    free(runs.loads);
    return code;
}

const struct command command_diff = {
    .name = "diff",
    .summary = "show what got slower from one run to another",
    .operands = "BEFORE AFTER",
    .description =
        "Compares work items, sub-items and GPU work of two files, or of all in two folders,\n"
        "by kind and name; launches of GPUs and counters, too. With --threshold it is a gate\n"
        "for regressions: give several runs a side. Their medians are compared, and by the ranks\n"
        "of all runs chance finds something in one of a hundred comparisons of equal programs.\n"
        "Exit status: 0 good or no verdict, 1 bad data, 2 usage, 3 partly read, 4 something got\n"
        "slower by more than the threshold.",
    .groups = diff_groups,
    .config_bytes = sizeof(struct diff_options),
    .run = cmd_diff_run,
};
