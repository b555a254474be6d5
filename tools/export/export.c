/* SPDX-License-Identifier: Apache-2.0 */
/* Which exporter is meant. */
#include "export.h"
#include "formats.h"
#include "message.h"
#include "span_columns.h"
#include "progress.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- a folder of files, one for each that is read, in place of one file of all --------------- */
/*
 * FOLDER/node=17/part.SUFFIX is of node 17; what reads data sets (DuckDB, Spark, pyarrow,
 * ClickHouse) makes a column of it, which the files themselves do not have. Of a node with several
 * files the further ones are part-1.SUFFIX and so on. All are on one axis, and ids are those of
 * each file alone.
 *
 * The pass over all files opens and aligns them; each is then read by a pass of its own.
 */

struct parts {
    struct export_options options;
    const struct exporter *exporter;
};

/* Whether the output is a folder: it is one, or its name ends in a slash. */
static bool export_parts_wanted(const struct out_options *output)
{
    struct stat status;
    size_t bytes = output->path ? strlen(output->path) : 0;
    return bytes > 0 && (output->path[bytes - 1] == '/' ||
                         (stat(output->path, &status) == 0 && S_ISDIR(status.st_mode)));
}

static bool export_begin(struct trace_pass *pass)
{
    (void)pass;
    return true;
}

static enum exit_code export_end(struct trace_pass *pass)
{
    (void)pass;
    return EXIT_GOOD;
}

static bool make_folder(const char *path)
{
    if (mkdir(path, 0777) == 0 || errno == EEXIST)
        return true;
    return message_fail("%s: cannot be made: %s", path, strerror(errno));
}

/* In memory that the caller frees; NULL with the message given. number: of the file among those of
 * its node. */
static char *path_of(const struct parts *parts, uint32_t node, uint32_t number)
{
    const char *folder = parts->options.reading.output.path;
    int bytes = (int)strlen(folder);
    char which[16] = "", *path, *below;
    while (bytes > 1 && folder[bytes - 1] == '/')
        bytes--;
    if (number)
        snprintf(which, sizeof which, "-%" PRIu32, number);
    if (asprintf(&below, "%.*s/node=%" PRIu32, bytes, folder, node) < 0) {
        message("out of memory");
        return NULL;
    }
    bool made = make_folder(below);
    if (made &&
        asprintf(&path, "%s/part%s%.*s", below, which, (int)strcspn(parts->exporter->suffixes, " "),
                 parts->exporter->suffixes) < 0) {
        message("out of memory");
        made = false;
    }
    free(below);
    return made ? path : NULL;
}

static enum exit_code write_part(const struct trace_pass *pass, struct trace_source *source,
                                 struct alignment *alignment, const char *path)
{
    const struct parts *parts = pass->asked;
    struct export_options options = parts->options;
    struct trace_maker maker = parts->exporter->maker;
    struct trace_pass part = *pass;
    options.reading.output.path = path;
    /* Not the node's: readers make one of the path, and do not take it twice. */
    options.columns = (options.columns ? options.columns : span_columns_of(pass)) &
                      ~(UINT64_C(1) << span_column_named("node", 4));
    maker.empty_is_good = true;
    part.maker = &maker;
    part.asked = &options;
    part.options = &options.reading;
    part.is_part = true;
    return trace_pass_write(&part, &(struct trace_sources){source, alignment, 1});
}

static enum exit_code read_parts(struct trace_pass *pass, const struct trace_sources *sources)
{
    const struct parts *parts = pass->asked;
    uint32_t *nodes = calloc((size_t)sources->count, sizeof *nodes);
    enum exit_code code = EXIT_GOOD;
    if (!nodes || !make_folder(parts->options.reading.output.path)) {
        if (!nodes)
            message("out of memory");
        free(nodes);
        return EXIT_BAD_DATA;
    }
    for (int i = 0; i < sources->count; i++)
        nodes[i] = sources->list[i].facts.node; /* which goes when it was read */
    for (int i = 0; i < sources->count; i++) {
        uint32_t number = 0;
        if (!shard_has(pass->options->inputs.shard, sources->list[i].number))
            continue;
        for (int before = 0; before < i; before++)
            number += nodes[before] == nodes[i];
        char *path = path_of(parts, nodes[i], number);
        code = exit_worse(code,
                          path ? write_part(pass, &sources->list[i], &sources->alignments[i], path)
                               : EXIT_BAD_DATA);
        free(path);
    }
    free(nodes);
    return code;
}

