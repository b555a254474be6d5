/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rbwp check: does a file keep the rules of SPEC.md? The rules are checked by
 * the library; here each break becomes a line or a JSON object.
 */
#include "documents.h"
#include "input.h"
#include "json_text.h"
#include "live_path.h"
#include "losses.h"
#include "rbwp_verify.h"
#include "tar_input.h"
#include "text_name.h"
#include "trace_pass.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- do the files of a job contradict each other? -------------------------------------------- */
/*
 * By a pass over the files that is for nothing else: what is wrong is reported by whoever finds it.
 */

static bool check_begin(struct trace_pass *pass)
{
    pass->sink = (struct trace_sink){0};
    return true;
}

static enum exit_code cmd_check_end(struct trace_pass *pass)
{
    (void)pass;
    return EXIT_GOOD;
}

static const struct trace_maker nothing_maker = {
    .own_output = true, .begin = check_begin, .end = cmd_check_end};

/* Puts files with messages on one axis, and reports if a message was handled before it was sent by
 * more than the clocks' bounds, which nodes have no file, and which files are not of one job:
 * EXIT_PARTIAL then. */
static enum exit_code check_messages(const struct input_options *inputs, struct operands files)
{
    const struct reading_options options = {
        .inputs = *inputs,
        .align = {.whole_job = inputs->shard.of == 0, .quiet = true},
    };
    enum exit_code code = trace_pass(&nothing_maker, NULL, &options, files);
    return code == EXIT_GOOD ? EXIT_GOOD : EXIT_PARTIAL; /* each file was read before */
}

/* ---- cmd check ------------------------------------------------------------------------------- */

struct check_options {
    struct input_options inputs;
    bool json, quiet;
    const char *csv;
    struct out_options output;
};

static const struct option check_option_table[] = {
    {"json", 0, NULL, NULL, "as JSON; several files give an array",
     offsetof(struct check_options, json), NULL},
    CSV_OPTION(offsetof(struct check_options, csv), "files breaks tables"),
    {"quiet", 'q', NULL, NULL, "no report, only the exit status",
     offsetof(struct check_options, quiet), NULL},
    {0},
};

static const struct option_group check_groups[] = {
    {"Report", check_option_table, 0},
    {"Inputs", input_option_table, offsetof(struct check_options, inputs)},
    {"Output", out_option_table, offsetof(struct check_options, output)},
    {0},
};

struct check {
    const struct check_options *options;
    struct out *out;
    const char *path, *name;
    uint64_t shown; /* breaks, and the cut */
    uint64_t files;
    uint64_t with_messages; /* of them */
    bool unread;            /* one could not be read at all, or cannot be read again */
    struct rbwp_verify_result result;
    struct losses losses;
    bool good, live;           /* there is a live file */
    struct result_rows breaks; /* the present one, as they are found */
    char rule[16];             /* of it */
    bool keyed;                /* the keys of CSV are written */
};

/* ---- one break -------------------------------------------------------------------------- */

/* "FILE: " */
static void line_head(struct check *check)
{
    text_name(check->out, check->name, strlen(check->name));
    out_text(check->out, ": ");
}

static void break_text(struct check *check, const struct rbwp_problem *problem)
{
    const struct rbwp_error *error = &problem->error;
    line_head(check);
    out_format(check->out, "%s%s%s%s\n", problem->cut_tail ? "cut: " : "", error->section,
               error->section[0] ? ": " : "", error->text);
}

RESULT_MAKES(break_rule, rbwp_problem,
             row->error.rule ? result_word(((const struct check *)at->all)->rule)
                             : result_nothing())
RESULT_MAKES(break_offset, rbwp_problem,
             row->error.offset != UINT64_MAX ? result_u64(row->error.offset) : result_nothing())
RESULT_MAKES(break_message, rbwp_problem, result_word(row->error.text))

static const struct result_column break_columns[] = {
    {"rule", NULL, 0, RESULT_WORD, RESULT_MADE(break_rule, 0), .nullable = true},
    {"offset", NULL, 0, RESULT_COUNT, RESULT_MADE(break_offset, 0), .nullable = true},
    RESULT_PLAIN("section", RESULT_STRING, struct rbwp_problem, error.section),
    RESULT_PLAIN_MADE("message", RESULT_TEXT, break_message, 0),
    RESULT_PLAIN("skipped_bytes", RESULT_COUNT, struct rbwp_problem, skipped_bytes),
    RESULT_PLAIN("cut", RESULT_BOOL, struct rbwp_problem, cut_tail),
    RESULT_LAST};
