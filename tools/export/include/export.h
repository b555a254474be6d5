/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export.h - a trace as a file of another kind.
 *
 * One struct exporter in one file export_NAME.c for each kind, and a line in
 * the list of formats.h. An exporter makes something of a pass
 * over files (trace_pass.h): it writes into the pass's output, or, where a
 * library or several files are needed, makes its output itself.
 */
#ifndef EXPORT_H
#define EXPORT_H

#include "result_print.h"
#include "trace_pass.h"

enum { EXPORT_DROPPED = 9 }; /* kinds of what a format cannot represent */

/* What came into a file (or several, where the path has a %), and what did not. */
struct export_file {
    char *path;
    struct trace_totals totals;
    uint64_t dropped[EXPORT_DROPPED];
};

/* What --json and --csv say of an export. */
struct export_summary {
    const char *format;
    struct export_file *files;
    uint32_t count, room;
    bool failed; /* no memory for one */
};
extern const struct result_column export_columns[];

/* A part of one more track, "critical path": in the order of time, none in another. */
struct export_piece {
    int64_t start_ns;
    uint64_t duration_ns;
    char *text;
};

/* What the command line said; a group of options shared by export and merge. */
struct export_options {
    struct reading_options reading;
    const char *to; /* name of the exporter; NULL: by the suffix of the output */
    bool no_deflate, raw_text, block_processes, outer_ranges, stacks;
    uint32_t legion_version; /* 1006 to 1008 or 1011; 0: 1008 */
    uint64_t columns;        /* bits of those that are wanted (span_columns.h); 0: all */
    bool critical_path;      /* it is a track */
    const struct export_piece *pieces;
    uint32_t piece_count;
    bool json;                      /* say what was written */
    const char *csv;                /* likewise, the list of it */
    struct export_summary *summary; /* NULL: nobody asks */
};
static inline const struct export_options *export_options_of(const struct trace_pass *pass)
{
    return pass->asked;
}

struct exporter {
    const char *name;
    const char *suffixes; /* ".csv .txt"; the longest that fits the output's name chooses */
    const char *summary;
    bool binary;      /* what it writes is nothing for a terminal */
    bool has_columns; /* of which some can be chosen */
    bool has_path;    /* it shows the critical path */
    bool has_parts;   /* a folder may be written of several files (export.c) */
    /* With an output of its own it opens the path itself; "-" is refused. */
    struct trace_maker maker;
};

/* Of struct export_options. */
extern const struct option export_option_table[], export_report_table[];

/* Reads the files into one trace and writes it by the exporter that the options choose. */
enum exit_code export_files(const struct export_options *options, struct operands files);

#endif /* EXPORT_H */
