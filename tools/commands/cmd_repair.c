/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rbwp repair: a whole file out of FILE and FILE.live, or of a damaged FILE
 * alone. The library does it; here is where the result goes, and the report.
 *
 * The result is written under another name in the same folder and renamed when
 * it is whole and on the disk. The inputs are never opened for writing.
 */
#include "archive.h"
#include "documents.h"
#include "input.h"
#include "rbwp_verify.h"
#include "text_name.h"
#include "whole_file.h"
#include "live_path.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct repair_options {
    const char *output, *live, *csv;
    bool force, json, no_live;
};

static const struct option repair_option_table[] = {
    {"output", 'o', "FILE", NULL, "write to FILE (default: .repaired before the extension)",
     offsetof(struct repair_options, output), NULL},
    {"force", 'f', NULL, NULL, "overwrite FILE if it exists",
     offsetof(struct repair_options, force), NULL},
    {"live", 0, "FILE", NULL, "the live file (default: the input's name with .live)",
     offsetof(struct repair_options, live), NULL},
    {"no-live", 0, NULL, NULL, "use no live file", offsetof(struct repair_options, no_live), NULL},
    {"json", 0, NULL, NULL, "the report as JSON", offsetof(struct repair_options, json), NULL},
    CSV_OPTION(offsetof(struct repair_options, csv), "files"),
    {0},
};

static const struct option_group repair_groups[] = {
    {"Repair", repair_option_table, 0},
    {0},
};

struct repair {
    const struct repair_options *options;
    const char *path;
    char *live; /* NULL: none */
    const char *used_live;
    char *output;
    uint64_t problems;
    struct rbwp_recover_result result;
    uint64_t breaks; /* of rules, in the result: of blocks that are kept as they are stored */
};

/* ---- names ------------------------------------------------------------------------------ */

/* "a.bin" becomes "a.repaired.bin", "a" "a.repaired". */
static char *repair_default_output(const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    const char *dot = strrchr(base, '.');
    size_t stem = dot && dot != base ? (size_t)(dot - path) : strlen(path);
    char *output = malloc(strlen(path) + sizeof ".repaired");
    if (output)
        sprintf(output, "%.*s.repaired%s", (int)stem, path, path + stem);
    return output;
}

static bool same_file(const char *a, const char *b)
{
    struct stat one, other;
    return a && stat(a, &one) == 0 && stat(b, &other) == 0 && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino;
}

/* Finds all names. False with the message given. */
static bool find_names(struct repair *repair)
{
    const struct repair_options *options = repair->options;
    repair->output =
        options->output ? strdup(options->output) : repair_default_output(repair->path);
    if (!options->no_live)
        repair->live = options->live ? strdup(options->live) : live_path(repair->path);
    if (!repair->output || (!repair->live && !options->no_live))
        return message_fail("out of memory");
    if (!options->live && repair->live && access(repair->live, F_OK) != 0) {
        free(repair->live); /* there is none beside the file */
        repair->live = NULL;
    }
    if (same_file(repair->path, repair->output) || same_file(repair->live, repair->output))
        return message_fail("%s: is an input too; write to another file", repair->output);
    if (!options->force && access(repair->output, F_OK) == 0)
        return message_fail("%s: exists; give -f to overwrite it", repair->output);
    return true;
}

/* ---- the work --------------------------------------------------------------------------- */

static void show_problem(void *context, const struct rbwp_problem *problem)
{
    struct repair *repair = context;
    const struct rbwp_error *error = &problem->error;
    if (repair->problems++ < INPUT_PROBLEM_LINES)
        message_plain("%s: %s%s%s", repair->path, error->section, error->section[0] ? ": " : "",
                      error->text);
}

/* False with the message given. */
static bool repair_fill(struct repair *repair, int *fd)
{
    struct rbwp_sink sink = rbwp_sink_fd(fd);
    struct rbwp_error error;
    enum rbwp_status status = rbwp_recover(repair->path, repair->live, &sink, show_problem, repair,
                                           &repair->result, &error);
    if (repair->problems > INPUT_PROBLEM_LINES)
        message_plain("%s: ... and %" PRIu64 " more problems", repair->path,
                      repair->problems - INPUT_PROBLEM_LINES);
    if (status == RBWP_OK)
        return true;
    bool live = strcmp(error.section, "live file") == 0;
    return message_fail("%s: %s%s", live ? repair->live : repair->path, error.text,
                        live ? "; --no-live repairs without it" : "");
}

static bool repair_show_break(void *context, const struct rbwp_problem *problem)
{
    const struct repair *repair = context;
    message_plain("%s: kept as it is stored: %s", repair->output, problem->error.text);
    return true;
}

/* Good blocks are kept as they are, also where two of them do not go together (R20, R21): then the
 * result is not whole. False with the message given. */