static const struct result_table breaks_table = {"breaks", NULL, break_columns, "", NULL, 0};

/* ---- one file --------------------------------------------------------------------------- */

static enum exit_code check_judge(const struct rbwp_verify_result *result, enum rbwp_status status)
{
    if (status < 0)
        return result->blocks + result->opaque_blocks ? EXIT_PARTIAL : EXIT_BAD_DATA;
    return result->breaks || result->cut ? EXIT_PARTIAL : EXIT_GOOD;
}

/* "1 break; ", "2 breaks; ". */
static void counted(struct out *out, uint64_t count, const char *what, const char *behind)
{
    out_format(out, "%" PRIu64 " %s%s%s", count, what, count == 1 ? "" : "s", behind);
}

/* What the writer itself says is missing: a file may keep all rules and lack most of what was
 * recorded. By its trailer, or by the live file of one that has none. Nothing of standard input. */
static struct losses find_losses(const struct check *check)
{
    struct losses losses = {0};
    struct rbwp_reader *reader = NULL;
    struct rbwp_live *live = NULL;
    if (strcmp(check->path, "-") == 0)
        return losses;
    char *live_name = check->result.has_trailer ? NULL : live_path(check->path);
    if (live_name && rbwp_live_open(live_name, &live, NULL) == RBWP_OK)
        losses = losses_total(rbwp_live_trailer(live));
    else if (rbwp_reader_open(check->path, NULL, &reader, NULL) == RBWP_OK)
        losses = losses_total(rbwp_reader_trailer(reader));
    rbwp_live_close(live);
    rbwp_reader_close(reader);
    free(live_name);
    return losses;
}

static void refused_text(void *context, const char *sentence)
{
    struct check *check = context;
    line_head(check);
    out_format(check->out, "%s\n", sentence);
}

static void losses_text(struct check *check, const struct losses *losses)
{
    losses_each_refused(losses->refused, refused_text, check);
    if (losses->records == 0 && losses->records_most == 0 && losses->dropped == 0)
        return;
    line_head(check);
    out_format(check->out, "its writer counts %" PRIu64 " records as missing", losses->records);
    if (losses->records_most)
        out_format(check->out, " and up to %" PRIu64 " lost with the program's memory",
                   losses->records_most);
    if (losses->dropped)
        out_format(check->out, ", %" PRIu64 " entries had no room in its tables", losses->dropped);
    out_text(check->out, "\n");
}

static void tables_text(struct check *check)
{
    const struct rbwp_verify_result *result = &check->result;
    if (result->table_count == 0)
        return;
    counted(check->out, result->table_rows, "row", " in ");
    counted(check->out, result->table_count, "table", " (");
    for (uint32_t i = 0; i < result->table_count && i < RBWP_VERIFY_TABLES; i++) {
        const struct rbwp_verify_table *table = &result->tables[i];
        out_text(check->out, i ? ", " : "");
        text_name(check->out, table->name, table->name_bytes);
        out_format(check->out, " %" PRIu64, table->rows);
    }
    out_text(check->out, result->table_count > RBWP_VERIFY_TABLES ? " ...), " : "), ");
}

static struct result_rows table_rows(const struct result_at *at)
{
    const struct rbwp_verify_result *result = &((const struct check *)at->row)->result;
    uint32_t count = result->table_count < RBWP_VERIFY_TABLES ? (uint32_t)result->table_count
                                                              : RBWP_VERIFY_TABLES;
    return result_array(result->tables, sizeof *result->tables, count);
}

RESULT_MAKES(table_name, rbwp_verify_table,
             result_bytes((struct trace_text){row->name, row->name_bytes}))

static const struct result_column table_columns[] = {
    RESULT_PLAIN("table", RESULT_ID, struct rbwp_verify_table, table),
    RESULT_PLAIN_MADE("name", RESULT_TEXT, table_name, 0),
    RESULT_PLAIN("row_count", RESULT_COUNT, struct rbwp_verify_table, rows), RESULT_LAST};
