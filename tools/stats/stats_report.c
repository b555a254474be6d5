/* SPDX-License-Identifier: Apache-2.0 */
/* From files to the report, by one pass over them. */
#include "stats_report.h"
#include "message.h"
#include "progress.h"
#include "stats_files.h"
#include "stats_forms.h"

#include <errno.h>
#include <stdlib.h>

enum {
    TOP_DEFAULT = 10,
    EXPLAINED_SPANS = 1u << 20 /* reading more again would take long */
};

/* What is of all files together, or needs all of their spans. */
static bool is_one_pass(const struct stats_report_options *options, struct operands files)
{
    return options->sections &
               (SECTION_INSIDE | SECTION_MESSAGES | SECTION_ARGUMENTS | SECTION_STACKS) ||
           !stats_files_wanted(&options->reading, files, options->cache);
}

static bool stats_report_begin(struct trace_pass *pass)
{
    const struct stats_report_options *options = pass->asked;
    bool one_pass = !pass->maker->read;
    struct stats *stats = malloc(sizeof *stats);
    if (!stats)
        return message_fail("out of memory");
    stats_start(
        stats, &(struct stats_options){
                   .top = options->top.set ? options->top.count : TOP_DEFAULT,
                   .orphans = options->reading.filter.kinds != 0,
                   .inside = one_pass && (!options->sections || options->sections & SECTION_INSIDE),
                   .arg_key = options->arg_key,
                   .fold_literals = options->fold_literals,
                   .cells = true,
                   .turns = options->sections & SECTION_FINDINGS,
                   .stalls = one_pass,
               });
    pass->stacks = options->sections & SECTION_STACKS ? TRACE_ALL_STACKS : TRACE_NO_STACKS;
    pass->sink = stats_sink(stats);
    pass->state = stats;
    return true;
}

/* Of one process, or of thousands, people see what is of use to them. */
static unsigned sections_of(const struct stats_report_options *options, const struct stats *stats)
{
    if (options->sections)
        return options->sections;
    unsigned sections = SECTION_ALL;
    if (stats->merged) /* these are of all spans */
        sections &= ~(unsigned)(SECTION_INSIDE | SECTION_MESSAGES);
    if (stats->process_count < 2)
        sections &= ~(unsigned)SECTION_NODES;
    if (stats->process_count > STATS_FILES_MANY && !options->json)
        sections &= ~(unsigned)SECTION_THREADS;
    return sections;
}

static void report_show(struct trace_pass *pass, const struct stats *stats, unsigned sections)
{
    const struct stats_report_options *options = pass->asked;
    struct findings findings = {0};
    if (sections & SECTION_FINDINGS)
        findings_make(&findings, stats, filter_is_choice(&options->reading.filter),
                      &(struct findings_files){&options->reading, pass->inputs,
                                               stats->merged ? 0 : EXPLAINED_SPANS});
    if (findings.failed)
        out_give_up(&pass->out, ENOMEM);
    const struct stats_form form = {.sections = sections,
                                    .order = options->sort,
                                    .columns = options->columns,
                                    .findings = &findings,
                                    .trace = pass->maker->read ? NULL : pass->trace};
    if (options->csv)
        stats_csv(&pass->out, stats, &form, options->csv);
    else if (options->json)
        stats_json(&pass->out, stats, &form);
    else
        stats_text(&pass->out, stats, &form,
                   terminal_colors(&options->reading.terminal, pass->out.fd));
    findings_free(&findings);
}

static enum exit_code stats_report_end(struct trace_pass *pass)
{
    const struct stats_report_options *options = pass->asked;
    struct stats *stats = pass->state;
    if (pass->trace)
        stats_set_run(stats, trace_totals(pass->trace));
    if (pass->maker->read)
        stats_merge_finish(stats);
    else
        stats_finish(stats);
    stalls_finish(&stats->stalls);
    slow_stacks_finish(&stats->slow, pass->trace);
    if (stats->slow.failed && !stats->failed)
        message("out of memory; stacks are missing");
    stats->zero_ns = pass->origin_ns;
    unsigned sections = sections_of(options, stats);
    if (options->top.set)
        sections |= SECTION_LONGEST;
    report_show(pass, stats, sections);
    bool whole = !stats->failed && !stats->inside.failed && !stats->lines.failed &&
                 !stats->slow.failed && !stats->stalls.failed && stats->concurrency.levels > 0;
    enum exit_code code = whole ? EXIT_GOOD : EXIT_PARTIAL;
    stats_free(stats);
    free(stats);
    return code;
}

static enum exit_code stats_report_read_files(struct trace_pass *pass,
                                              const struct trace_sources *sources)
{
    const struct stats_report_options *options = pass->asked;
    return stats_files_read(pass, sources, options->cache, pass->state);
}

static const struct trace_maker stats_maker = {
    .clips = true, .begin = stats_report_begin, .end = stats_report_end};
static const struct trace_maker stats_files_maker = {
    .begin = stats_report_begin, .read = stats_report_read_files, .end = stats_report_end};

enum exit_code stats_report(const struct stats_report_options *options, struct operands files)
{
    progress_allow(&options->reading.terminal);
    if (options->cache && !summary_cache_open(options->cache))
        return EXIT_BAD_DATA;
    return trace_pass(is_one_pass(options, files) ? &stats_maker : &stats_files_maker, options,
                      &options->reading, files);
}
