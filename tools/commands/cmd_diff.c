/* SPDX-License-Identifier: Apache-2.0 */
/* rbwp diff: what got slower from one run to another. Matching and judging are in stats_diff.c. */
#include "diff_views.h"
#include "message.h"
#include "progress.h"
#include "stats_load.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Without a threshold: runs of the same program differ by so much. */
#define NOISE_MILLI_PERCENT 5000

struct diff_options {
    struct reading_options reading;
    bool json, all;
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
    if (at == text || at[-1] == '.' || (strcmp(at, "%") != 0 && *at) || whole >= 1000000) {
        snprintf(error->text, sizeof error->text, "is not a percentage such as 10%% or 2.5%%");
        return false;
    }
    options->threshold.set = true;
    options->threshold.milli_percent = whole * 1000 + part;
    return true;
}

static bool store_metric(void *value, const char *text, struct option_error *error)
{
    for (int i = 0; i < DIFF_METRICS; i++)
        if (strcmp(text, diff_metric_name[i]) == 0) {
            *(int *)value = i;
            return true;
        }
    snprintf(error->text, sizeof error->text, "is none of mean, p50, p99, total");
    return false;
}

static const struct option diff_option_table[] = {
    {"threshold", 0, "PERCENT", NULL,
     "what differs by more is not the same (5); exit 4 if it got slower", 0, store_threshold},
    {"by", 0, "WHAT", "mean p50 p99 total", "what is compared: mean (default), p50, p99, total",
     offsetof(struct diff_options, metric), store_metric},
    {"all", 0, NULL, NULL, "rows that are the same, too", offsetof(struct diff_options, all),
     option_store_true},
    {"json", 0, NULL, NULL, "as JSON", offsetof(struct diff_options, json), option_store_true},
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

static enum exit_code show(const struct diff_options *options, struct operands files,
                           const struct diff *diff, const struct tracks_diff *tracks)
{
    struct out out;
    if (!out_open(&out, &options->reading.output, files))
        return EXIT_BAD_DATA;
    struct colors colors = terminal_colors(&options->reading.terminal, out.fd);
    if (options->json)
        diff_json(&out, diff, tracks);
    else
        diff_text(&out, diff, tracks, options->all, &colors);
    return out_close(&out);
}

static enum exit_code compare(const struct diff_options *options, struct operands files,
                              const struct stats *a, const struct stats *b)
{
    struct diff diff = {.metric = (enum diff_metric)options->metric,
                        .threshold = options->threshold.set ? options->threshold.milli_percent
                                                            : NOISE_MILLI_PERCENT};
    struct tracks_diff tracks = {0};
    enum exit_code code = EXIT_BAD_DATA;
    if (diff_make(&diff, a, b) && tracks_diff_make(&tracks, &diff, a, b))
        code = show(options, files, &diff, &tracks);
    else
        message("out of memory");
    if (code == EXIT_GOOD && options->threshold.set && diff.slower + tracks.slower)
        code = EXIT_SLOWER;
    tracks_diff_free(&tracks);
    diff_free(&diff);
    return code;
}

static enum exit_code run(void *config, struct operands files)
{
    const struct diff_options *options = config;
    if (files.count != 2) {
        message_usage("give two files: before and after");
        return EXIT_USAGE;
    }
    struct stats_load *loads = calloc(2, sizeof *loads);
    if (!loads) {
        message("out of memory");
        return EXIT_BAD_DATA;
    }
    progress_allow(&options->reading.terminal);
    enum exit_code code = EXIT_GOOD, compared = EXIT_GOOD;
    for (int i = 0; i < 2; i++) {
        loads[i].options.no_concurrency = true;
        loads[i].reading = options->reading;
        code = exit_worse(code, stats_load(&loads[i], (struct operands){files.words + i, 1}));
    }
    if (loads[0].loaded && loads[1].loaded)
        compared = compare(options, files, &loads[0].stats, &loads[1].stats);
    for (int i = 0; i < 2; i++)
        if (loads[i].loaded)
            stats_free(&loads[i].stats);
    free(loads);
    /* Of files that could not be read whole no verdict is to be had. */
    return code == EXIT_GOOD ? compared
                             : exit_worse(code, compared == EXIT_SLOWER ? code : compared);
}

const struct command command_diff = {
    .name = "diff",
    .summary = "tell what got slower from one run to another",
    .operands = "BEFORE AFTER",
    .description =
        "Compares work items, sub-items and GPU work of two files, or of all in two folders,\n"
        "by kind and name; launches of GPUs and counters, too. With --threshold it is a gate\n"
        "for regressions.\n"
        "Exit status: 0 good, 1 bad data, 2 usage, 3 partly read, 4 something got slower by\n"
        "more than the threshold.",
    .groups = diff_groups,
    .config_bytes = sizeof(struct diff_options),
    .run = run,
};
