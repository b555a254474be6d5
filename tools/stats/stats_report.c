/* SPDX-License-Identifier: Apache-2.0 */
/* From files to the report, by one pass over them; the order of rows. */
#include "stats_report.h"
#include "message.h"
#include "progress.h"

#include <stdlib.h>
#include <string.h>

enum { TOP_DEFAULT = 10 };

enum stats_section stats_section_of(unsigned category)
{
    if (stats_is_call(category))
        return SECTION_WORK_ITEMS;
    return category == TRACE_GPU_WORK || category == TRACE_COPY ? SECTION_GPU_WORK
                                                                : SECTION_SUB_ITEMS;
}

/* ---- the order of rows --------------------------------------------------------------- */

static int compare_text(struct trace_text a, struct trace_text b)
{
    int order = memcmp(a.text, b.text, a.bytes < b.bytes ? a.bytes : b.bytes);
    return order ? order : a.bytes < b.bytes ? -1 : a.bytes > b.bytes;
}

static int compare_rows(const void *a, const void *b, void *context)
{
    const struct stats *stats = context;
    const struct stats_row *left = &stats->rows[*(const uint32_t *)a];
    const struct stats_row *right = &stats->rows[*(const uint32_t *)b];
    if (left->total_ns != right->total_ns)
        return left->total_ns > right->total_ns ? -1 : 1;
    if (left->category != right->category)
        return left->category < right->category ? -1 : 1;
    int order = compare_text(left->name, right->name);
    return order ? order : left->item < right->item ? -1 : left->item > right->item;
}

uint32_t *stats_rows_of(const struct stats *stats, enum stats_section section, uint32_t *count_out)
{
    uint32_t *rows = malloc((stats->row_count + 1) * sizeof *rows), count = 0;
    if (!rows)
        return NULL;
    for (uint32_t i = 0; i < stats->row_count; i++)
        if (stats_section_of(stats->rows[i].category) == section)
            rows[count++] = i;
    qsort_r(rows, count, sizeof *rows, compare_rows, (void *)(uintptr_t)stats);
    *count_out = count;
    return rows;
}

/* ---- the frame ----------------------------------------------------------------------- */

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
    enum exit_code code = stats->failed || stats->concurrency.levels == 0 ? EXIT_PARTLY : EXIT_GOOD;
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
