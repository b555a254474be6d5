/* SPDX-License-Identifier: Apache-2.0 */
/* Matching and judging are in stats_diff.c; which files are of one run in recordings.c. */
#include "judge_runs.h"

#include "report.h"
#include "documents.h"
#include "progress.h"
#include "repeats.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Without a threshold: runs of the same program differ by so much. */
#define NOISE_MILLI_PERCENT 5000

/* ---- options --------------------------------------------------------------------------------- */

/* "10%", "2.5": a percentage with at most three digits behind the point. */
static bool store_threshold(void *value, const char *text, struct option_error *error)
{
    struct judge_options *options = value;
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

const struct option judge_option_table[] = {
    {"threshold", 0, "PERCENT", NULL,
     "what differs by more is not the same (5); exit 4 if it got slower", 0, store_threshold},
    {"by", 0, "WHAT", "net mean p50 p99 total running runnable waiting",
     "what is compared: net, the mean without the time runnable, and where that is not known the "
     "mean (default); mean, p50, p99, total; what calls did: running, runnable, waiting",
     offsetof(struct judge_options, metric), NULL},
    {"min-count", 0, "N", "0..1000000000",
     "rows with fewer spans in before or after are not judged (0)",
     offsetof(struct judge_options, min_count), NULL},
    {"one-run", 0, NULL, NULL, "a folder is one run, whatever its files are",
     offsetof(struct judge_options, one_run), NULL},
    {"report", 0, "PAGE.html", NULL, "a page with both sides beside each other, too",
     offsetof(struct judge_options, page), NULL},
    {"junit", 0, "FILE.xml", NULL, "a test case a row, too: JUnit's XML, as CI systems read it",
     offsetof(struct judge_options, junit), NULL},
    {"all", 0, NULL, NULL, "rows that are the same, too", offsetof(struct judge_options, all),
     NULL},
    {"json", 0, NULL, NULL, "as JSON", offsetof(struct judge_options, json), NULL},
    CSV_OPTION(offsetof(struct judge_options, csv), "rows launches counters"),
    {0},
};

bool judge_options_good(const struct judge_options *options)
{
    return csv_is_known(result_has_list(diff_columns, options->csv), options->csv, options->json);
}

/* ---- what was found -------------------------------------------------------------------------- */

/* What is compared: runs of before, then of after. */
struct runs {
    struct repeats words[2 * DIFF_RUNS_MAX]; /* as they were given */
    uint32_t word_count;
    struct operands files[2 * DIFF_RUNS_MAX]; /* of each run */
    char *names[2 * DIFF_RUNS_MAX];           /* a file or folder of it */
    uint32_t before, count;
    struct stats_load *loads;
};

static enum exit_code judge_show(const struct judge_options *options, struct operands files,
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

/* Of the page or the test cases; true: there is such a file. */
static bool judge_open(struct out *out, const struct judge_options *options, const char *path,
                       struct operands files, enum exit_code *code)
{
    const struct out_options output = {path, options->reading.output.force};
    if (!path || *code != EXIT_GOOD)
        return false;
    if (!out_open(out, &output, files))
        *code = EXIT_BAD_DATA;
    return *code == EXIT_GOOD;
}

static enum exit_code judge_files(const struct judge_options *options, struct operands files,
                                  const struct diff *diff, const struct stats *const *stats)
{
    enum exit_code code = EXIT_GOOD;
    struct out out;
    if (judge_open(&out, options, options->page, files, &code)) {
        bool whole = diff_page_write(&out, &(struct diff_page){diff, stats, files.words});
        code = exit_worse(out_close(&out), whole ? EXIT_GOOD : EXIT_PARTIAL);
    }
    if (judge_open(&out, options, options->junit, files, &code)) {
        diff_junit(&out, diff);
        code = out_close(&out);
    }
    return code;
}

/* Of the gate. */
static enum exit_code judge_gate(const struct diff *diff)
{
    if (diff->judged)
        return diff->slower ? EXIT_SLOWER : EXIT_GOOD;
    message("no verdict: %" PRIu32 " and %" PRIu32
            " runs cannot tell a change from chance in %" PRIu32 " comparisons; %" PRIu32
            " a side can (--before, --after)",
            diff->a_runs, diff->b_runs, diff->comparisons, diff->runs_needed);
    return EXIT_GOOD;
}

static enum exit_code judge_loaded(const struct judge_options *options, const struct runs *runs)
{
    struct diff diff = {.metric = (enum diff_metric)options->metric,
                        .threshold = options->threshold.set ? options->threshold.milli_percent
                                                            : NOISE_MILLI_PERCENT,
                        .min_count = options->min_count,
                        .a_runs = runs->before,
                        .b_runs = runs->count - runs->before};
    const struct stats *stats[2 * DIFF_RUNS_MAX];
    enum exit_code code = EXIT_BAD_DATA;
    for (uint32_t i = 0; i < runs->count; i++)
        stats[i] = &runs->loads[i].stats;
    struct operands files = {(char **)(uintptr_t)runs->names, (int)runs->count};
    if (diff_make(&diff, stats))
        code = exit_worse(judge_files(options, files, &diff, stats),
                          judge_show(options, files, &diff));
    else
        message("out of memory");
    if (code == EXIT_GOOD && options->threshold.set)
        code = judge_gate(&diff);
    diff_free(&diff);
    return code;
}

/* ---- which runs there are -------------------------------------------------------------------- */

/* What a folder was taken as. */
static void say_folder(const char *side, const char *word, const struct repeats *repeats)
{
    char what[80];
    if (repeats->folders)
        snprintf(what, sizeof what, "%" PRIu32 " folder%s of one run each, %" PRIu32 " files",
                 repeats->folders, repeats->folders == 1 ? "" : "s", repeats->files);
    else if (repeats->count == repeats->files)
        snprintf(what, sizeof what, "%" PRIu32 " file%s of one process each", repeats->files,
                 repeats->files == 1 ? "" : "s");
    else
        snprintf(what, sizeof what, "%" PRIu32 " files, of one job or at the same time",
                 repeats->files);
    message_plain("%s: %" PRIu32 " run%s in %s (%s)", side, repeats->count,
                  repeats->count == 1 ? "" : "s", word, what);
}

/* False with the message given. */
static bool add_word(const struct judge_options *options, struct runs *runs, const char *side,
                     uint32_t first, const char *word)
{
    struct repeats *repeats = &runs->words[runs->word_count++];
    if (!repeats_find(repeats, word, options->one_run))
        return false;
    if (repeats->files > 1 && !options->reading.align.quiet)
        say_folder(side, word, repeats);
    if (runs->count - first + repeats->count > DIFF_RUNS_MAX)
        return message_fail("%s: more than %d runs", side, DIFF_RUNS_MAX);
    for (uint32_t i = 0; i < repeats->count; i++) {
        runs->names[runs->count] = repeats->runs[i].words[0];
        runs->files[runs->count++] = repeats->runs[i];
    }
    return true;
}

static bool find_runs(const struct judge_options *options, const struct run_list sides[2],
                      struct runs *runs)
{
    static const char *const names[] = {"before", "after"};
    for (int side = 0; side < 2; side++) {
        const uint32_t first = runs->before = runs->count;
        for (uint32_t i = 0; i < sides[side].count; i++)
            if (!add_word(options, runs, names[side], first, sides[side].list[i]))
                return false;
    }
    return true;
}

static enum exit_code load_and_judge(const struct judge_options *options, struct runs *runs)
{
    enum exit_code code = EXIT_GOOD, compared = EXIT_GOOD;
    uint32_t loaded = 0;
    for (uint32_t i = 0; i < runs->count; i++) {
        struct stats_load *load = &runs->loads[i];
        load->options.no_concurrency = true;
        load->options.cells = options->page != NULL;
        load->reading = options->reading;
        code = exit_worse(code, stats_load(load, runs->files[i]));
        loaded += load->loaded;
    }
    if (loaded == runs->count)
        compared = judge_loaded(options, runs);
    for (uint32_t i = 0; i < runs->count; i++)
        if (runs->loads[i].loaded)
            stats_free(&runs->loads[i].stats);
    /* Files that could not be read whole give no verdict. */
    return code == EXIT_GOOD ? compared
                             : exit_worse(code, compared == EXIT_SLOWER ? code : compared);
}

enum exit_code judge_runs(const struct judge_options *options, const struct run_list sides[2])
{
    struct runs *runs = calloc(1, sizeof *runs);
    enum exit_code code = EXIT_BAD_DATA;
    if (!runs)
        return message_bad_data("out of memory");
    progress_allow(&options->reading.terminal);
    if (find_runs(options, sides, runs)) {
        runs->loads = calloc(runs->count + (size_t)1, sizeof *runs->loads);
        code = runs->loads ? load_and_judge(options, runs) : message_bad_data("out of memory");
    }
    free(runs->loads);
    for (uint32_t i = 0; i < runs->word_count; i++)
        repeats_free(&runs->words[i]);
    free(runs);
    return code;
}
