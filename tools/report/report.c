/* SPDX-License-Identifier: Apache-2.0 */
/* Takes the trace in and writes the page. */
#include "message.h"
#include "json_text.h"
#include "sorted.h"
#include "stats_tables.h"
#include "page_json.h"
#include "quantity.h"
#include "report_parts.h"
#include "stats_files.h"
#include "trace_axis.h"
#include "trace_span.h"
#include "progress.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STACKS_MOST = 4096 };
_Static_assert(offsetof(struct report, stats) == 0, "a context is both");

/* ---- waits ----------------------------------------------------------------------------------- */
/* Waits between outermost spans. */

static struct waits_track *find_track(struct waits *waits, uint32_t track)
{
    if (!GROW_ZEROED(waits->tracks, waits->track_room, track + 1))
        return NULL;
    return &waits->tracks[track];
}

static void sink_down(struct waits *waits, uint32_t at)
{
    HEAP_SIFT(waits->longest, waits->count, at, a->duration_ns < b->duration_ns);
}

static void keep_longest(struct waits *waits, struct wait wait)
{
    if (waits->count < WAITS_LONGEST) {
        waits->longest[waits->count++] = wait;
        for (uint32_t at = waits->count / 2; waits->count == WAITS_LONGEST && at-- > 0;)
            sink_down(waits, at);
    } else if (wait.duration_ns > waits->longest[0].duration_ns) {
        waits->longest[0] = wait;
        sink_down(waits, 0);
    }
}

static void waits_fail(struct waits *waits)
{
    message_once(&waits->failed, "out of memory; waits are missing");
}

static void waits_add(struct waits *waits, const struct trace_span *span)
{
    if (span->depth > 0 || span->parent)
        return;
    struct waits_track *track = find_track(waits, span->track);
    if (!track) {
        waits_fail(waits);
        return;
    }
    if (track->any && span->start_ns > track->until_ns) {
        uint64_t duration_ns = (uint64_t)span->start_ns - (uint64_t)track->until_ns;
        if (!histogram_add(&track->durations, duration_ns))
            waits_fail(waits);
        keep_longest(waits, (struct wait){track->until_ns, duration_ns, span->track});
    }
    track->until_ns =
        track->any && track->until_ns > span->stop_ns ? track->until_ns : span->stop_ns;
    track->any = true;
}

static int longer_first(const void *a, const void *b)
{
    const struct wait *first = a, *second = b;
    SORTED_BY(second, first, duration_ns);
    return first->start_ns < second->start_ns ? -1 : first->start_ns > second->start_ns;
}

const struct histogram *waits_of(const struct waits *waits, uint32_t track)
{
    bool any = track < waits->track_room && waits->tracks[track].durations.total > 0;
    return any ? &waits->tracks[track].durations : NULL;
}

/* ---- arguments of calls ------------------------------------------------------------ */

/* As in a list of arguments (stats.h); what is not known is not there. */
static uint32_t put_part(char *to, const char *key, uint64_t ns)
{
    char text[QUANTITY_BYTES];
    if (!ns)
        return 0;
    quantity_rough(text, ns, 4);
    return (uint32_t)sprintf(to, "%c%c%c%s%s", 1, (int)strlen(key), (int)strlen(text), key, text);
}

static struct trace_text cpu_list(char *to, const struct trace_span *span,
                                  const struct trace_detail *detail)
{
    uint32_t bytes = 0;
    const struct trace_cpu cpu = trace_cpu_of(span, detail);
    if (detail->flags & TRACE_HAS_CPU) {
        bytes += put_part(to, "running", cpu.running_ns);
        bytes += put_part(to + bytes, "runnable", cpu.runnable_ns);
        bytes += put_part(to + bytes, "waiting", cpu.waiting_ns);
    }
    return (struct trace_text){to, bytes};
}

