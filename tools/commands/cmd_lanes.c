/* SPDX-License-Identifier: Apache-2.0 */
/* rbwp lanes: lane records out of copies of a kernel's buffer; rbwp events: device events out of
 * copies of theirs. The work is in lanes/. */
#include "documents.h"
#include "formats.h"
#include "kernel_dumps.h"

#include <stdlib.h>
#include <string.h>

/* Options that rbwp lanes and rbwp events share. */

/* --to but for what each command adds, and what belongs to it. */
#define KERNEL_FORMATS EXPORT_KERNEL_WORDS

/* "100000000", "100MHz", "1.5GHz" */
static bool kernel_store_hz(void *value, const char *text, struct option_error *error)
{
    static const struct {
        const char *unit;
        uint64_t hz;
    } units[] = {{"", 1}, {"Hz", 1}, {"kHz", 1000}, {"MHz", 1000000}, {"GHz", 1000000000}};
    uint64_t number = 0, *hz = value;
    size_t digits = strspn(text, "0123456789");
    for (size_t i = 0; i < digits && digits < 12; i++)
        number = number * 10 + (uint64_t)(text[i] - '0');
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (digits > 0 && digits < 12 && strcmp(text + digits, units[i].unit) == 0 && number &&
            number <= 10000000000 / units[i].hz) {
            *hz = number * units[i].hz;
            return true;
        }
    return option_wrong(error, "is no rate from 1 Hz to 10 GHz, as in 100000000 or 100MHz");
}

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
    if (options->offset_count == EVENTS_OFFSETS_MAX || !is_offset(text))
        return option_wrong(error,
                            is_offset(text) ? "is one too many" : "is no RANK=NS or RANK=NS:BOUND");
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
     EVENTS_KERNEL(json), NULL},
    CSV_OPTION(EVENTS_KERNEL(csv), "durations files"),
    {"to", 't', "FORMAT", KERNEL_FORMATS " iris rbwp",
     "write the events instead; by the suffix of the output if not given", EVENTS_KERNEL(export.to),
     option_store_text},
    {"events", 0, "NAMES", NULL, "of ids that have none, or another: 1024=fetch,1025=scatter",
     EVENTS_KERNEL(events), NULL},
    {"merge", 0, NULL, NULL, "iris: also one file of all ranks, from time 0 on",
     offsetof(struct events_options, merge), NULL},
    {"raw-cycles", 0, NULL, NULL,
     "iris: ticks instead of microseconds, and all else as iris has it",
     offsetof(struct events_options, raw_cycles), NULL},
    {0},
};
static const struct option buffer_options[] = {
    {"clock", 0, "RATE", NULL, "of the timer: 100MHz; 1GHz if the file does not say it",
     EVENTS_KERNEL(clock_hz), kernel_store_hz},
    {"offset", 0, "RANK=NS", NULL,
     "by how much the rank's clock is ahead, RANK=NS:BOUND with its bound; repeatable", 0,
     store_offset},
    {"max-events", 0, "N", "1..4294967295", "slots of arrays without a header",
     offsetof(struct events_options, max_events), NULL},
    {"count", 0, "N", NULL, "the counter's value, likewise (up to the last one with a time)", 0,
     events_store_count},
    {"rank", 0, "N", NULL, "of the first of such files, the others follow (0)", 0, store_rank},
    {"ranks", 0, "N", "1..4294967295", "in the job", offsetof(struct events_options, ranks), NULL},
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
    .needs_file = true,
    .run = cmd_events_run,
};

static bool is_time(const char *text, const char *end, unsigned long long time)
{
    return *text >= '0' && *text <= '9' && end != text && time && time <= INT64_MAX;
}

/* "TICKS", "TICKS=NS" */
static bool store_anchor(void *value, const char *text, struct option_error *error)
{
    struct rbwp_lanes_layout *layout = value;
    char *end, *host_end;
    unsigned long long ticks = strtoull(text, &end, 0), host_ns;
    layout->anchor_device = ticks;
    if (is_time(text, end, ticks) && !*end)
        return true;
    if (is_time(text, end, ticks) && *end == '=') {
        host_ns = strtoull(end + 1, &host_end, 0);
        layout->anchor_host_ns = host_ns;
        if (is_time(end + 1, host_end, host_ns) && !*host_end)
            return true;
    }
    return option_wrong(error, "is no number of ticks, nor TICKS=NS");
}

