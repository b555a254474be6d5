/* SPDX-License-Identifier: Apache-2.0 */
/* rbwp record: a program that nobody changed, and what it did. It is run in record/. */
#include "message.h"
#include "record.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define DEFAULT_OUTPUT "rbwp.bin"

static bool store_launches(void *value, const char *text, struct option_error *error)
{
    return option_number(text, 1, 1000000, value, error);
}

static bool store_passes(void *value, const char *text, struct option_error *error)
{
    return option_number(text, 1, 2, value, error);
}

static bool store_sources(void *value, const char *text, struct option_error *error)
{
    bool *background = value;
    *background = strcmp(text, "threads") == 0;
    if (!*background)
        snprintf(error->text, sizeof error->text, "not one of: threads");
    return *background;
}

static const struct option record_option_table[] = {
    {"what", 0, "SOURCE", "threads", "threads: what threads do between waits, and who wakes them",
     offsetof(struct record_options, background), store_sources},
    {"ptx", 0, NULL, NULL, "times of a kernel's source lines, by probes in its PTX",
     offsetof(struct record_options, ptx), option_store_true},
    {"mode", 0, "MODE", "block single entire config cfg mma warp", "where probes go (default warp)",
     offsetof(struct record_options, mode), option_store_text},
    {"ptx-file", 0, "FILE", NULL, "only lines of this source file, or of this number",
     offsetof(struct record_options, file), option_store_text},
    {"kernel", 0, "NAME", NULL, "only this kernel (default all)",
     offsetof(struct record_options, kernel), option_store_text},
    {"threads", 't', "SET", NULL, "threads or warps of the launch that record (default 0-127)",
     offsetof(struct record_options, threads), option_store_text},
    {"capacity", 0, "N", NULL, "records that each has room for (default 256)",
     offsetof(struct record_options, capacity), option_store_text},
    {"ptx-launches", 0, "N", NULL, "launches of each kernel that are recorded (default 8)",
     offsetof(struct record_options, launches), store_launches},
    {"passes", 0, "N", "1 2", "2: run it again with the probes that the first run needed",
     offsetof(struct record_options, passes), store_passes},
    {"folder", 0, "DIR", NULL, "keep what was collected there",
     offsetof(struct record_options, folder), option_store_text},
    {"report", 0, "PAGE", NULL, "write the page of rbwp report too",
     offsetof(struct record_options, report), option_store_text},
    {0},
};

static const struct option_group record_groups[] = {
    {"Record", record_option_table, 0},
    {"Output", out_option_table, offsetof(struct record_options, output)},
    {0},
};

static enum exit_code run(void *config, struct operands program)
{
    struct record_options *options = config;
    if (program.count == 0) {
        message_usage("no command given: rbwp record --what threads -- COMMAND...");
        return EXIT_USAGE;
    }
    if (options->ptx == options->background) {
        message_usage("say what to record: --what threads, or --ptx");
        return EXIT_USAGE;
    }
    if (options->output.path && out_is_standard(&options->output)) {
        message_usage("standard output is the program's: give -o FILE");
        return EXIT_USAGE;
    }
    if (!options->output.path)
        options->output.path = DEFAULT_OUTPUT;
    return (enum exit_code)record_program(options, program);
}

const struct command command_record = {
    .name = "record",
    .summary = "run a program that nobody changed, and record what it does",
    .operands = "-- COMMAND...",
    .description =
        "Runs COMMAND and writes what it did as a profile, rbwp.bin by default. With --what\n"
        "threads a library is preloaded that records what each thread does between two\n"
        "waits, what it waits for and who wakes it. With --ptx kernels that Triton compiles\n"
        "get clock probes; results stay the same; recorded launches are waited for. Options\n"
        "of COMMAND's own come behind --. What cannot be recorded (a static program, no\n"
        "GPU, no CUPTI) is told in one line, and COMMAND runs.\n"
        "Exit status: COMMAND's; 127 not found, 126 not to be run, 2 usage. A signal that\n"
        "ends COMMAND ends rbwp too.",
    .groups = record_groups,
    .config_bytes = sizeof(struct record_options),
    .run = run,
};
