/* SPDX-License-Identifier: Apache-2.0 */
/* rbwp record: an unmodified program, and what it did. It is run in record/. */
#include "filter.h"
#include "message.h"
#include "record.h"
#include "record_words.h"

#include <signal.h>
#include <string.h>

#define DEFAULT_OUTPUT "rbwp.bin"

static bool store_time(void *value, const char *text, struct option_error *error)
{
    int64_t *time_ns = value;
    if (!filter_parse_duration(text, time_ns, error))
        return false;
    if (*time_ns >= 1000000 && *time_ns <= INT64_C(4000000) * 1000000000)
        return true;
    return option_wrong(error, "is not a time from 1ms to 4000000s");
}

bool record_store_sources(void *value, const char *text, struct option_error *error)
{
    static const struct {
        const char *name;
        unsigned source;
    } names[] = {{"gpu", RECORD_GPU},
                 {"ranges", RECORD_RANGES},
                 {"threads", RECORD_THREADS},
                 {"work", RECORD_WORK}};
    unsigned *sources = value;
    for (*sources = 0;; text++) {
        size_t bytes = strcspn(text, ","), i = 0;
        while (i < 4 && (strlen(names[i].name) != bytes || memcmp(names[i].name, text, bytes) != 0))
            i++;
        if (i == 4)
            return option_wrong(error, "not of: gpu, ranges, threads, work (with commas between)");
        *sources |= names[i].source;
        text += bytes;
        if (!*text)
            return true;
    }
}

static bool store_signal(void *value, const char *text, struct option_error *error)
{
    static const struct {
        const char *name;
        int number;
    } names[] = {{"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"WINCH", SIGWINCH}, {"URG", SIGURG}};
    const char *name = strncmp(text, "SIG", 3) == 0 ? text + 3 : text;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i].name) == 0) {
            *(int *)value = names[i].number;
            return true;
        }
    return option_wrong(error, "not one of: USR1, USR2, WINCH, URG");
}

static const struct option record_option_table[] = {
    RECORD_WHAT_OPTION(offsetof(struct record_options, sources)),
    {"after", 0, "TIME", NULL, "begin so long after the start: 5s, 200ms",
     offsetof(struct record_options, after_ns), store_time},
    {"for", 0, "TIME", NULL, "record for so long; the program runs on",
     offsetof(struct record_options, for_ns), store_time},
    {"stacks", 0, "LIMIT", NULL, "threads, work: stacks of calls and waits longer than this: 10ms",
     offsetof(struct record_options, stacks_ns), store_time},
    {"capture-range", 0, "NAME", NULL, "GPUs and ranges: only while this range (NVTX) is open",
     offsetof(struct record_options, capture_range), NULL},
    {"capture-signal", 0, "SIGNAL", "USR1 USR2 WINCH URG",
     "GPUs and ranges: from one of these signals to the next",
     offsetof(struct record_options, capture_signal), store_signal},
    {"pid", 0, "PID", "1..2147483647", "what this program records of itself, from now on",
     offsetof(struct record_options, pid), NULL},
    {"ptx", 0, NULL, NULL, "times of a kernel's source lines, by probes in its PTX",
     offsetof(struct record_options, ptx), NULL},
    {"mode", 0, "MODE", "block single entire config cfg mma warp", "where probes go (default warp)",
     offsetof(struct record_options, mode), option_store_text},
    {"ptx-file", 0, "FILE", NULL, "only lines of this source file, or of this number",
     offsetof(struct record_options, file), NULL},
    {"kernel", 0, "NAME", NULL, "only this kernel (default all)",
     offsetof(struct record_options, kernel), NULL},
    {"threads", 't', "SET", NULL, "threads or warps of the launch that record (default 0-127)",
     offsetof(struct record_options, threads), NULL},
    {"capacity", 0, "N", NULL, "records that each has room for (default 256)",
     offsetof(struct record_options, capacity), NULL},
    {"ptx-launches", 0, "N", "1..1000000", "launches of each kernel that are recorded (default 8)",
     offsetof(struct record_options, launches), NULL},
    {"passes", 0, "N", "1..2", "2: run it again with the probes that the first run needed",
     offsetof(struct record_options, passes), NULL},
    {"folder", 0, "DIR", NULL, "keep what was collected there",
     offsetof(struct record_options, folder), NULL},
    {"report", 0, "PAGE", NULL, "write the page of rbwp report too",
     offsetof(struct record_options, report), NULL},
    {0},
};

static const struct option_group record_groups[] = {
    {"Record", record_option_table, 0},
    {"Output", out_option_table, offsetof(struct record_options, output)},
    {0},
};

/* What is wrong with the options, NULL if nothing. */
static const char *record_refusal(const struct record_options *options, struct operands program)
{
    const bool window = options->after_ns || options->for_ns;
    const bool capture = options->capture_range || options->capture_signal;
    if (options->output.path && out_is_standard(&options->output))
        return "standard output is the program's: give -o FILE";
    if (options->pid && program.count)
        return "--pid is of a program that runs: give no COMMAND";
    if (options->pid && (options->ptx || capture || (options->sources & ~(unsigned)RECORD_WORK)))
        return "--pid takes what the program records of itself (work) alone";
    if (!options->pid && program.count == 0)
        return "no command given: rbwp record -- COMMAND...";
    if (options->ptx && (options->sources || window || capture))
        return "--ptx goes with none of --what, --after, --for and --capture-";
    if (options->stacks_ns &&
        (options->ptx || options->pid ||
         (options->sources && !(options->sources & (RECORD_THREADS | RECORD_WORK)))))
        return "--stacks is for --what threads,work";
    if (capture && options->sources && !(options->sources & (RECORD_GPU | RECORD_RANGES)))
        return "--capture-range and --capture-signal are for --what gpu,ranges";
    return NULL;
}

static enum exit_code cmd_record_run(void *config, struct operands program)
{
    struct record_options *options = config;
    const char *wrong = record_refusal(options, program);
    if (wrong)
        return message_usage("%s", wrong);
    if (!options->output.path)
        options->output.path = DEFAULT_OUTPUT;
    if (options->pid)
        return record_process(options);
    return (enum exit_code)record_program(options, program);
}

const struct command command_record = {
    .name = "record",
    .summary = "run a program that nobody changed, and record what it does",
    .operands = "-- COMMAND...",
    .description =
        "Runs COMMAND and writes what it did as a profile, rbwp.bin by default: what its GPUs did\n"
        "(CUDA), the ranges that it marks with NVTX, what each thread does between two waits and\n"
        "who wakes it, and what it records of itself by librbwp. Processes that it starts have\n"
        "files of their own. With --ptx kernels that Triton compiles get clock probes instead.\n"
        "With --pid a program that runs and records itself is asked. Options of COMMAND's own\n"
        "come behind --. What cannot be recorded (a static program, no GPU, no CUPTI) is reported\n"
        "in one line, and COMMAND runs.\n"
        "Exit status: COMMAND's; 127 not found, 126 not to be run, 2 usage. A signal that\n"
        "ends COMMAND ends rbwp too.",
    .groups = record_groups,
    .config_bytes = sizeof(struct record_options),
    .run = cmd_record_run,
};