static enum exit_code export_parts(const struct exporter *exporter,
                                   const struct export_options *options, struct operands files)
{
    static const struct trace_maker maker = {
        .own_output = true, .begin = export_begin, .read = read_parts, .end = export_end};
    const struct parts parts = {*options, exporter};
    return trace_pass(&maker, &parts, &options->reading, files);
}

/* ---- export ---------------------------------------------------------------------------------- */

static const struct exporter *const exporters[] = {EXPORT_ELEMENTS};
enum { EXPORTERS = sizeof exporters / sizeof exporters[0] };

#define LEGION_VERSIONS "1006 1007 1008 1011"

static bool store_legion_version(void *value, const char *text, struct option_error *error)
{
    if (!option_choice(text, LEGION_VERSIONS, value, error))
        return false;
    *(uint32_t *)value = (uint32_t)strtoul(text, NULL, 10);
    return true;
}

/* Names with commas between. */
static bool store_columns(void *value, const char *text, struct option_error *error)
{
    uint64_t chosen = 0;
    for (const char *at = text;; at++) {
        size_t bytes = strcspn(at, ",");
        int column = span_column_named(at, bytes);
        if (column < 0)
            return option_wrong(error, "has '%.*s', which is no column",
                                (int)(bytes < 40 ? bytes : 40), at);
        chosen |= UINT64_C(1) << column;
        at += bytes;
        if (!*at)
            break;
    }
    *(uint64_t *)value = chosen;
    return true;
}

const struct option export_option_table[] = {
    {"to", 't', "FORMAT", EXPORT_WORDS, "what to write; by the suffix of the output if not given",
     offsetof(struct export_options, to), option_store_text},
    {"no-deflate", 0, NULL, NULL, "perfetto: packets as they are, larger and a little faster",
     offsetof(struct export_options, no_deflate), NULL},
    {"raw-text", 0, NULL, NULL, "csv, tsv: names as they are, not made safe for spreadsheets",
     offsetof(struct export_options, raw_text), NULL},
    {"block-processes", 0, NULL, NULL,
     "chrome: blocks (SMs) of lanes are processes, their groups threads",
     offsetof(struct export_options, block_processes), NULL},
    {"stacks", 0, NULL, NULL, "folded, speedscope: the stacks of slow calls, in place of spans",
     offsetof(struct export_options, stacks), NULL},
    {"outer-ranges", 0, NULL, NULL, "kineto: GPU work counts for the ranges around its range, too",
     offsetof(struct export_options, outer_ranges), NULL},
    {"annotate", 0, NULL, NULL, "Chrome JSON read: GPU work of its ranges, where it has none",
     offsetof(struct export_options, reading.annotate), NULL},
    {"legion-version", 0, "NUMBER", LEGION_VERSIONS, "of Legion Prof logs that are written (1008)",
     offsetof(struct export_options, legion_version), store_legion_version},
    {"columns", 0, "NAME,...", NULL, "npz, parquet: these columns only",
     offsetof(struct export_options, columns), store_columns},
    {0},
};

const struct option export_report_table[] = {
    {"json", 0, NULL, NULL, "say what was written, and what was dropped, as JSON",
     offsetof(struct export_options, json), NULL},
    CSV_OPTION(offsetof(struct export_options, csv), "files"),
    {0},
};

/* ---- what was written --------------------------------------------------------------- */

RESULT_MAKES(export_bytes, export_file, result_file_bytes(row->path))
RESULT_MAKES(export_time, export_file,
             row->totals.spans ? result_i64(what ? row->totals.last_ns : row->totals.first_ns)
                               : result_nothing())

#define TOTAL(key, unit, field) RESULT_PLAIN(key, unit, struct export_file, totals.field)
static const struct result_column export_file_columns[] = {
    RESULT_PLAIN("file", RESULT_STRING, struct export_file, path),
    {"bytes", NULL, 0, RESULT_COUNT, RESULT_MADE(export_bytes, 0), .nullable = true},
    TOTAL("spans", RESULT_COUNT, spans),
    TOTAL("links", RESULT_COUNT, links),
    TOTAL("counter_values", RESULT_COUNT, samples),
    TOTAL("table_rows", RESULT_COUNT, rows),
    TOTAL("lost_records", RESULT_COUNT, lost_records),
    TOTAL("refused_calls", RESULT_COUNT, refused_calls),
    {"first", NULL, 0, RESULT_TIME, RESULT_MADE(export_time, 0), .nullable = true},
    {"last", NULL, 0, RESULT_TIME, RESULT_MADE(export_time, 1), .nullable = true},
    {"dropped", NULL, 0, RESULT_PART, .part = dropped_columns},
    RESULT_LAST};