static const struct result_table tables_table = {"tables", NULL, table_columns, "", NULL, 0};

enum { END_COLUMNS = 2 };
#define CHECK(key, unit, field) RESULT_PLAIN(key, unit, struct check, field)
const struct result_column check_columns[] = {
    CHECK("file", RESULT_STRING, path),
    {"breaks", NULL, 0, RESULT_LIST, .list = &breaks_table, RESULT_ROWS(struct check, breaks)},
    CHECK("good", RESULT_BOOL, good),
    CHECK("break_count", RESULT_COUNT, result.breaks),
    CHECK("cut", RESULT_BOOL, result.cut),
    CHECK("finalized", RESULT_BOOL, result.finalised),
    CHECK("has_trailer", RESULT_BOOL, result.has_trailer),
    CHECK("blocks_checked", RESULT_BOOL, result.blocks_checked),
    CHECK("has_live", RESULT_BOOL, live),
    CHECK("file_size", RESULT_COUNT, result.bytes),
    CHECK("block_count", RESULT_COUNT, result.blocks),
    CHECK("opaque_block_count", RESULT_COUNT, result.opaque_blocks),
    CHECK("record_count", RESULT_COUNT, result.records),
    CHECK("table_count", RESULT_COUNT, result.table_count),
    CHECK("table_row_count", RESULT_COUNT, result.table_rows),
    {"tables", NULL, 0, RESULT_LIST, .list = &tables_table, .rows = table_rows, .one_line = true},
    CHECK("lost_records", RESULT_COUNT, losses.records),
    CHECK("lost_records_most", RESULT_COUNT, losses.records_most),
    CHECK("refused_calls", RESULT_COUNT, losses.refused_calls),
    CHECK("left_out", RESULT_COUNT, losses.dropped),
    CHECK("unknown_losses", RESULT_COUNT, losses.unknown),
    RESULT_LAST};
static const struct result_table checks_table = {"files", NULL, check_columns, "", NULL, 0};
static const struct result_column check_documents[] = {
    {"files", NULL, 0, RESULT_LIST, .list = &checks_table, .only = "file", .rows = result_itself},
    RESULT_LAST};

/* What is asked for of the present file. */
static void check_csv(struct check *check)
{
    result_lines(check->out, check_documents, check->options->csv, !check->keyed, check);
    check->keyed = true;
}

static bool check_show_break(void *context, const struct rbwp_problem *problem)
{
    struct check *check = context;
    snprintf(check->rule, sizeof check->rule, "R%u", problem->error.rule);
    check->breaks = result_array(problem, sizeof *problem, 1);
    if (check->options->json) {
        json_open_line(check->out);
        result_json_members(check->out, break_columns,
                            &(struct result_at){.all = check, .row = problem});
        out_text(check->out, "}");
    } else if (check->options->csv) {
        if (strcmp(check->options->csv, breaks_table.key) == 0)
            check_csv(check);
    } else if (!check->options->quiet)
        break_text(check, problem);
    check->shown++;
    return !out_failed(check->out);
}

static void end_text(struct check *check)
{
    const struct rbwp_verify_result *result = &check->result;
    line_head(check);
    out_format(check->out, "%s: ", result->breaks ? "BAD" : result->cut ? "cut" : "good");
    counted(check->out, result->breaks, "break", "; ");
    counted(check->out, result->blocks, "block", ", ");
    counted(check->out, result->records, "record", ", ");
    tables_text(check);
    out_format(check->out, "%s%s\n", result->finalised ? "finalised" : "never finalised (no names)",
               result->has_trailer ? ", with trailer" : "");
    losses_text(check, &check->losses);
    if (result->breaks > check->shown) {
        line_head(check);
        out_format(check->out, "only the first %" PRIu64 " are shown\n", check->shown);
    }
    if (!result->blocks_checked) {
        line_head(check);
        out_text(check->out, "too many blocks to check R20 and R60 to R66\n");
    }
    if (check->live) {
        line_head(check);
        out_text(check->out, "a live file is beside it; see rbwp repair\n");
    }
}

static bool has_live(const struct check *check)
{
    char *path = strcmp(check->path, "-") == 0 ? NULL : live_path(check->path);
    bool has = path && access(path, F_OK) == 0;
    free(path);
    return has;
}