static bool look_at_result(struct repair *repair, int fd)
{
    struct rbwp_verify_result verified = {0};
    struct rbwp_error error;
    if (repair->result.unchanged)
        return true;
    if (rbwp_verify_fd(fd, repair_show_break, repair, &verified, &error) < 0)
        return message_fail("%s: cannot be read again: %s", repair->output, error.text);
    repair->breaks = verified.breaks;
    return true;
}

static bool make_file(struct repair *repair)
{
    struct whole_file file;
    if (!whole_file_begin(&file, repair->output, repair->options->force))
        return false;
    if (repair_fill(repair, &file.fd) && look_at_result(repair, file.fd))
        return whole_file_publish(&file, repair->path, repair->live);
    whole_file_drop(&file);
    return false;
}

/* ---- the report ------------------------------------------------------------------------- */

static void kept_lines(struct out *out, const struct rbwp_recover_result *result)
{
    out_format(out,
               "  kept       %" PRIu64 " blocks, %" PRIu64 " records, %" PRIu64
               " bytes as they are stored\n",
               result->kept_blocks, result->kept_records, result->kept_bytes);
    if (result->has_live)
        out_format(out,
                   "  recovered  %" PRIu64 " records that had not reached the file, in %" PRIu64
                   " blocks\n",
                   result->live_records, result->live_blocks);
    if (result->live_rows)
        out_format(out, "             %" PRIu64 " rows of tables as well\n", result->live_rows);
    if (result->unchanged)
        return;
    out_format(out,
               "  named      %" PRIu32 " work items, %" PRIu32 " sub-items, %" PRIu32 " threads\n",
               result->work_items, result->sub_items, result->threads);
}

static void lost_line(struct out *out, uint64_t count, const char *what)
{
    if (count)
        out_format(out, "  LOST       %" PRIu64 " %s\n", count, what);
}

/* What the program itself knew to be missing. */
static void missing_lines(struct out *out, const struct rbwp_live_missing *missing)
{
    lost_line(out, missing->lost_records,
              "records had no memory when they were made (rbwp info tells why)");
    lost_line(out, missing->unwritten_records, "records could not be written to the file");
    lost_line(out, missing->unwritten_blocks, "blocks of extensions could not be written");
    if (missing->unprotected_bytes)
        out_format(out,
                   "  LOST       up to %" PRIu64 " records: the live file had no room for %" PRIu64
                   " bytes of memory\n",
                   missing->unprotected_records_most, missing->unprotected_bytes);
    lost_line(out, missing->unlogged_names,
              "starts and ends of names had no room in the live file");
    lost_line(out, missing->unlogged_threads,
              "starts and ends of threads had no room in the live file");
}

static void lost_lines(struct out *out, const struct rbwp_recover_result *result)
{
    missing_lines(out, &result->missing);
    if (result->damaged_places)
        out_format(out,
                   "  LOST       %" PRIu64 " damaged places, %" PRIu64 " bytes; %" PRIu64
                   " records in them by their headers\n",
                   result->damaged_places, result->damaged_bytes, result->damaged_records);
    lost_line(out, result->missing_bytes, "bytes that had been written: the file is shorter");
    lost_line(out, result->damaged_chunks, "chunks of the live file are damaged behind some event");
    lost_line(out, result->moved_chunks,
              "chunks were written while this was running: run it again");
    lost_line(out, result->damaged_entries, "entries of the live file's log are damaged");
    lost_line(out, result->dropped_names, "table entries were double or out of range");
    if (result->tail_damaged)
        out_text(out, "  LOST       names or trailer of the file, or parts of them\n");
    if (!result->unchanged && !result->finalised && !result->has_live && !result->live_empty)
        out_text(out, "  LOST       what had not reached the file: there is no live file\n");
    if (result->names_unknown)
        out_text(out, "  LOST       all names\n");
    if (result->no_clock_sample)
        out_text(out, "  NOTE       no clock sample: times of recovered records are guessed\n");
    if (result->is_written)
        out_text(out, "  NOTE       the program still runs: this is what there was just now\n");
}

static void report_text(struct out *out, const struct repair *repair)
{
    const struct rbwp_recover_result *result = &repair->result;
    text_name(out, repair->output, strlen(repair->output));
    out_text(out, result->unchanged           ? ": the same bytes: the file was whole\n"
                  : rbwp_recover_lost(result) ? ": repaired, with losses\n"
                  : repair->breaks            ? ": repaired, but not whole\n"
                                              : ": whole, nothing lost\n");
    kept_lines(out, result);
    lost_lines(out, result);
    if (repair->breaks)
        out_format(out,
                   "  NOTE       %" PRIu64 " breaks of rules in blocks that were kept as they are "
                   "stored; rbwp check shows them\n",
                   repair->breaks);
}

