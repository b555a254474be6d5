/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export.h - a trace as a file of another kind.
 *
 * One struct exporter in one file export_NAME.c for each kind, and a line in
 * the table of export.c. An exporter is a sink (trace.h) with a begin and an
 * end; it writes into a struct out, or, where a library or several files are
 * needed, makes its output itself.
 */
#ifndef EXPORT_H
#define EXPORT_H

#include "align.h"
#include "filter.h"
#include "ordered_jobs.h"
#include "out.h"
#include "terminal.h"
#include "trace.h"

/* What the command line said; a group of options shared by export and merge. */
struct export_options {
    const char *to; /* name of the exporter; NULL: by the suffix of the output */
    bool no_deflate, raw_text;
    bool live;               /* with the records that only FILE.live has */
    unsigned threads;        /* at work, 0 = one a CPU */
    uint32_t legion_version; /* 1008 or 1011; 0: 1008 */
    struct out_options output;
    struct filter_options filter;
    struct align_options align;       /* of merge; zero for export */
    struct terminal_options terminal; /* whether progress is shown */
};

struct export
{
    const struct exporter *exporter;
    const struct export_options *options;
    struct operands inputs;
    uint32_t nodes; /* of the job, as far as the sources know */
    struct out out; /* unless the exporter has its own output */
    struct job_threads *threads;
    struct filter_options filter; /* of the options, its times since 1970 where that is known */
    struct filter_found found;    /* what it met */
    bool nothing;        /* when it ends: the filters left nothing, so nothing is to be written */
    struct trace *trace; /* set between begin and the first call of the sink */
    struct trace_sink sink; /* filled by begin */
    void *state;            /* the exporter's */
};

struct exporter {
    const char *name;
    const char *suffixes; /* ".csv .txt"; the longest that fits the output's name chooses */
    const char *summary;
    bool own_output; /* opens options->output.path itself; "-" is refused */
    bool binary;     /* what it writes is nothing for a terminal */
    bool clips;      /* wants what lies inside --from and --to, not the spans that reach into it */
    /* False with the message given. */
    bool (*begin)(struct export *export);
    /* After the last call of the sink, also when reading failed. Frees state. */
    enum exit_code (*end)(struct export *export);
};

extern const struct exporter exporter_csv, exporter_legion, exporter_ndjson, exporter_tsv;
extern const struct exporter exporter_parquet, exporter_sqlite;
extern const struct exporter exporter_chrome, exporter_folded, exporter_perfetto;

extern const struct option export_option_table[]; /* of struct export_options */
/* How files are read: for all commands that read traces. Of struct export_options. */
extern const struct option reading_option_table[];

/* Reads the files into one trace and writes it by the exporter that the options choose. */
enum exit_code export_files(const struct export_options *options, struct operands files);
/* The same to one that is not in the table: for commands that make something else of a trace. */
enum exit_code export_with(const struct exporter *exporter, const struct export_options *options,
                           struct operands files);

#endif /* EXPORT_H */