static bool has_messages(const struct rbwp_verify_result *result)
{
    static const char begin[] = "message_"; /* _sent, _handled */
    for (uint32_t i = 0; i < result->table_count && i < RBWP_VERIFY_TABLES; i++)
        if (result->tables[i].rows && strncmp(result->tables[i].name, begin, strlen(begin)) == 0)
            return true;
    return false;
}

/* What is gzip is unpacked first. */
static enum rbwp_status verify(struct check *check, bool standard, struct rbwp_error *error)
{
    const char *problem = NULL;
    int fd = STDIN_FILENO;
    bool has_path = !standard && !tar_input_file(check->path, &fd);
    if (has_path)
        fd = open(check->path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    int unpacked = gzip_is(fd) ? gzip_unpack(fd, check->name, &problem) : -1;
    enum rbwp_status status =
        has_path && unpacked < 0
            ? rbwp_verify(check->path, check_show_break, check, &check->result, error)
            : rbwp_verify_fd(unpacked < 0 ? fd : unpacked, check_show_break, check, &check->result,
                             error);
    if (!standard && fd >= 0)
        close(fd);
    if (unpacked >= 0)
        close(unpacked);
    if (problem)
        message_plain("%s: %s", check->name, problem);
    return status;
}

static enum exit_code check_file(struct check *check, const char *path)
{
    struct rbwp_error error;
    bool standard = strcmp(path, "-") == 0, json = check->options->json;
    check->path = path;
    check->name = standard ? "standard input" : path;
    check->shown = 0;
    check->result = (struct rbwp_verify_result){0};
    if (json) {
        out_text(check->out, check->files++ ? ",\n{" : "{");
        json_name(check->out, "file", path, strlen(path));
        out_text(check->out, ",\n\"breaks\":[");
    }
    enum rbwp_status status = verify(check, standard, &error);
    check->breaks = (struct result_rows){0};
    enum exit_code code = check_judge(&check->result, status);
    check->with_messages += has_messages(&check->result);
    check->unread |= status < 0 || standard;
    check->losses = find_losses(check);
    check->live = has_live(check);
    check->good = code == EXIT_GOOD;
    if (status < 0 && check->shown == 0)
        message("%s: %s", check->name, error.text);
    if (json) {
        out_text(check->out, "],\n");
        result_json_members(check->out, check_columns + END_COLUMNS,
                            &(struct result_at){.row = check});
        out_text(check->out, "}");
    } else if (check->options->csv) {
        check_csv(check);
    } else if (!check->options->quiet && (status >= 0 || check->shown)) {
        end_text(check);
    }
    return code;
}

static enum exit_code check_run(void *config, struct operands files)
{
    const struct check_options *options = config;
    struct out out;
    if ((options->json || options->csv) && options->quiet)
        return message_usage("--%s and --quiet exclude each other", options->json ? "json" : "csv");
    if (!csv_is_known(result_has_list(check_documents, options->csv), options->csv, options->json))
        return EXIT_USAGE;
    if (!out_open(&out, &options->output, files))
        return EXIT_BAD_DATA;
    struct check check = {.options = options, .out = &out};
    enum exit_code code = EXIT_GOOD;
    bool array = options->json && files.count > 1;
    out_text(&out, array ? "[" : "");
    for (int i = 0; i < files.count && !out_failed(&out); i++)
        code = exit_worse(code, check_file(&check, files.words[i]));
    out_text(&out, array ? "]\n" : options->json ? "\n" : "");
    if (check.with_messages > 1 && !check.unread)
        code = exit_worse(code, check_messages(&options->inputs, files));
    return exit_worse(code, out_close(&out));
}

const struct command command_check = {
    .name = "check",
    .summary = "check files against every rule of the format",
    .operands = "FILE...",
    .description =
        "Checks RBWP files against every rule of SPEC.md and reports all breaks by number;\n"
        "'-' is standard input.\n"
        "Files with messages between nodes are also held against each other.\n"
        "Exit status: 0 all rules hold, 1 not readable at all, 2 usage, 3 rules are broken,\n"
        "the file is cut, or files contradict each other.",
    .groups = check_groups,
    .config_bytes = sizeof(struct check_options),
    .needs_file = true,
    .inputs = INPUTS_EACH,
    .inputs_offset = offsetof(struct check_options, inputs),
    .run = check_run,
};