#define REPAIR(key, unit, field) RESULT_PLAIN(key, unit, struct repair, field)
#define NUMBER(field) REPAIR(#field, RESULT_COUNT, result.field)
#define MISSING(field) REPAIR(#field, RESULT_COUNT, result.missing.field)
#define FLAG(field) REPAIR(#field, RESULT_BOOL, result.field)
const struct result_column repair_columns[] = {
    REPAIR("file", RESULT_STRING, path),
    {"live", NULL, 0, RESULT_STRING, RESULT_FIELD(struct repair, used_live), .nullable = true},
    REPAIR("output", RESULT_STRING, output),
    FLAG(lost),
    FLAG(unchanged),
    REPAIR("break_count", RESULT_COUNT, breaks),
    REPAIR("finalized", RESULT_BOOL, result.finalised),
    FLAG(live_empty),
    REPAIR("running", RESULT_BOOL, result.is_written),
    REPAIR("file_size", RESULT_COUNT, result.file_bytes),
    NUMBER(committed_bytes),
    NUMBER(kept_blocks),
    NUMBER(kept_records),
    NUMBER(kept_bytes),
    NUMBER(damaged_places),
    NUMBER(damaged_bytes),
    NUMBER(damaged_records),
    FLAG(tail_damaged),
    NUMBER(missing_bytes),
    NUMBER(uncommitted_bytes),
    NUMBER(chunks),
    NUMBER(live_blocks),
    NUMBER(live_records),
    NUMBER(live_rows),
    NUMBER(damaged_chunks),
    NUMBER(moved_chunks),
    NUMBER(damaged_entries),
    MISSING(lost_records),
    MISSING(unwritten_records),
    MISSING(unwritten_blocks),
    MISSING(unprotected_bytes),
    MISSING(unprotected_records_most),
    MISSING(unlogged_names),
    MISSING(unlogged_threads),
    FLAG(no_clock_sample),
    NUMBER(threads),
    NUMBER(work_items),
    NUMBER(sub_items),
    FLAG(names_unknown),
    NUMBER(dropped_names),
    REPAIR("result_bytes", RESULT_COUNT, result.bytes),
    REPAIR("result_blocks", RESULT_COUNT, result.blocks),
    REPAIR("result_records", RESULT_COUNT, result.records),
    RESULT_LAST};

static const struct result_table repairs_table = {"files", NULL, repair_columns, "", NULL, 0};
static const struct result_column repair_documents[] = {
    {"files", NULL, 0, RESULT_LIST, .list = &repairs_table, .rows = result_itself}, RESULT_LAST};

static enum exit_code repair_report(struct repair *repair)
{
    struct out out;
    repair->used_live = repair->result.has_live ? repair->live : NULL;
    if (!out_open(&out, &(struct out_options){0}, (struct operands){0}))
        return EXIT_BAD_DATA;
    if (repair->options->csv)
        result_lines(&out, repair_documents, repair->options->csv, true, repair);
    else if (repair->options->json)
        result_json_lines(&out, repair_columns, &(struct result_at){.row = repair});
    else
        report_text(&out, repair);
    return out_close(&out);
}

/* Blocks are kept as they are stored, and the live file has offsets of the file itself. */
static bool is_packed(const struct repair *repair)
{
    int fd = open(repair->path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    bool gzip = gzip_is(fd), archive = archive_is(fd);
    if (fd >= 0)
        close(fd);
    if (gzip)
        message("%s: is gzip; unpack it first: gunzip", repair->path);
    if (archive)
        message("%s: is an archive; unpack it first: rbwp archive -d", repair->path);
    return gzip || archive;
}

static enum exit_code repair_run(void *config, struct operands files)
{
    struct repair repair = {.options = config};
    if (files.count != 1 || strcmp(files.words[0], "-") == 0)
        return message_usage("give one FILE (not standard input)");
    if (repair.options->live && repair.options->no_live)
        return message_usage("--live and --no-live exclude each other");
    const char *csv = repair.options->csv;
    if (!csv_is_known(result_has_list(repair_documents, csv), csv, repair.options->json))
        return EXIT_USAGE;
    repair.path = files.words[0];
    enum exit_code code = EXIT_BAD_DATA;
    if (is_packed(&repair))
        return code;
    if (find_names(&repair) && make_file(&repair))
        code = exit_worse(rbwp_recover_lost(&repair.result) || repair.breaks ? EXIT_PARTIAL
                                                                             : EXIT_GOOD,
                          repair_report(&repair));
    free(repair.live);
    free(repair.output);
    return code;
}

const struct command command_repair = {
    .name = "repair",
    .summary = "make a whole file of what a crash left",
    .operands = "FILE",
    .description =
        "Makes a whole RBWP file of FILE and FILE.live, which a program that died leaves,\n"
        "or of a cut or damaged FILE alone: the good blocks as they are stored, the records\n"
        "that had not reached the file, names, and a new trailer. FILE is never changed.\n"
        "A file that is whole already is copied byte for byte.\n"
        "Exit status: 0 nothing lost, 1 unusable or not written, 2 usage, 3 something was\n"
        "lost, or blocks that were kept break a rule; the report says what.",
    .groups = repair_groups,
    .config_bytes = sizeof(struct repair_options),
    .run = repair_run,
};
