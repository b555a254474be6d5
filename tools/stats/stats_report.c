/* SPDX-License-Identifier: Apache-2.0 */
/* From files to the report, by one pass over them. */
#include "stats_report.h"
#include "message.h"
#include "progress.h"
#include "stats_forms.h"

#include <stdlib.h>

enum { TOP_DEFAULT = 10 };

static bool begin(struct trace_pass *pass)
{
    const struct stats_report_options *options = pass->asked;
    struct stats *stats = malloc(sizeof *stats);
    if (!stats) {
        message("out of memory");
        return false;
    }
    stats_start(stats, &(struct stats_options){
                           .top = options->top.set ? options->top.count : TOP_DEFAULT,
                           .orphans = options->reading.filter.kinds != 0,
                           .inside = !options->sections || options->sections & SECTION_INSIDE,
                       });
    pass->sink = stats_sink(stats);
    pass->state = stats;
    return true;
}

static enum exit_code end(struct trace_pass *pass)
{
    const struct stats_report_options *options = pass->asked;
    struct stats *stats = pass->state;
    unsigned sections = options->sections ? options->sections : SECTION_ALL;
    if (options->top.set)
        sections |= SECTION_LONGEST;
    if (pass->trace)
        stats_set_run(stats, trace_totals(pass->trace));
    stats_finish(stats);
    stats->zero_ns = pass->trace ? trace_origin_ns(pass->trace) : 0;
    if (options->json)
        stats_json(&pass->out, stats, sections);
    else
        stats_text(&pass->out, stats, sections,
                   terminal_colors(&options->reading.terminal, pass->out.fd));
    bool whole = !stats->failed && !stats->inside.failed && !stats->lines.failed &&
                 stats->concurrency.levels > 0;
    enum exit_code code = whole ? EXIT_GOOD : EXIT_PARTLY;
    stats_free(stats);
    free(stats);
    return code;
}

static const struct trace_maker stats_maker = {.clips = true, .begin = begin, .end = end};

enum exit_code stats_report(const struct stats_report_options *options, struct operands files)
{
    progress_allow(&options->reading.terminal);
    return trace_pass(&stats_maker, options, &options->reading, files);
}