/* What it was about, and whether it ran, where that takes words. False without memory. */
static bool page_args_add(struct report *report, const struct trace_span *span, uint32_t kind,
                          const struct trace_detail *detail)
{
    struct page_args *args = &report->args;
    char made[3 * (QUANTITY_BYTES + 16)];
    const struct trace_text cpu =
        detail ? cpu_list(made, span, detail) : (struct trace_text){NULL, 0};
    if (!detail || detail->arg_count + cpu.bytes == 0)
        return true;
    if (args->bytes.count >= PAGE_ARGS_BYTES) {
        args->dropped++;
        return true;
    }
    struct trace_text list;
    if (!arg_list_make(detail, report->stats.names, report->stats.name_room, &list))
        return false;
    if (list.bytes + cpu.bytes) {
        buffer_varint(&args->bytes, span->track);
        buffer_varint(&args->bytes, kind);
        buffer_le(&args->bytes, (uint64_t)span->start_ns, sizeof span->start_ns);
        buffer_varint(&args->bytes, list.bytes + cpu.bytes);
        buffer_append(&args->bytes, cpu.text, cpu.bytes); /* first: tooltips show few */
        buffer_append(&args->bytes, list.text, list.bytes);
    }
    free((char *)(uintptr_t)list.text);
    return !args->bytes.failed;
}

/* ---- taking the trace in --------------------------------------------------------- */

static void report_fail(struct report *report)
{
    message_once(&report->failed, "out of memory; the report is not whole");
}

/* What else the page knows of a span: NULL, or two numbers (struct detail_span). */
static const uint64_t *more_of(const struct report *report, const struct trace_span *span,
                               const struct trace_detail *detail, uint64_t more[2])
{
    if (inside_kernels_place(&report->stats.inside, span, detail, &more[0], &more[1]))
        return more;
    if (report->stats.tracks[span->track].track.kind != TRACE_GPU)
        return NULL;
    bool bounded = detail && detail->flags & TRACE_HAS_BOUNDS;
    more[0] = bounded ? detail->start_uncertain_ns : 0;
    more[1] = bounded ? detail->stop_uncertain_ns : 0;
    return more;
}

static void report_on_span(struct report *report, const struct trace_span *span,
                           const struct trace_detail *detail, bool hollow)
{
    uint32_t number = kinds_number(&report->kinds, span);
    if (number == UINT32_MAX) {
        report_fail(report);
        return;
    }
    struct kind *kind = &report->kinds.list[number];
    uint64_t duration_ns = trace_duration_ns(span);
    kind->hollow += hollow;
    kind->waits |= trace_is_waiting(span);
    kind->hollow_ns += hollow ? duration_ns : 0;
    if (duration_ns > kind->longest_ns) {
        kind->longest_ns = duration_ns;
        kind->longest_start_ns = span->start_ns;
    }
    uint64_t more[2];
    /* One that comes after what is in it would be taken for a part of that. */
    if (stats_is_worker(&report->stats.tracks[span->track]) &&
        !(span->flags & (TRACE_INSTANT | TRACE_LATE)))
        stack_tree_add(&report->stacks, span, 0, number);
    if (span->category == TRACE_CALL && !page_args_add(report, span, number, detail))
        report_fail(report);
    timeline_add_span(&report->timeline, span, detail, more_of(report, span, detail, more), number);
    if (report->stats.tracks[span->track].track.kind == TRACE_LIFE) {
        trace_widen(report->has_life, &report->life_first_ns, &report->life_last_ns, span->start_ns,
                    span->start_ns);
        report->has_life = true;
    }
    if (stats_is_worker(&report->stats.tracks[span->track])) {
        waits_add(&report->waits, span);
        trace_widen(report->has_focus, &report->focus_first_ns, &report->focus_last_ns,
                    span->start_ns, span->stop_ns);
        report->has_focus = true;
    }
}

/* A batch has spans with what is inside behind them, but for late ones: those hold something. */
static void report_on_spans(void *context, const struct trace_span *spans, size_t count,
                            const struct trace_details *details)
{
    struct report *report = context;
    report->stats_sink.spans(context, spans, count, details);
    if (report->stats.failed) /* it may not know the track */
        return;
    for (size_t i = 0; i < count; i++) {
        bool holds = (i + 1 < count && spans[i + 1].parent == spans[i].id) ||
                     (spans[i].flags & TRACE_LATE) != 0;
        report_on_span(report, &spans[i], trace_detail_of(details, &spans[i]), !holds);
    }
}

