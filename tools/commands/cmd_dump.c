/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rbwp dump: files as JSON. Opens inputs and output, chooses the shape, and
 * writes what stands around the files; the shapes are in dump_*.c.
 */
#include "dump.h"
#include "message.h"

static bool store_rows(void *value, const char *text, struct option_error *error)
{
    struct dump_rows_bound *bound = value;
    bound->set = true;
    return option_number(text, 0, UINT32_MAX, &bound->rows, error);
}

static const struct option dump_option_table[] = {
    {"ndjson", 0, NULL, NULL, "one JSON object a line for each record, names resolved",
     offsetof(struct dump_options, ndjson), NULL},
    {"spans", 0, NULL, NULL, "begins paired with their ends; with --ndjson one a line",
     offsetof(struct dump_options, spans), NULL},
    {"rows", 0, "N", NULL, "the first N rows of each table; all if not given",
     offsetof(struct dump_options, rows_max), store_rows},
    {"live", 0, NULL, NULL, INPUT_LIVE_HELP, offsetof(struct dump_options, live), NULL},
    {"jobs", 'j', "N", NULL, JOBS_OPTION_HELP, offsetof(struct dump_options, threads),
     jobs_option_store},
    {"gpu-bias", 0, NULL, NULL, "GPU work ends earlier, by what its noticing was measured to add",
     offsetof(struct dump_options, gpu_bias), NULL},
    {0},
};

static const struct option_group dump_groups[] = {
    {"Shape", dump_option_table, 0},
    {"Filters", filter_option_table, offsetof(struct dump_options, filter)},
    {"Inputs", input_option_table, offsetof(struct dump_options, inputs)},
    {"Output", out_option_table, offsetof(struct dump_options, output)},
    {0},
};

typedef enum exit_code dump_fn(struct dump *dump, struct input *input);

static bool needs_names(const struct dump_options *options)
{
    return options->ndjson || options->spans || options->gpu_bias ||
           filter_needs_names(&options->filter);
}

static enum exit_code dump_file(struct dump *dump, dump_fn *write, const char *path)
{
    struct input input;
    bool opened = dump->options->live ? input_open_live(&input, path)
                                      : input_open(&input, path, needs_names(dump->options));
    if (!opened)
        return EXIT_BAD_DATA;
    enum exit_code code = EXIT_GOOD;
    dump->facts = (struct gpu_facts){0};
    dump->bias = (struct gpu_bias){0};
    if ((dump->options->gpu_bias || dump->options->spans) &&
        !gpu_facts_load(&dump->facts, &input, dump->options->spans)) {
        message("out of memory");
        code = EXIT_BAD_DATA;
    }
    input_decode_ahead(&input, dump->threads);
    if (dump->options->gpu_bias)
        gpu_bias_load(&dump->bias, &input, &dump->facts);
    code = exit_worse(code, write(dump, &input));
    gpu_facts_free(&dump->facts);
    return exit_worse(code, input_close(&input));
}

static enum exit_code dump_files(struct dump *dump, struct operands files)
{
    const struct dump_options *options = dump->options;
    dump_fn *write = options->spans ? dump_spans : options->ndjson ? dump_records : dump_blocks;
    bool array = !options->ndjson && (options->spans || files.count > 1);
    enum exit_code code = EXIT_GOOD;
    if (array)
        out_text(&dump->out, "[");
    for (int i = 0; i < files.count && !out_failed(&dump->out); i++)
        code = exit_worse(code, dump_file(dump, write, files.words[i]));
    if (array)
        out_text(&dump->out, "]");
    if (!options->ndjson && (array || dump->written))
        out_text(&dump->out, "\n");
    return code;
}

/* The shapes are written all the same: they say how many there were before the filters. */
static enum exit_code look_for_nothing(const struct dump *dump, struct operands files)
{
    const struct filter_options *filter = &dump->options->filter;
    if (!filter_is_set(filter) || dump->found.taken || out_failed(&dump->out))
        return EXIT_GOOD;
    filter_tell_nothing(filter, files.count == 1 ? files.words[0] : NULL);
    return EXIT_BAD_DATA;
}

static enum exit_code dump_run(void *config, struct operands files)
{
    struct dump_options *options = config;
    if (options->filter.duration.set && !options->spans)
        return message_usage("--min-duration needs --spans: records have no duration");
    if (options->rows_max.set && options->spans)
        return message_usage("--rows does not go with --spans, which shows no tables");
    struct dump dump = {.options = options};
    options->filter.found = &dump.found;
    if (!out_open(&dump.out, &options->output, files))
        return EXIT_BAD_DATA;
    enum exit_code code = EXIT_BAD_DATA;
    dump.threads = job_threads_new(options->threads);
    if (dump.threads)
        code = dump_files(&dump, files);
    else
        message("out of memory");
    job_threads_free(dump.threads);
    if (code != EXIT_BAD_DATA)
        code = exit_worse(code, look_for_nothing(&dump, files));
    return exit_worse(code, out_close(&dump.out));
}

const struct command command_dump = {
    .name = "dump",
    .summary = "print files as JSON",
    .operands = "FILE...",
    .description =
        "Prints RBWP files as JSON, records and tables; '-' is standard input. One file\n"
        "gives an object, several an array. A file that is being written gets its names from\n"
        "FILE.live.\n"
        "Damaged files are read as far as possible; what is wrong is reported on standard error.\n"
        "Exit status: 0 good, 1 bad data, 2 usage, 3 partly read.",
    .groups = dump_groups,
    .config_bytes = sizeof(struct dump_options),
    .needs_file = true,
    .inputs = INPUTS_EACH,
    .inputs_offset = offsetof(struct dump_options, inputs),
    .run = dump_run,
};