static const struct result_table export_files_table = {"files", NULL, export_file_columns,
                                                       "",      NULL, 0};
const struct result_column export_columns[] = {
    RESULT_PLAIN("format", RESULT_STRING, struct export_summary, format),
    {"files", NULL, 0, RESULT_LIST, .list = &export_files_table,
     RESULT_LIST_OF(struct export_summary, files, count)},
    RESULT_LAST};

static enum exit_code export_report(const struct export_options *options,
                                    const struct export_summary *summary)
{
    struct out out;
    if (!out_open(&out, &(struct out_options){0}, (struct operands){0}))
        return EXIT_BAD_DATA;
    result_document(&out, export_columns, options->csv, summary, summary);
    if (summary->failed)
        out_give_up(&out, ENOMEM);
    return out_close(&out);
}

/* ---- which one ------------------------------------------------------------------- */

static const char *next_exporter(void *context)
{
    int *at = context;
    return *at < EXPORTERS ? exporters[(*at)++]->name : NULL;
}

static const struct exporter *exporter_named(const char *name)
{
    for (int i = 0; i < EXPORTERS; i++)
        if (strcmp(exporters[i]->name, name) == 0)
            return exporters[i];
    int at = 0;
    const char *near = options_nearest(name, next_exporter, &at);
    message_usage("unknown format '%s'%s%s%s", name, near ? ", did you mean '" : "",
                  near ? near : "", near ? "'?" : "");
    return NULL;
}

/* Length of the suffix of the list that path ends in, 0 if none. */
static size_t suffix_bytes(const char *suffixes, const char *path, size_t path_bytes)
{
    size_t best = 0;
    for (const char *at = suffixes; *at;) {
        size_t bytes = strcspn(at, " ");
        if (bytes > best && bytes < path_bytes &&
            strncmp(path + path_bytes - bytes, at, bytes) == 0)
            best = bytes;
        at += bytes + strspn(at + bytes, " ");
    }
    return best;
}

static const struct exporter *exporter_for(const char *path)
{
    const struct exporter *best = NULL;
    size_t best_bytes = 0;
    for (int i = 0; path && i < EXPORTERS; i++) {
        size_t bytes = suffix_bytes(exporters[i]->suffixes, path, strlen(path));
        if (bytes == 0 && out_gzip_wanted(path) && !exporters[i]->maker.own_output)
            bytes = suffix_bytes(exporters[i]->suffixes, path, strlen(path) - strlen(".gz"));
        if (bytes > best_bytes)
            best = exporters[i], best_bytes = bytes;
    }
    if (!best)
        message_usage("no format given: use --to, or an output name with a known suffix");
    return best;
}

enum exit_code export_files(const struct export_options *options, struct operands files)
{
    const struct exporter *exporter =
        options->to ? exporter_named(options->to) : exporter_for(options->reading.output.path);
    if (!exporter)
        return EXIT_USAGE;
    if (exporter->maker.own_output && out_is_standard(&options->reading.output))
        return message_usage("%s cannot go to standard output: give -o FILE", exporter->name);
    if ((options->json || options->csv) && out_is_standard(&options->reading.output))
        return message_usage(
            "--json and --csv need -o FILE: standard output has the export itself");
    if (options->columns && !exporter->has_columns)
        return message_usage("--columns is for npz and parquet, not for %s", exporter->name);
    if (options->critical_path && !exporter->has_path)
        return message_usage("--critical-path is for perfetto, not for %s", exporter->name);
    if (exporter->binary && !options->reading.output.path && isatty(STDOUT_FILENO))
        return message_usage("%s is nothing for a terminal: give -o FILE, or -o - to have it there",
                             exporter->name);
    progress_allow(&options->reading.terminal);
    struct export_summary summary = {.format = exporter->name};
    struct export_options wanted = *options;
    wanted.summary = options->json || options->csv ? &summary : NULL;
    enum exit_code code = exporter->has_parts && export_parts_wanted(&wanted.reading.output)
                              ? export_parts(exporter, &wanted, files)
                              : trace_pass(&exporter->maker, &wanted, &wanted.reading, files);
    if (summary.count || summary.failed)
        code = exit_worse(code, export_report(&wanted, &summary));
    for (uint32_t i = 0; i < summary.count; i++)
        free(summary.files[i].path);
    free(summary.files);
    return code;
}
