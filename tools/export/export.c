/* SPDX-License-Identifier: Apache-2.0 */
/* From files to one exporter: opens, puts all on one axis, reads one after the other. */
#include "export.h"
#include "input.h"
#include "jobs_option.h"
#include "message.h"
#include "out_gzip.h"
#include "progress.h"
#include "trace_source.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static const struct exporter *const exporters[] = {
    &exporter_chrome,  &exporter_csv,      &exporter_folded, &exporter_legion, &exporter_ndjson,
    &exporter_parquet, &exporter_perfetto, &exporter_sqlite, &exporter_tsv,
};
enum { EXPORTERS = sizeof exporters / sizeof exporters[0] };

static bool store_legion_version(void *value, const char *text, struct option_error *error)
{
    bool old = strcmp(text, "1008") == 0;
    *(uint32_t *)value = old ? 1008 : 1011;
    if (old || strcmp(text, "1011") == 0)
        return true;
    snprintf(error->text, sizeof error->text, "is none of 1008, 1011");
    return false;
}

const struct option export_option_table[] = {
    {"to", 't', "FORMAT", "chrome csv folded legion ndjson parquet perfetto sqlite tsv",
     "what to write; by the suffix of the output if not given", offsetof(struct export_options, to),
     option_store_text},
    {"no-deflate", 0, NULL, NULL, "perfetto: packets as they are, larger and a little faster",
     offsetof(struct export_options, no_deflate), option_store_true},
    {"raw-text", 0, NULL, NULL, "csv, tsv: names as they are, not made safe for spreadsheets",
     offsetof(struct export_options, raw_text), option_store_true},
    {"legion-version", 0, "NUMBER", "1008 1011", "of Legion Prof logs that are written (1008)",
     offsetof(struct export_options, legion_version), store_legion_version},
    {0},
};

const struct option reading_option_table[] = {
    {"live", 0, NULL, NULL, INPUT_LIVE_HELP, offsetof(struct export_options, live),
     option_store_true},
    {"jobs", 'j', "N", NULL, JOBS_OPTION_HELP, offsetof(struct export_options, threads),
     jobs_option_store},
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
        if (bytes == 0 && out_gzip_wanted(path) && !exporters[i]->own_output)
            bytes = suffix_bytes(exporters[i]->suffixes, path, strlen(path) - strlen(".gz"));
        if (bytes > best_bytes)
            best = exporters[i], best_bytes = bytes;
    }
    if (!best)
        message_usage("no format given: use --to, or an output name with a known suffix");
    return best;
}

/* ---- sources --------------------------------------------------------------------- */

struct sources {
    struct trace_source *list;
    struct alignment *alignments;
    int count;
};

/* All are open until the last one is read, each twice at most. */
static void allow_descriptors(int files)
{
    struct rlimit limit;
    rlim_t needed = 2 * (rlim_t)files + 64;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed)
        return;
    limit.rlim_cur = needed < limit.rlim_max ? needed : limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit); /* what is not allowed cannot be opened, and is told */
}

static enum exit_code open_sources(struct sources *sources, struct operands files, bool live)
{
    enum exit_code code = EXIT_GOOD;
    sources->list = calloc((size_t)files.count, sizeof *sources->list);
    sources->alignments = calloc((size_t)files.count, sizeof *sources->alignments);
    if (!sources->list || !sources->alignments) {
        message("out of memory");
        return EXIT_BAD_DATA;
    }
    allow_descriptors(files.count);
    for (int i = 0; i < files.count; i++) {
        if (trace_source_open(&sources->list[sources->count], files.words[i], live))
            sources->count++;
        else
            code = EXIT_BAD_DATA;
    }
    return code;
}

static int64_t origin_ns(const struct sources *sources)
{
    int64_t origin = INT64_MAX;
    for (int i = 0; i < sources->count; i++) {
        int64_t first = sources->list[i].facts.first_ns + sources->alignments[i].shift_ns;
        origin = first && first < origin ? first : origin;
    }
    return origin == INT64_MAX ? 0 : origin;
}

static enum exit_code read_sources(struct export *export, const struct sources *sources)
{
    enum exit_code code = EXIT_GOOD;
    for (int i = 0; i < sources->count && !trace_is_full(export->trace); i++) {
        struct trace_read_options options = {.filter = &export->filter,
                                             .shift_ns = sources->alignments[i].shift_ns,
                                             .threads = export->threads,
                                             .clip = export->exporter->clips};
        code = exit_worse(code, trace_source_read(&sources->list[i], export->trace, &options));
    }
    return code;
}

static enum exit_code close_sources(struct sources *sources)
{
    enum exit_code code = EXIT_GOOD;
    for (int i = 0; i < sources->count; i++)
        code = exit_worse(code, trace_source_close(&sources->list[i]));
    free(sources->list);
    free(sources->alignments);
    return code;
}

