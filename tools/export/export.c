/* SPDX-License-Identifier: Apache-2.0 */
/* Which exporter is meant. */
#include "export.h"
#include "export_parts.h"
#include "message.h"
#include "out_gzip.h"
#include "progress.h"
#include "span_columns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct exporter *const exporters[] = {
    &exporter_chrome,  &exporter_csv,      &exporter_firefox,    &exporter_folded,
    &exporter_kineto,  &exporter_legion,   &exporter_ndjson,     &exporter_npz,
    &exporter_parquet, &exporter_perfetto, &exporter_speedscope, &exporter_sqlite,
    &exporter_tsv,
};
enum { EXPORTERS = sizeof exporters / sizeof exporters[0] };

static bool store_legion_version(void *value, const char *text, struct option_error *error)
{
    static const uint32_t known[] = {1006, 1007, 1008, 1011};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        char number[16];
        snprintf(number, sizeof number, "%u", (unsigned)known[i]);
        if (strcmp(text, number) == 0) {
            *(uint32_t *)value = known[i];
            return true;
        }
    }
    snprintf(error->text, sizeof error->text, "is none of 1006, 1007, 1008, 1011");
    return false;
}

/* Names with commas between. */
static bool store_columns(void *value, const char *text, struct option_error *error)
{
    uint32_t chosen = 0;
    for (const char *at = text;; at++) {
        size_t bytes = strcspn(at, ",");
        int column = span_column_named(at, bytes);
        if (column < 0) {
            snprintf(error->text, sizeof error->text, "has '%.*s', which is no column",
                     (int)(bytes < 40 ? bytes : 40), at);
            return false;
        }
        chosen |= UINT32_C(1) << column;
        at += bytes;
        if (!*at)
            break;
    }
    *(uint32_t *)value = chosen;
    return true;
}

const struct option export_option_table[] = {
    {"to", 't', "FORMAT",
     "chrome csv firefox folded kineto legion ndjson npz parquet perfetto speedscope sqlite tsv",
     "what to write; by the suffix of the output if not given", offsetof(struct export_options, to),
     option_store_text},
    {"no-deflate", 0, NULL, NULL, "perfetto: packets as they are, larger and a little faster",
     offsetof(struct export_options, no_deflate), option_store_true},
    {"raw-text", 0, NULL, NULL, "csv, tsv: names as they are, not made safe for spreadsheets",
     offsetof(struct export_options, raw_text), option_store_true},
    {"block-processes", 0, NULL, NULL,
     "chrome: blocks (SMs) of lanes are processes, their groups threads",
     offsetof(struct export_options, block_processes), option_store_true},
    {"outer-ranges", 0, NULL, NULL, "kineto: GPU work counts for the ranges around its range, too",
     offsetof(struct export_options, outer_ranges), option_store_true},
    {"annotate", 0, NULL, NULL, "Chrome JSON read: GPU work of its ranges, where it has none",
     offsetof(struct export_options, reading.annotate), option_store_true},
    {"legion-version", 0, "NUMBER", "1006 1007 1008 1011",
     "of Legion Prof logs that are written (1008)", offsetof(struct export_options, legion_version),
     store_legion_version},
    {"columns", 0, "NAME,...", NULL, "npz, parquet: these columns only",
     offsetof(struct export_options, columns), store_columns},
    {0},
};

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
    if (exporter->maker.own_output && out_is_standard(&options->reading.output)) {
        message_usage("%s cannot go to standard output: give -o FILE", exporter->name);
        return EXIT_USAGE;
    }
    if (options->columns && !exporter->has_columns) {
        message_usage("--columns is for npz and parquet, not for %s", exporter->name);
        return EXIT_USAGE;
    }
    if (exporter->binary && !options->reading.output.path && isatty(STDOUT_FILENO)) {
        message_usage("%s is nothing for a terminal: give -o FILE, or -o - to have it there",
                      exporter->name);
        return EXIT_USAGE;
    }
    progress_allow(&options->reading.terminal);
    if (exporter->has_parts && export_parts_wanted(&options->reading.output))
        return export_parts(exporter, options, files);
    return trace_pass(&exporter->maker, options, &options->reading, files);
}