#define LANES_KERNEL(member) offsetof(struct lanes_options, kernel.member)
#define LAYOUT_AT(member) offsetof(struct lanes_options, layout.member)

static const struct option lanes_content_options[] = {
    {"json", 0, NULL, NULL, "the durations as JSON, with what was found in each file",
     LANES_KERNEL(json), NULL},
    CSV_OPTION(LANES_KERNEL(csv), "durations files"),
    {"to", 't', "FORMAT", KERNEL_FORMATS " rbwp warpscope",
     "write the spans instead; by the suffix of the output if not given", LANES_KERNEL(export.to),
     option_store_text},
    {"events", 0, "NAMES", NULL, "of events, from 0 on: wait,load,7=store", LANES_KERNEL(events),
     NULL},
    {"groups", 0, "NAMES", NULL, "of groups: producer,consumer", LANES_KERNEL(groups), NULL},
    {"by-block", 0, NULL, NULL, "each block by itself, also where the SM is known",
     offsetof(struct lanes_options, by_block), NULL},
    {0},
};
static const struct option layout_options[] = {
    {"dialect", 0, "NAME", "auto v1 flashinfer mirage v2",
     "whose records they are (auto: as their tags look)", LAYOUT_AT(dialect), NULL},
    {"stride", 0, "N", "1..4294967295", "slots from a lane's record to its next (blocks * groups)",
     LAYOUT_AT(stride), NULL},
    {"blocks", 0, "N", "1..4294967295", "in the grid, where the header was not written",
     LAYOUT_AT(num_blocks), NULL},
    {"num-groups", 0, "N", "1..4294967295", "in a block, likewise", LAYOUT_AT(num_groups), NULL},
    {"max-records", 0, "N", "1..4294967295", "of a lane (as many as there is room for)",
     LAYOUT_AT(max_records), NULL},
    {"clock", 0, "RATE", NULL, "of the timer: 100MHz; 1GHz if the file does not say it",
     LANES_KERNEL(clock_hz), kernel_store_hz},
    {"anchor", 0, "TICKS", NULL,
     "the timer's 64 bits within 2 s of the first records; TICKS=NS with CLOCK_MONOTONIC then",
     offsetof(struct lanes_options, layout), store_anchor},
    {0},
};

static const struct option_group lanes_groups[] = {
    {"Content", lanes_content_options, 0},
    {"Buffer", layout_options, 0},
    {"Format", export_option_table + 1, LANES_KERNEL(export)}, /* --to is above */
    {"Output", out_option_table, offsetof(struct lanes_options, kernel.export.reading.output)},
    {0},
};

static enum exit_code cmd_lanes_run(void *config, struct operands files)
{
    struct lanes_options *options = config;
    if (!csv_is_known(result_has_list(lanes_columns, options->kernel.csv), options->kernel.csv,
                      options->kernel.json))
        return EXIT_USAGE;
    options->kernel.export.block_processes = true; /* there is nothing but blocks */
    return lanes_run(options, files);
}

const struct command command_lanes = {
    .name = "lanes",
    .summary = "what warps noted in a kernel's buffer of lanes: durations, exports",
    .operands = "FILE...",
    .description =
        "Reads copies of the buffers that kernels write lane records into (rbwp_device.h,\n"
        "warpscope, TIRx, flashinfer, Mirage), plain (.bin) or saved by NumPy (.npy), and shows "
        "how\n"
        "long each event took in each group, or writes the spans in another form.\n"
        "Exit status: 0 good, 1 bad data, 2 usage, 3 damaged: what is wrong is counted by kind.",
    .groups = lanes_groups,
    .config_bytes = sizeof(struct lanes_options),
    .needs_file = true,
    .run = cmd_lanes_run,
};
