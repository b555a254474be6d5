/* SPDX-License-Identifier: Apache-2.0 */
/* rbwp split: one file into several. The work is in split/. */
#include "documents.h"
#include "quantity.h"
#include "split.h"
#include "text_name.h"
#include "progress.h"

#include <inttypes.h>
#include <string.h>

struct split_command {
    struct split_options split;
    struct terminal_options terminal;
    bool json;
    const char *csv;
};

static bool store_every(void *value, const char *text, struct option_error *error)
{
    struct split_options *options = value;
    if (!filter_parse_duration(text, &options->every_ns, error))
        return false;
    if (options->every_ns > 0)
        return true;
    strcpy(error->text, "is no time above 0");
    return false;
}

static const struct option split_option_table[] = {
    {"every", 0, "TIME", NULL,
     "a part for each window of TIME, counted from --from or the zero time", 0, store_every},
    {"by-thread", 0, NULL, NULL, "a part for each thread",
     offsetof(struct split_options, by_thread), NULL},
    {"live", 0, NULL, NULL, INPUT_LIVE_HELP, offsetof(struct split_options, live), NULL},
    {0},
};

static const struct option split_output_table[] = {
    {"output", 'o', "FILE", NULL, "names of parts are made from FILE instead of the input's name",
     offsetof(struct split_options, output), NULL},
    {"force", 'f', NULL, NULL, "overwrite files that exist", offsetof(struct split_options, force),
     NULL},
    {0},
};

static const struct option split_report_table[] = {
    {"json", 0, NULL, NULL, "which files were written, as JSON",
     offsetof(struct split_command, json), NULL},
    CSV_OPTION(offsetof(struct split_command, csv), "parts"),
    {0},
};

static const struct option_group split_groups[] = {
    {"Parts", split_option_table, offsetof(struct split_command, split)},
    {"Filters", filter_option_table, offsetof(struct split_command, split.filter)},
    {"Output", split_output_table, offsetof(struct split_command, split)},
    {"Report", split_report_table, 0},
    {"Terminal", terminal_option_table, offsetof(struct split_command, terminal)},
    {0},
};

/* ---- the report ------------------------------------------------------------------------ */

RESULT_MAKES(part_time, part_file,
             row->records ? result_i64(what ? row->last_ns : row->first_ns) : result_nothing())
RESULT_MAKES(part_bytes, part_file, result_file_bytes(row->path))
RESULT_MAKES(split_input, split_result, result_word(at->all))

static const struct result_column part_columns[] = {
    RESULT_PLAIN("file", RESULT_STRING, struct part_file, path),
    {"bytes", NULL, 0, RESULT_COUNT, RESULT_MADE(part_bytes, 0), .nullable = true},
    RESULT_PLAIN("records", RESULT_COUNT, struct part_file, records),
    RESULT_PLAIN("rows", RESULT_COUNT, struct part_file, rows),
    {"first", NULL, 0, RESULT_TIME, RESULT_MADE(part_time, 0), .nullable = true},
    {"last", NULL, 0, RESULT_TIME, RESULT_MADE(part_time, 1), .nullable = true},
    RESULT_LAST};
static const struct result_table parts_table = {"parts", NULL, part_columns, "", NULL, 0};

const struct result_column split_columns[] = {
    RESULT_PLAIN_MADE("file", RESULT_TEXT, split_input, 0),
    RESULT_PLAIN("cuts", RESULT_COUNT, struct split_result, cuts),
    RESULT_PLAIN("opaque_blocks", RESULT_COUNT, struct split_result, opaque_blocks),
    RESULT_PLAIN("broken_blocks", RESULT_COUNT, struct split_result, broken_blocks),
    {"parts", NULL, 0, RESULT_LIST, .list = &parts_table,
     RESULT_LIST_OF(struct split_result, parts, count)},
    RESULT_LAST};

