/* SPDX-License-Identifier: Apache-2.0 */
/* rbwp report: one page that opens anywhere. It is made in report/. */
#include "message.h"
#include "report.h"

#include <errno.h>
#include <unistd.h>

static bool store_megabytes(void *value, const char *text, struct option_error *error)
{
    struct report_options *options = value;
    char *end;
    errno = 0;
    unsigned long megabytes = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end || errno || megabytes > REPORT_DETAIL_MB_MAX)
        return option_wrong(error, "is not a number of megabytes up to %u",
                            (unsigned)REPORT_DETAIL_MB_MAX);
    options->detail.set = true;
    options->detail.megabytes = (uint32_t)megabytes;
    return true;
}

static const struct option report_option_table[] = {
    {"source", 0, "PATH", NULL, "the source of kernels: a file, or a folder that has its files",
     offsetof(struct report_options, source), NULL},
    {"cache", 0, "DIR", "beside",
     "keep the sums of each file in DIR, or beside it, for the next time",
     offsetof(struct report_options, cache), option_store_text},
    {"no-source", 0, NULL, NULL, "no source text in the page",
     offsetof(struct report_options, no_source), NULL},
    {"detail", 0, "MB", NULL, "room in the page for single spans (default 32)", 0, store_megabytes},
    {0},
};

static const struct option_group report_groups[] = {
    {"Report", report_option_table, 0},
    READING_GROUPS(struct report_options, filter_option_table, progress_option_table),
    {0},
};

static enum exit_code report_run(void *config, struct operands files)
{
    const struct report_options *options = config;
    const char *path = options->reading.output.path;
    if (!path && isatty(STDOUT_FILENO))
        return message_usage("a page is nothing for a terminal: give -o FILE.html");
    return report_files(options, files);
}

const struct command command_report = {
    .name = "report",
    .summary = "write one HTML page: timeline, tables, histograms",
    .operands = "FILE... -o PAGE.html",
    .description = "Writes a page that shows RBWP files in any browser, with no network; '-' is\n"
                   "standard input. Files of several nodes come out as one. When single spans of\n"
                   "the whole run do not fit into --detail, some parts of it have them all,\n"
                   "the others summaries, and the page says which.\n"
                   "Exit status: 0 good, 1 bad data, 2 usage, 3 partly read.",
    .groups = report_groups,
    .config_bytes = sizeof(struct report_options),
    .needs_file = true,
    .inputs = INPUTS_TOGETHER,
    .inputs_offset = offsetof(struct report_options, reading.inputs),
    .run = report_run,
};
