/* SPDX-License-Identifier: Apache-2.0 */
/* rbwp lanes: lane records out of copies of a kernel's buffer. The work is in lanes/. */
#include "documents.h"
#include "kernel_option.h"
#include "message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool store_dialect(void *value, const char *text, struct option_error *error)
{
    for (uint32_t dialect = RBWP_LANES_AUTO; dialect <= RBWP_LANES_V2; dialect++)
        if (strcmp(text, rbwp_lanes_dialect_name(dialect)) == 0) {
            *(uint32_t *)value = dialect;
            return true;
        }
    snprintf(error->text, sizeof error->text, "is none of auto, v1, flashinfer, mirage, v2");
    return false;
}

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
    snprintf(error->text, sizeof error->text, "is no number of ticks, nor TICKS=NS");
    return false;
}

#define LANES_KERNEL(member) offsetof(struct lanes_options, kernel.member)
#define LAYOUT_AT(member) offsetof(struct lanes_options, layout.member)

static const struct option lanes_content_options[] = {
    {"json", 0, NULL, NULL, "the durations as JSON, with what was found in each file",
     LANES_KERNEL(json), option_store_true},
    {"csv", 0, "TABLE", "durations files", "one table of --json as CSV", LANES_KERNEL(csv),
     option_store_text},
    {"to", 't', "FORMAT", KERNEL_FORMATS " rbwp warpscope",
     "write the spans instead; by the suffix of the output if not given", LANES_KERNEL(export.to),
     option_store_text},
    {"events", 0, "NAMES", NULL, "of events, from 0 on: wait,load,7=store", LANES_KERNEL(events),
     option_store_text},
    {"groups", 0, "NAMES", NULL, "of groups: producer,consumer", LANES_KERNEL(groups),
     option_store_text},
    {"by-block", 0, NULL, NULL, "each block by itself, also where the SM is known",
     offsetof(struct lanes_options, by_block), option_store_true},
    {0},
};
static const struct option layout_options[] = {
    {"dialect", 0, "NAME", "auto v1 flashinfer mirage v2",
     "whose records they are (auto: as their tags look)", LAYOUT_AT(dialect), store_dialect},
    {"stride", 0, "N", NULL, "slots from a lane's record to its next (blocks * groups)",
     LAYOUT_AT(stride), kernel_store_number},
    {"blocks", 0, "N", NULL, "in the grid, where the header was not written", LAYOUT_AT(num_blocks),
     kernel_store_number},
    {"num-groups", 0, "N", NULL, "in a block, likewise", LAYOUT_AT(num_groups),
     kernel_store_number},
    {"max-records", 0, "N", NULL, "of a lane (as many as there is room for)",
     LAYOUT_AT(max_records), kernel_store_number},
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
    if (files.count == 0) {
        message_usage("no FILE given ('-' is standard input)");
        return EXIT_USAGE;
    }
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
    .run = cmd_lanes_run,
};