static void part_line(struct out *out, const struct part_file *part, int64_t zero_ns)
{
    text_name(out, part->path, strlen(part->path));
    out_format(out, ": %" PRIu64 " records", part->records);
    if (part->rows)
        out_format(out, " and %" PRIu64 " rows of tables", part->rows);
    if (part->records)
        out_format(out, ", %s to %s", SINCE_ZERO(part->first_ns, zero_ns),
                   SINCE_ZERO(part->last_ns, zero_ns));
    out_text(out, "\n");
}

static enum exit_code split_report(const struct split_command *command, const char *file,
                                   const struct split_result *result, int64_t zero_ns)
{
    const bool text = !command->json && !command->csv;
    struct out out;
    if (!out_open(&out, &(struct out_options){0}, (struct operands){0}))
        return EXIT_BAD_DATA;
    if (!text)
        result_document(&out, split_columns, command->csv, file, result);
    for (uint32_t i = 0; text && i < result->count; i++)
        part_line(&out, &result->parts[i], zero_ns);
    if (text)
        out_format(&out, "%" PRIu32 " files; %" PRIu64 " cuts through spans\n", result->count,
                   result->cuts);
    if (result->opaque_blocks)
        message_plain("%" PRIu64 " opaque blocks were dropped: they have no time and no thread",
                      result->opaque_blocks);
    return exit_worse(result->broken_blocks ? EXIT_PARTIAL : EXIT_GOOD, out_close(&out));
}

/* ---- the command ----------------------------------------------------------------------- */

/* What is wrong with the options, NULL if nothing. */
static const char *split_refusal(const struct split_options *options)
{
    unsigned kinds = options->filter.kinds;
    if (options->by_thread && options->every_ns)
        return "--every and --by-thread exclude each other";
    if (options->filter.duration.set)
        return "--min-duration is not for split: it keeps records, which have no duration";
    if (!(kinds & FILTER_COARSE_BEGIN) != !(kinds & FILTER_COARSE_END) ||
        !(kinds & FILTER_FINE_BEGIN) != !(kinds & FILTER_FINE_END))
        return "--kind must take begins with their ends: coarse, fine, gpu";
    if (!options->by_thread && !options->every_ns && !filter_is_set(&options->filter))
        return "give --every, --by-thread or a filter";
    return NULL;
}

static enum exit_code split_run(void *config, struct operands files)
{
    const struct split_command *command = config;
    const char *wrong = split_refusal(&command->split);
    struct split_result result;
    struct input input;
    if (files.count != 1)
        wrong = "give one FILE ('-' is standard input)";
    else if (strcmp(files.words[0], "-") == 0 && !command->split.output)
        wrong = "give -o FILE: standard input has no name to make others of";
    if (wrong)
        return message_usage("%s", wrong);
    if (!csv_is_known(result_has_list(split_columns, command->csv), command->csv, command->json))
        return EXIT_USAGE;
    if (!(command->split.live ? input_open_live(&input, files.words[0])
                              : input_open(&input, files.words[0], true)))
        return EXIT_BAD_DATA;
    progress_allow(&command->terminal);
    enum exit_code code = split_file(&command->split, &input, &result);
    if (code == EXIT_GOOD)
        code = split_report(command, input.name, &result,
                            rbwp_reader_header(input.reader)->zero_time_ns);
    split_free(&result);
    return exit_worse(code, input_close(&input));
}

const struct command command_split = {
    .name = "split",
    .summary = "make several files of one, by time or thread, or a filtered one",
    .operands = "FILE",
    .description =
        "Writes parts of an RBWP file as RBWP files: a.bin becomes a.0000.bin, a.0001.bin ...\n"
        "(a number is missing where nothing was recorded), or a.part.bin with filters alone.\n"
        "Spans across a boundary are cut there. '-' is standard input.\n"
        "Exit status: 0 good, 1 bad data or not written, 2 usage, 3 partly read.",
    .groups = split_groups,
    .config_bytes = sizeof(struct split_command),
    .run = split_run,
};