static void report_on_samples(void *context, uint32_t track, const struct trace_sample *samples,
                              size_t count)
{
    struct report *report = context;
    report->stats_sink.samples(context, track, samples, count);
    if (!counter_lines_add(&report->counters, track, samples, count))
        report_fail(report);
}

static void report_on_link(void *context, const struct trace_link *link)
{
    struct report *report = context;
    report->stats_sink.link(context, link);
    timeline_add_link(&report->timeline, link);
}

static void report_on_loss(void *context, const struct trace_loss *loss)
{
    struct report *report = context;
    report->stats_sink.loss(context, loss);
    if (loss->first_ns || loss->last_ns)
        detail_mark(&report->timeline.detail, loss->first_ns);
}

static void report_on_fact(void *context, const char *key, struct trace_text value)
{
    struct report *report = context;
    report->stats_sink.fact(context, key, value);
    if (!GROW_ARRAY(report->facts, report->fact_room, report->fact_count + 1)) {
        report_fail(report);
        return;
    }
    struct report_fact fact = {strdup(key), strndup(value.text, value.bytes)};
    if (!fact.key || !fact.value)
        report_fail(report);
    report->facts[report->fact_count++] = fact;
}

static bool report_begin(struct trace_pass *pass)
{
    struct report *report = calloc(1, sizeof *report);
    if (!report || !stack_tree_start(&report->stacks, STACKS_MOST)) {
        message("out of memory");
        free(report);
        return false;
    }
    report->options = pass->asked;
    stats_start(&report->stats,
                &(struct stats_options){.top = 200,
                                        .orphans = filter_is_set(&pass->options->filter),
                                        .cells = true,
                                        .turns = true,
                                        .stalls = !pass->maker->read,
                                        .inside = !pass->maker->read});
    report->stats_sink = stats_sink(&report->stats);
    timeline_start(&report->timeline);
    pass->state = report;
    pass->sink = report->stats_sink;
    pass->sink.spans = report_on_spans;
    pass->sink.samples = report_on_samples;
    pass->sink.link = report_on_link;
    pass->sink.message = NULL; /* the page shows none */
    pass->sink.loss = report_on_loss;
    pass->sink.fact = report_on_fact;
    return true;
}

static void report_free(struct report *report)
{
    for (uint32_t i = 0; i < report->fact_count; i++) {
        free(report->facts[i].key);
        free(report->facts[i].value);
    }
    free(report->facts);
    stats_free(&report->stats);
    timeline_stop(&report->timeline);
    kinds_free(&report->kinds);
    for (uint32_t i = 0; i < report->waits.track_room; i++)
        histogram_free(&report->waits.tracks[i].durations);
    free(report->waits.tracks);
    counter_lines_free(&report->counters);
    buffer_free(&report->args.bytes);
    stack_tree_free(&report->stacks);
    findings_free(&report->findings);
    trace_free(report->names);
    free(report);
}

/* ---- writing the page ------------------------------------------------------------ */

static uint64_t budget_bytes(const struct report_options *options)
{
    uint64_t megabytes = options->detail.set ? options->detail.megabytes : REPORT_DETAIL_MB;
    return megabytes * 1000000;
}

/* Where detail should be first of all: at losses, marked before, at the longest calls, and at
 * what still ran at the end. */
static void mark_longest(struct report *report)
{
    struct detail *detail = &report->timeline.detail;
    for (uint32_t i = 0; i < report->kinds.count; i++)
        detail_mark(detail, report->kinds.list[i].longest_start_ns);
    for (uint32_t i = 0; i < report->stats.longest_count; i++)
        detail_mark(detail, report->stats.longest[i].start_ns);
    for (uint32_t i = 0; i < report->stats.open_count; i++)
        detail_mark(detail, report->stats.open[i].start_ns);
}

