/* SPDX-License-Identifier: Apache-2.0 */
/* rbwp diff: what got slower from one run to another. Matching and judging are in stats_diff.c. */
#include "json_text.h"
#include "message.h"
#include "progress.h"
#include "quantity.h"
#include "stats_diff.h"
#include "stats_load.h"
#include "text_name.h"

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

/* ---- as text --------------------------------------------------------------------------- */

static void text_cell(struct out *out, uint64_t ns)
{
    char text[QUANTITY_BYTES];
    out_format(out, "%10s", quantity_rough(text, ns, 4));
}

static void text_row(struct out *out, const struct diff *diff, const struct diff_row *row,
                     const struct colors *colors)
{
    char text[QUANTITY_BYTES];
    uint64_t a = diff_value(&row->a, diff->metric), b = diff_value(&row->b, diff->metric);
    const char *color = row->verdict == DIFF_SLOWER   ? colors->red
                        : row->verdict == DIFF_FASTER ? colors->bold
                                                      : "";
    out_format(out, "%s%-6s", color, diff_verdict_name[row->verdict]);
    if (row->a.count && row->b.count && a)
        out_format(out, " %7.3f", (double)b / (double)a);
    else
        out_format(out, " %7s", "-");
    text_cell(out, a);
    text_cell(out, b);
    out_format(out, "%12s", quantity_grouped(text, row->a.count));
    out_format(out, "%12s", quantity_grouped(text, row->b.count));
    text_cell(out, row->a.total_ns);
    text_cell(out, row->b.total_ns);
    out_format(out, "  %-8s ", trace_category_name[row->category]);
    text_name(out, row->name.text, row->name.bytes);
    out_format(out, "%s\n", *color ? colors->off : "");
}

static void show_text(struct out *out, const struct diff *diff, bool all,
                      const struct colors *colors)
{
    char a[16], b[16];
    uint32_t same = 0;
    for (uint32_t i = 0; i < diff->count && !all; i++)
        same += diff->rows[i].verdict == DIFF_SAME;
    if (same)
        out_format(out, "%" PRIu32 " row%s the same within %.4g %% (--all shows them)\n", same,
                   same == 1 ? " is" : "s are", (double)diff->threshold / 1000);
    if (same == diff->count && !all)
        return;
    snprintf(a, sizeof a, "%s A", diff_metric_name[diff->metric]);
    snprintf(b, sizeof b, "%s B", diff_metric_name[diff->metric]);
    out_format(out, "%s%-6s %7s%10s%10s%12s%12s%10s%10s  %-8s %s%s\n", colors->dim, "", "B/A", a, b,
               "count A", "count B", "total A", "total B", "kind", "name", colors->off);
    for (uint32_t i = 0; i < diff->count; i++)
        if (all || diff->rows[i].verdict != DIFF_SAME)
            text_row(out, diff, &diff->rows[i], colors);
}

/* ---- as JSON --------------------------------------------------------------------------- */

static void json_side(struct out *out, const char *key, const struct stats_row *row)
{
    static const char *const keys[] = {"count", "unfinished", "total", "self", "mean",
                                       "p50",   "p90",        "p99",   "max"};
    const uint64_t values[] = {row->count,
                               row->unfinished,
                               row->total_ns,
                               stats_self_ns(row),
                               stats_mean_ns(row),
                               stats_quantile_ns(row, 500),
                               stats_quantile_ns(row, 900),
                               stats_quantile_ns(row, 990),
                               row->max_ns};
    out_text(out, ",");
    json_key(out, key);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        out_text(out, i ? "," : "{");
        json_u64(out, keys[i], values[i]);
    }
    out_text(out, "}");
}

static void show_json(struct out *out, const struct diff *diff)
{
    out_text(out, "{");
    json_plain(out, "by", diff_metric_name[diff->metric]);
    out_format(out, ",\"threshold_percent\":%.3f,", (double)diff->threshold / 1000);
    json_u64(out, "slower", diff->slower);
    out_text(out, ",\n\"rows\":[");
    for (uint32_t i = 0; i < diff->count; i++) {
        const struct diff_row *row = &diff->rows[i];
        uint64_t a = diff_value(&row->a, diff->metric), b = diff_value(&row->b, diff->metric);
        out_text(out, i ? ",\n{" : "\n{");
        json_plain(out, "verdict", diff_verdict_name[row->verdict]);
        out_text(out, ",");
        json_plain(out, "category", trace_category_name[row->category]);
        out_text(out, ",");
        json_name(out, "name", row->name.text, row->name.bytes);
        out_text(out, ",\"ratio\":");
        if (row->a.count && row->b.count && a)
            out_format(out, "%.6f", (double)b / (double)a);
        else
            out_text(out, "null");
        json_side(out, "a", &row->a);
        json_side(out, "b", &row->b);
        out_text(out, "}");
    }
    out_text(out, "]}\n");
}

/* ---- the command ----------------------------------------------------------------------- */

static enum exit_code show(const struct diff_options *options, struct operands files,
                           const struct diff *diff)
{
    struct out out;
    if (!out_open(&out, &options->reading.output, files))
        return EXIT_BAD_DATA;
    struct colors colors = terminal_colors(&options->reading.terminal, out.fd);
    if (options->json)
        show_json(&out, diff);
    else
        show_text(&out, diff, options->all, &colors);
    return out_close(&out);
}

static enum exit_code compare(const struct diff_options *options, struct operands files,
                              const struct stats *a, const struct stats *b)
{
    struct diff diff = {.metric = (enum diff_metric)options->metric,
                        .threshold = options->threshold.set ? options->threshold.milli_percent
                                                            : NOISE_MILLI_PERCENT};
    enum exit_code code = EXIT_BAD_DATA;
    if (diff_make(&diff, a, b))
        code = show(options, files, &diff);
    else
        message("out of memory");
    if (code == EXIT_GOOD && options->threshold.set && diff.slower)
        code = EXIT_SLOWER;
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
        "by kind and name. With --threshold it is a gate for regressions.\n"
        "Exit status: 0 good, 1 bad data, 2 usage, 3 partly read, 4 something got slower by\n"
        "more than the threshold.",
    .groups = diff_groups,
    .config_bytes = sizeof(struct diff_options),
    .run = run,
};
