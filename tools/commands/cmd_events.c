/* SPDX-License-Identifier: Apache-2.0 */
/* rbwp events: device events out of copies of their buffers. The work is in lanes/. */
#include "documents.h"
#include "kernel_option.h"
#include "message.h"

#include <stdio.h>
#include <string.h>

/* "RANK=NS", "RANK=NS:BOUND" */
static bool is_offset(const char *text)
{
    static const char digits[] = "0123456789";
    const char *ns = text + strspn(text, digits);
    if (ns == text || *ns++ != '=')
        return false;
    ns += *ns == '-' || *ns == '+';
    const char *end = ns + strspn(ns, digits), *bound = *end == ':' ? end + 1 : ns;
    size_t bound_digits = strspn(bound, digits);
    return end > ns && bound_digits && !bound[bound_digits];
}

static bool store_offset(void *value, const char *text, struct option_error *error)
{
    struct events_options *options = value;
    if (options->offset_count == EVENTS_OFFSETS_MAX || !is_offset(text)) {
        snprintf(error->text, sizeof error->text,
                 is_offset(text) ? "is one too many" : "is no RANK=NS or RANK=NS:BOUND");
        return false;
    }
    options->offsets[options->offset_count++] = text;
    return true;
}

static bool events_store_count(void *value, const char *text, struct option_error *error)
{
    struct events_options *options = value;
    options->has_count = true;
    return option_number(text, 0, UINT32_MAX, &options->count, error);
}

static bool store_rank(void *value, const char *text, struct option_error *error)
{
    struct events_options *options = value;
    options->has_rank = true;
    return option_number(text, 0, INT32_MAX / 2, &options->rank, error);
}

#define EVENTS_KERNEL(member) offsetof(struct events_options, kernel.member)

static const struct option events_content_options[] = {
    {"json", 0, NULL, NULL, "the durations as JSON, with what was found in each file",
     EVENTS_KERNEL(json), option_store_true},
    {"csv", 0, "TABLE", "durations files", "one table of --json as CSV", EVENTS_KERNEL(csv),
     option_store_text},
    {"to", 't', "FORMAT", KERNEL_FORMATS " iris rbwp",
     "write the events instead; by the suffix of the output if not given", EVENTS_KERNEL(export.to),
     option_store_text},
    {"events", 0, "NAMES", NULL, "of ids that have none, or another: 1024=fetch,1025=scatter",
     EVENTS_KERNEL(events), option_store_text},
    {"merge", 0, NULL, NULL, "iris: also one file of all ranks, from time 0 on",
     offsetof(struct events_options, merge), option_store_true},
    {"raw-cycles", 0, NULL, NULL,
     "iris: ticks instead of microseconds, and all else as iris has it",
     offsetof(struct events_options, raw_cycles), option_store_true},
    {0},
};
static const struct option buffer_options[] = {
    {"clock", 0, "RATE", NULL, "of the timer: 100MHz; 1GHz if the file does not say it",
     EVENTS_KERNEL(clock_hz), kernel_store_hz},
    {"offset", 0, "RANK=NS", NULL,
     "by how much the rank's clock is ahead, RANK=NS:BOUND with its bound; repeatable", 0,
     store_offset},
    {"max-events", 0, "N", NULL, "slots of arrays without a header",
     offsetof(struct events_options, max_events), kernel_store_number},
    {"count", 0, "N", NULL, "the counter's value, likewise (up to the last one with a time)", 0,
     events_store_count},
    {"rank", 0, "N", NULL, "of the first of such files, the others follow (0)", 0, store_rank},
    {"ranks", 0, "N", NULL, "in the job", offsetof(struct events_options, ranks),
     kernel_store_number},
    {0},
};

static const struct option_group events_groups[] = {
    {"Content", events_content_options, 0},
    {"Buffers", buffer_options, 0},
    {"Format", export_option_table + 1, EVENTS_KERNEL(export)}, /* --to is above */
    {"Output", out_option_table, offsetof(struct events_options, kernel.export.reading.output)},
    {0},
};

static enum exit_code cmd_events_run(void *config, struct operands files)
{
    if (files.count == 0) {
        message_usage("no FILE given ('-' is standard input)");
        return EXIT_USAGE;
    }
    const struct events_options *options = config;
    return csv_is_known(result_has_list(events_columns, options->kernel.csv), options->kernel.csv,
                        options->kernel.json)
               ? events_run(options, files)
               : EXIT_USAGE;
}

const struct command command_events = {
    .name = "events",
    .summary = "loads, stores and puts that kernels noted: durations, exports",
    .operands = "FILE...",
    .description =
        "Reads copies of the buffers of device events (rbwp_device.h, iris), a file for each "
        "rank:\n"
        "our dumps, NumPy's arrays of records (.npy), or the 13 arrays one after another; shows "
        "how\n"
        "long each operation took on each rank, or writes the events in another form.\n"
        "Exit status: 0 good, 1 bad data, 2 usage, 3 damaged: what is wrong is counted by kind.",
    .groups = events_groups,
    .config_bytes = sizeof(struct events_options),
    .run = cmd_events_run,
};