/* ---- all together ---------------------------------------------------------------- */

/* Filters that leave nothing are a mistake of who gave them: that is told, not written. */
static enum exit_code look_for_nothing(struct export *export, const struct sources *sources)
{
    if (!filter_is_set(&export->filter) || trace_totals(export->trace)->spans ||
        trace_is_full(export->trace))
        return EXIT_GOOD;
    filter_tell_nothing(&export->filter, sources->count == 1 ? sources->list[0].name : NULL);
    export->nothing = true;
    if (!export->exporter->own_output)
        out_discard(&export->out);
    return EXIT_BAD_DATA;
}

static enum exit_code write_trace(struct export *export, const struct sources *sources)
{
    if (!export->exporter->begin(export))
        return EXIT_BAD_DATA;
    export->trace = trace_new(&export->sink, origin_ns(sources));
    enum exit_code code = EXIT_BAD_DATA;
    export->filter = export->options->filter;
    export->filter.found = &export->found;
    if (export->trace && trace_origin_ns(export->trace))
        filter_count_from(&export->filter, trace_origin_ns(export->trace));
    if (export->trace) {
        trace_add_fact(export->trace, "rbwp.version", "%s", rbwp_version());
        trace_add_fact(export->trace, "origin_ns", "%" PRId64, trace_origin_ns(export->trace));
        align_add_facts(export->trace, sources->list, sources->count, sources->alignments);
        code = read_sources(export, sources);
        code = exit_worse(code, look_for_nothing(export, sources));
    } else {
        message("out of memory");
    }
    code = exit_worse(code, export->exporter->end(export));
    if (export->trace && trace_failed(export->trace))
        code = exit_worse(code, EXIT_PARTLY); /* the user was told */
    trace_free(export->trace);
    return code;
}

static enum exit_code open_output(struct export *export, const struct sources *sources)
{
    const struct out_options *output = &export->options->output;
    if (export->exporter->own_output)
        return write_trace(export, sources);
    if (!out_open(&export->out, output, export->inputs))
        return EXIT_BAD_DATA;
    bool packs = out_gzip_wanted(output->path);
    enum exit_code code = EXIT_BAD_DATA;
    if (!packs || out_gzip_start(&export->out, export->threads)) {
        code = write_trace(export, sources);
        if (packs && !out_gzip_finish(&export->out))
            code = exit_worse(code, EXIT_PARTLY);
    }
    return exit_worse(code, out_close(&export->out));
}

static uint32_t count_nodes(const struct sources *sources)
{
    uint32_t nodes = 1;
    for (int i = 0; i < sources->count; i++) {
        const struct trace_facts *facts = &sources->list[i].facts;
        uint32_t least = facts->node < UINT32_MAX ? facts->node + 1 : facts->node;
        nodes = least > nodes ? least : nodes;
        nodes = facts->nodes > nodes ? facts->nodes : nodes;
    }
    return nodes;
}

static enum exit_code align_and_write(struct export *export, const struct sources *sources)
{
    bool usage;
    if (!align_sources(sources->list, sources->count, &export->options->align, sources->alignments,
                       &usage))
        return usage ? EXIT_USAGE : EXIT_BAD_DATA;
    export->nodes = count_nodes(sources);
    return open_output(export, sources);
}

enum exit_code export_files(const struct export_options *options, struct operands files)
{
    const struct exporter *exporter =
        options->to ? exporter_named(options->to) : exporter_for(options->output.path);
    if (!exporter)
        return EXIT_USAGE;
    if (exporter->own_output && out_is_standard(&options->output)) {
        message_usage("%s cannot go to standard output: give -o FILE", exporter->name);
        return EXIT_USAGE;
    }
    if (exporter->binary && !options->output.path && isatty(STDOUT_FILENO)) {
        message_usage("%s is nothing for a terminal: give -o FILE, or -o - to have it there",
                      exporter->name);
        return EXIT_USAGE;
    }
    progress_allow(&options->terminal);
    return export_with(exporter, options, files);
}

enum exit_code export_with(const struct exporter *exporter, const struct export_options *options,
                           struct operands files)
{
    struct export export = {.exporter = exporter, .options = options, .inputs = files};
    export.threads = job_threads_new(options->threads);
    if (!export.threads) {
        message("out of memory");
        return EXIT_BAD_DATA;
    }
    struct sources sources = {0};
    enum exit_code code = open_sources(&sources, files, options->live);
    if (sources.count > 0)
        code = exit_worse(code, align_and_write(&export, &sources));
    code = exit_worse(code, close_sources(&sources)); /* which use the threads */
    job_threads_free(export.threads);
    return code;
}