struct json {
    const struct report *report;
    const struct report_page *page;
};
static void write_json(const void *context, struct out *out)
{
    const struct json *json = context;
    report_json(json->report, json->page, out);
}

static bool report_write_data(void *context, struct page_data *data)
{
    struct report *report = context;
    struct report_page page = {
        .taken = {.first_ns = report->focus_first_ns, .last_ns = report->focus_last_ns}};
    mark_longest(report);
    bool good = timeline_write(&report->timeline, data, budget_bytes(report->options), &page.taken,
                               &page.levels);
    struct json json = {report, &page};
    good = page_data_element(data, "args", 0, &report->args.bytes) && good;
    return page_frame_json(data, write_json, &json) && good;
}

/* No trace has them: its names, and kinds in the order of the rows. */
static void name_sums(struct report *report)
{
    const struct stats *stats = &report->stats;
    for (uint32_t i = 0; i < stats->process_count; i++)
        (void)trace_add_process(report->names,
                                (struct trace_process){.node = stats->processes[i].node,
                                                       .name = stats->processes[i].name,
                                                       .source = stats->processes[i].source});
    report->kinds.list = calloc(stats->row_count + (size_t)1, sizeof *report->kinds.list);
    if (!report->kinds.list || trace_failed(report->names)) {
        report_fail(report);
        return;
    }
    for (uint32_t i = 0; i < stats->row_count; i++) {
        const struct stats_row *row = &stats->rows[i];
        report->kinds.list[i] =
            (struct kind){.name = trace_add_name(report->names, row->name.text, row->name.bytes),
                          .item = row->item,
                          .category = row->category};
    }
    report->kinds.count = stats->row_count;
}

struct page_writing {
    struct report *report;
    struct out *out;
    bool begun, written;
};

/* While the critical path and its names are known; NULL: there is none. An output that failed is
 * reported by who closes it; a reader that went away is no failure. */
static void write_page(const struct critical_report_view *critical, void *context)
{
    struct page_writing *writing = context;
    writing->report->critical = critical;
    writing->begun = true;
    writing->written =
        page_frame(writing->out, report_write_data, writing->report,
                   (struct page_script){page_html, page_html_bytes, page_js, page_js_bytes}) ||
        out_failed(writing->out);
}

static enum exit_code report_end(struct trace_pass *pass)
{
    struct report *report = pass->state;
    if (!pass->trace && !report->names) {
        report_free(report);
        return EXIT_BAD_DATA;
    }
    report->trace = pass->trace ? pass->trace : report->names;
    if (pass->trace) {
        stats_set_run(&report->stats, trace_totals(pass->trace));
        stats_finish(&report->stats);
        slow_stacks_finish(&report->stats.slow, pass->trace);
        if (report->stats.slow.failed)
            report_fail(report);
    } else {
        stats_merge_finish(&report->stats);
        name_sums(report);
    }
    /* The longest first. */
    qsort(report->waits.longest, report->waits.count, sizeof *report->waits.longest, longer_first);
    findings_make(&report->findings, &report->stats,
                  filter_is_choice(&report->options->reading.filter),
                  &(struct findings_files){&report->options->reading, pass->inputs,
                                           report->stats.merged ? 0 : UINT64_MAX});
    if (!report->has_focus) {
        report->focus_first_ns = report->stats.first_ns;
        report->focus_last_ns = report->stats.last_ns;
    }
    if (report->findings.failed || report->stacks.failed)
        report_fail(report);
    enum exit_code code = EXIT_GOOD;
    struct page_writing writing = {report, &pass->out, false, false};
    if (!report->stats.merged && report->stats.spans <= CRITICAL_SPANS &&
        critical_find(&report->options->reading, pass->inputs, write_page, &writing) ==
            EXIT_PARTIAL)
        report_fail(report);
    if (!writing.begun)
        write_page(NULL, &writing);
    if (!writing.written || report->failed || report->waits.failed || report->stats.failed ||
        report->stats.inside.failed || report->stats.lines.failed ||
        report->stats.concurrency.levels == 0)
        code = EXIT_PARTIAL;
    report_free(report);
    return code;
}

/* ---- sums of many files ------------------------------------------------------------ */

static enum exit_code report_read_files(struct trace_pass *pass,
                                        const struct trace_sources *sources)
{
    struct report *report = pass->state;
    report->names = trace_new(&(struct trace_sink){0}, pass->origin_ns);
    if (!report->names)
        return message_bad_data("out of memory");
    return stats_files_read(pass, sources, report->options->cache, &report->stats);
}

static const struct trace_maker report_maker = {
    .clips = true, .stacks = TRACE_ALL_STACKS, .begin = report_begin, .end = report_end};
static const struct trace_maker report_files_maker = {
    .begin = report_begin, .read = report_read_files, .end = report_end};

enum exit_code report_files(const struct report_options *options, struct operands files)
{
    progress_allow(&options->reading.terminal);
    if (options->cache && !summary_cache_open(options->cache))
        return EXIT_BAD_DATA;
    bool sums = stats_files_wanted(&options->reading, files, options->cache);
    return trace_pass(sums ? &report_files_maker : &report_maker, options, &options->reading,
                      files);
}

/* ---- diff page ------------------------------------------------------------------------------- */
/* The data of the page: both sides, and the rows of the diff with their histograms. */

enum { PARTS = 200 };

/* How busy the workers of all processes were in each part of the run: a letter each. */
static void put_course(struct out *out, const struct stats *stats)
{
    struct node_sums sums;
    char letters[PARTS + 1] = "";
    if (!node_sums_make(&sums, stats)) {
        out_give_up(out, ENOMEM);
        return;
    }
    for (uint32_t part = 0; part < PARTS; part++) {
        double busy = 0;
        for (uint32_t i = 0; i < sums.count; i++)
            busy += node_share_at(stats, &sums.list[i], part, PARTS) * sums.list[i].workers;
        letters[part] = page_share_letter(stats->workers ? busy / stats->workers : 0);
    }
    node_sums_free(&sums);
    json_plain(out, "course", letters);
}

/* The figures are those of the first run. */
static void put_side(struct out *out, const struct diff_page *page, uint32_t first, uint32_t runs)
{
    const struct stats *stats = page->stats[first];
    out_text(out, first ? ",\n{" : "\n{");
    page_begin_list(out, "files");
    for (uint32_t i = 0; i < runs; i++) {
        out_text(out, i ? "," : "");
        json_string(out, page->files[first + i], strlen(page->files[first + i]));
    }
    page_end_list(out);
    put_course(out, stats);
    page_number(out, "extent_ns", stats_extent_ns(stats));
    page_number(out, "workers", stats->workers);
    page_number(out, "busy_ns", stats->worker_busy_ns);
    page_number(out, "lost", stats->lost_records);
    page_end(out, "spans", stats->spans);
}

static void diff_page_put_json(const void *context, struct out *out)
{
    const struct diff_page *page = context;
    const struct diff *diff = page->diff;
    out_text(out, "{");
    json_plain(out, "version", rbwp_version());
    page_number(out, "min_count", diff->min_count);
    page_begin_list(out, "sides");
    put_side(out, page, 0, diff->a_runs);
    put_side(out, page, diff->a_runs, diff->b_runs);
    page_end_list(out);
    json_open(out, "columns", '{');
    for (const struct result_column *column = diff_columns; column->unit != RESULT_END; column++)
        if (column->list)
            page_titles(out, column->key, column->list->columns, diff);
    out_text(out, "}");
    page_members(out, diff_columns, &(struct result_at){.all = diff, .row = diff}, 0);
    out_text(out, "}");
}

static bool diff_page_write_data(void *context, struct page_data *data)
{
    return page_frame_json(data, diff_page_put_json, context);
}

bool diff_page_write(struct out *out, const struct diff_page *page)
{
    struct diff_page own = *page;
    return page_frame(out, diff_page_write_data, &own,
                      (struct page_script){page_diff_html, page_diff_html_bytes, page_diff_js,
                                           page_diff_js_bytes});
}
