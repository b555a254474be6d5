/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page's tables as JSON.
 *
 * Times are nanoseconds from the first start of a span of a worker.
 */
#include "json_text.h"
#include "page_json.h"
#include "report_parts.h"
#include "stats_tables.h"
#include "trace_category.h"

#include <errno.h>
#include <inttypes.h>

enum { LAUNCHES_SHOWN = 4096, CRITICAL_SHOWN = 200, NODE_PARTS = 200 };

struct writer {
    const struct report *report;
    const struct report_page *page;
    struct out *out;
};

/* Times of a loss may lie before the first span. */
static void json_put_time(const struct writer *writer, const char *key, int64_t time_ns)
{
    int64_t since_ns = time_step_ns(writer->page->taken.first_ns, time_ns);
    json_key(writer->out, key);
    out_i64(writer->out, since_ns);
}

/* ---- processes, tracks, rows ----------------------------------------------------- */

static void put_members(const struct writer *writer, const struct result_column *columns,
                        const void *row)
{
    page_members(writer->out, columns, &(struct result_at){&writer->report->stats, row, NULL, 0},
                 writer->page->taken.first_ns);
}

#define ARRAY(array, count) result_array(array, sizeof *(array), count)

/* Of each row its columns, and what the page alone has of it. more: NULL nothing. */
static void put_list(const struct writer *writer, const char *key,
                     const struct result_column *columns, struct result_rows rows,
                     void (*more)(const struct writer *writer, const void *row))
{
    page_begin_list(writer->out, key);
    for (uint32_t i = 0; i < rows.count; i++) {
        const void *row = rows.first + i * rows.stride;
        out_text(writer->out, i ? ",\n{" : "\n{");
        put_members(writer, columns, row);
        if (more)
            more(writer, row);
        out_text(writer->out, "}");
    }
    page_end_list(writer->out);
}

static void put_index(const struct writer *writer, const char *key, uint32_t index)
{
    if (index != TRACE_NONE)
        page_number(writer->out, key, index);
}

static void put_process(const struct writer *writer, const void *row)
{
    const struct report *report = writer->report;
    ptrdiff_t number = (const struct stats_process *)row - report->stats.processes;
    const struct trace_process *process = trace_process_of(report->trace, (uint32_t)number);
    page_text(writer->out, "host", process->host);
    page_text(writer->out, "command", process->command);
    page_number(writer->out, "os_id", process->os_id);
}

/* "line":{"from":NS,"width":NS,"cells":[[PLACE,LEAST,MEAN,GREATEST,LAST],...]}, of those with
 * samples. */
static void put_line(const struct writer *writer, const struct counter_line *line)
{
    struct out *out = writer->out;
    bool any = false;
    json_key(out, "line");
    out_text(out, "{");
    json_put_time(writer, "from", line->first_ns);
    page_number(out, "width", line->cell_ns);
    page_begin_list(out, "cells");
    for (unsigned i = 0; i < COUNTER_CELLS; i++) {
        const struct counter_cell *cell = &line->cells[i];
        if (cell->count == 0)
            continue;
        out_format(out, "%s[%u,%.6g,%.6g,%.6g,%.6g]", any ? "," : "", i, cell->least, cell->mean,
                   cell->greatest, cell->last);
        any = true;
    }
    out_text(out, "]},");
}

static void put_counter(const struct writer *writer, const struct stats_track *track)
{
    struct out *out = writer->out;
    if (!track->counter)
        return;
    const struct counter_line *line =
        counter_lines_of(&writer->report->counters, track->track.number);
    if (line)
        put_line(writer, line);
    page_text(out, "unit", track->track.unit);
    json_open(out, "counter", '{');
    put_members(writer, stats_counter_columns, track->counter);
    out_text(out, "}");
}

static bool is_below_gpu(const struct stats *stats, const struct stats_track *track)
{
    while (track->track.parent < track->track.number && !stats_is_worker(track)) {
        track = &stats->tracks[track->track.parent];
        if (track->track.kind == TRACE_GPU)
            return true;
    }
    return false;
}

/* How long a worker's work had waited, for one. */
static bool below_worker(const struct stats *stats, const struct stats_track *track)
{
    return track->track.parent < track->track.number &&
           stats_is_worker(&stats->tracks[track->track.parent]);
}

/* There may be very many: no more than the page needs. */
static void put_inside_track(const struct writer *writer, const struct stats_track *track)
{
    struct out *out = writer->out;
    out_text(out, track->track.number ? ",\n{" : "\n{");
    page_text(out, "name", track->track.name);
    json_plain(out, "kind", trace_track_kind_name[track->track.kind]);
    page_number(out, "parent", track->track.parent);
    page_number(out, "spans", track->spans);
    page_end(out, "owner", track->track.process);
}

static void put_track(const struct writer *writer, uint32_t number)
{
    const struct stats_track *track = &writer->report->stats.tracks[number];
    struct out *out = writer->out;
    if ((track->track.kind == TRACE_LANE || track->track.kind == TRACE_SM) &&
        is_below_gpu(&writer->report->stats, track)) {
        put_inside_track(writer, track);
        return;
    }
    out_text(out, number ? ",\n{" : "\n{");
    put_members(writer, stats_track_columns, track);
    json_plain(out, "kind", trace_track_kind_name[track->track.kind]);
    page_histogram(out, "waits", waits_of(&writer->report->waits, number));
    put_counter(writer, track);
    if (below_worker(&writer->report->stats, track))
        page_number(out, "of", track->track.parent);
    page_end(out, "owner", track->track.process);
}

static void put_tracks(const struct writer *writer)
{
    page_begin_list(writer->out, "tracks");
    for (uint32_t i = 0; i < writer->report->stats.track_count; i++)
        put_track(writer, i);
    page_end_list(writer->out);
}

/* [track, lane, depth, spans] */
static void json_put_rows(const struct writer *writer)
{
    page_begin_list(writer->out, "rows");
    for (uint32_t i = 0; i < writer->report->timeline.row_count; i++) {
        const struct timeline_row *row = &writer->report->timeline.rows[i];
        page_numbers(writer->out, i > 0,
                     (uint64_t[]){row->track, row->lane, row->depth, row->spans}, 4);
    }
    page_end_list(writer->out);
}

/* ---- kinds ----------------------------------------------------------------------- */

enum { MARKS = TRACE_LIFE_RUNS + 1 };

static bool is_row_of(const struct stats_row *row, const struct kind *kind, struct trace_text name)
{
    return row->category == kind->category && row->item == kind->item &&
           row->name.bytes == name.bytes && memcmp(row->name.text, name.text, name.bytes) == 0;
}

/* Both number what they see as it comes, so it stands at the same place but for the row that takes
 * what is too much, and for marks of processes, which are no rows. NULL: it is in that one, or
 * none. */
static const struct stats_row *row_of(const struct report *report, uint32_t number)
{
    const struct kind *kind = &report->kinds.list[number];
    struct trace_text name = trace_name_of(report->trace, kind->name);
    for (uint32_t i = number > MARKS ? number - MARKS : 0;
         i < report->stats.row_count && i <= number + 1; i++)
        if (is_row_of(&report->stats.rows[i], kind, name))
            return &report->stats.rows[i];
    return NULL;
}

static void put_kind(const struct writer *writer, uint32_t number)
{
    const struct kind *kind = &writer->report->kinds.list[number];
    const struct stats_row *row = row_of(writer->report, number);
    const struct stats_row none = {.category = kind->category,
                                   .item = kind->item,
                                   .name = trace_name_of(writer->report->trace, kind->name)};
    struct out *out = writer->out;
    row = row ? row : &none;
    out_text(out, number ? ",\n{" : "\n{");
    put_members(writer, stats_row_columns, row);
    page_number(out, "hollow", kind->hollow);
    page_number(out, "hollow_ns", kind->hollow_ns);
    json_put_time(writer, "longest_at", kind->longest_start_ns);
    page_end(out, "waits",
             kind->waits || (kind->category == TRACE_RANGE && inside_is_wait(row->name)));
}

static void put_kinds(const struct writer *writer)
{
    page_begin_list(writer->out, "kinds");
    for (uint32_t i = 0; i < writer->report->kinds.count; i++)
        put_kind(writer, i);
    page_end_list(writer->out);
}

/* ---- lists ----------------------------------------------------------------------- */

/* [key, value], ... */
static void put_arguments(struct out *out, struct trace_text list)
{
    struct arg_list_item item;
    for (bool more = false; arg_list_next(&list, &item); more = true) {
        out_text(out, more ? ",[" : "[");
        json_string(out, item.key.text, item.key.bytes);
        page_comma(out);
        json_string(out, item.value.text, item.value.bytes);
        out_text(out, "]");
    }
}

static void put_call(const struct writer *writer, const void *row)
{
    const struct stats_call *call = row;
    page_number(writer->out, "track", call->track);
    page_number(writer->out, "row", call->row);
    page_number(writer->out, "hung", stats_is_hung(&writer->report->stats, call));
    json_open(writer->out, "noted", '[');
    put_arguments(writer->out, call->args);
    out_text(writer->out, "]");
}

static void put_calls(const struct writer *writer, const char *key, const struct stats_call *calls,
                      uint32_t count)
{
    put_list(writer, key, stats_call_columns, ARRAY(calls, count), put_call);
}

/* Of those that still ran, only the ones that are news. */
static void put_open(const struct writer *writer)
{
    const struct stats *stats = &writer->report->stats;
    uint32_t count = 0;
    while (count < stats->open_count && stats->open[count].duration_ns >= STATS_NEWS_NS)
        count++;
    put_calls(writer, "open", stats->open, count);
}

/* [track, start, duration] */
static void put_waits(const struct writer *writer)
{
    const struct waits *waits = &writer->report->waits;
    page_begin_list(writer->out, "waits");
    for (uint32_t i = 0; i < waits->count; i++) {
        const struct wait *wait = &waits->longest[i];
        uint64_t since_ns = (uint64_t)time_step_ns(writer->page->taken.first_ns, wait->start_ns);
        page_numbers(writer->out, i > 0, (uint64_t[]){wait->track, since_ns, wait->duration_ns}, 3);
    }
    page_end_list(writer->out);
}

/* ---- inside kernels -------------------------------------------------------------- */

/* [GPU, kernel, start, duration, correlation], the first ones in time of each GPU. */
static void put_launched(const struct writer *writer)
{
    const struct inside_kernels *inside = &writer->report->stats.inside;
    uint32_t count = 0;
    page_begin_list(writer->out, "inside_launches");
    for (uint32_t i = 0; i < inside->work_count && count < LAUNCHES_SHOWN; i++) {
        const struct inside_work *work = &inside->works[i];
        if (work->kernel == TRACE_NONE)
            continue;
        out_format(writer->out, "%s[%" PRIu32 ",%" PRIu32 ",%" PRId64 ",", count++ ? ",\n" : "",
                   work->gpu, work->kernel,
                   time_step_ns(writer->page->taken.first_ns, work->start_ns));
        page_exact(writer->out, (uint64_t)time_step_ns(work->start_ns, work->stop_ns));
        page_comma(writer->out);
        page_exact(writer->out, work->correlation);
        out_text(writer->out, "]");
    }
    page_end_list(writer->out);
}

/* Where it is to be looked at. */
static void put_finding(const struct writer *writer, const void *row)
{
    put_index(writer, "track", ((const struct finding *)row)->track);
    put_index(writer, "row", ((const struct finding *)row)->row);
}

static void put_critical(const struct writer *writer)
{
    const struct critical_report_view *view = writer->report->critical;
    const struct result_rows rows = critical_shares(view);
    page_begin_list(writer->out, "critical");
    for (uint32_t i = 0; i < rows.count && i < CRITICAL_SHOWN; i++) {
        out_text(writer->out, i ? ",\n{" : "\n{");
        page_members(writer->out, critical_shares_table.columns,
                     &(struct result_at){.all = view, .row = rows.first + i * rows.stride},
                     writer->page->taken.first_ns);
        out_text(writer->out, "}");
    }
    page_end_list(writer->out);
}

/* [parent, kind, spans, time in it itself]: place 0 is none, and parents come first. */
static void put_stacks(const struct writer *writer)
{
    const struct stack_tree *tree = &writer->report->stacks;
    page_begin_list(writer->out, "stacks");
    for (uint32_t i = 1; i < tree->count; i++) {
        const struct stack_node *node = &tree->nodes[i];
        uint64_t self_ns = (int64_t)node->self_ns > 0 ? node->self_ns : 0;
        page_numbers(writer->out, i > 1,
                     (uint64_t[]){node->parent, node->what, node->count, self_ns}, 4);
    }
    page_end_list(writer->out);
}

static void put_loss(const struct writer *writer, const void *row)
{
    const struct stats_loss *loss = row;
    put_index(writer, "track", loss->track);
    page_number(writer->out, "timed", loss->first_ns || loss->last_ns);
}

/* [key, value] */
static void json_put_facts(const struct writer *writer)
{
    struct out *out = writer->out;
    page_begin_list(out, "facts");
    for (uint32_t i = 0; i < writer->report->fact_count; i++) {
        const struct report_fact *fact = &writer->report->facts[i];
        if (!fact->key || !fact->value)
            continue;
        out_text(out, i ? ",\n[" : "\n[");
        json_string(out, fact->key, strlen(fact->key));
        page_comma(out);
        json_string(out, fact->value, strlen(fact->value));
        out_text(out, "]");
    }
    page_end_list(out);
}

static void put_concurrency(const struct writer *writer)
{
    const struct concurrency_result *result = &writer->report->stats.concurrency;
    struct out *out = writer->out;
    page_begin_list(out, "concurrency_ns");
    for (uint32_t i = 0; i < result->levels; i++) {
        out_text(out, i ? "," : "");
        page_exact(out, result->level_ns[i]);
    }
    page_end_list(out);
}

static void put_detail(const struct writer *writer)
{
    struct out *out = writer->out;
    char windows[DETAIL_WINDOWS + 1];
    for (int i = 0; i < DETAIL_WINDOWS; i++)
        windows[i] = writer->page->taken.windows[i] ? '1' : '0';
    windows[DETAIL_WINDOWS] = '\0';
    json_key(out, "detail");
    out_text(out, "{");
    json_plain(out, "windows", windows);
    json_bool(out, "all", writer->page->taken.all);
    page_number(out, "links", writer->page->taken.links);
    page_end(out, "spans", writer->page->taken.spans);
    out_text(out, ",\n");
}

/* How busy it was in each part of the run: a letter each. */
static void put_node(const struct writer *writer, const void *row)
{
    char shares[NODE_PARTS + 1] = "";
    for (uint32_t part = 0; part < NODE_PARTS; part++)
        shares[part] =
            page_share_letter(node_share_at(&writer->report->stats, row, part, NODE_PARTS));
    json_plain(writer->out, "shares", shares);
    page_number(writer->out, "owner", ((const struct node_sum *)row)->process);
}

static void put_nodes(const struct writer *writer)
{
    struct node_sums sums;
    if (!node_sums_make(&sums, &writer->report->stats))
        out_give_up(writer->out, ENOMEM);
    put_list(writer, "nodes", stats_nodes_table.columns, ARRAY(sums.list, sums.count), put_node);
    node_sums_free(&sums);
}

/* Of a family the life of its processes is seen from begin to end. */
static int64_t earlier(const struct report *report, int64_t first_ns)
{
    return report->has_life && report->life_first_ns < first_ns ? report->life_first_ns : first_ns;
}

static int64_t later(const struct report *report, int64_t last_ns)
{
    return report->has_life && report->life_last_ns > last_ns ? report->life_last_ns : last_ns;
}

static void put_columns(struct out *out, const struct stats *stats)
{
    json_open(out, "columns", '{');
    page_titles(out, "kinds", stats_row_columns, stats);
    page_titles(out, "tracks", stats_track_columns, stats);
    page_titles(out, "counters", stats_counters_table.columns, stats);
    page_titles(out, "nodes", stats_nodes_table.columns, stats);
    page_titles(out, "groups", stats_groups_table.columns, stats);
    page_titles(out, "calls", stats_call_columns, stats);
    page_titles(out, "lines", stats_lines_table.columns, stats);
    page_titles(out, "losses", stats_loss_columns, stats);
    page_titles(out, "critical", critical_shares_table.columns, stats);
    out_text(out, "},\n");
}

void report_json(const struct report *report, const struct report_page *page, struct out *out)
{
    const struct writer writer = {report, page, out};
    const struct stats *stats = &report->stats;
    out_text(out, "{");
    json_plain(out, "version", rbwp_version());
    json_key(out, "origin_ns");
    out_format(out, "\"%lld\",", (long long)page->taken.first_ns);
    /* What the page counts from, as people read times: since the trace's zero. */
    int64_t zero_ns = trace_origin_ns(report->trace);
    int64_t since_ns = zero_ns ? time_step_ns(zero_ns, page->taken.first_ns) : 0;
    json_key(out, "since_zero_ns");
    out_format(out, "\"%" PRId64 "\",", since_ns);
    page_number(out, "extent_ns", stats_extent_ns(stats));
    page_number(out, "spans", stats->spans);
    page_number(out, "links", stats->links);
    page_number(out, "lost", stats->lost_records);
    page_number(out, "open_spans", stats->open_spans);
    page_number(out, "hidden", report->timeline.hidden);
    page_number(out, "args_left_out", report->args.dropped);
    page_number(out, "workers", stats->workers);
    page_number(out, "worker_busy_ns", stats->worker_busy_ns);
    page_number(out, "focus_ns", (uint64_t)time_step_ns(page->taken.first_ns, page->taken.last_ns));
    out_format(out, ",\"first\":%.0f,\"last\":%.0f",
               time_step_about(page->taken.first_ns, earlier(report, stats->first_ns)),
               time_step_about(page->taken.first_ns, later(report, stats->last_ns)));
    put_detail(&writer);
    json_key(out, "merged");
    out_text(out, stats->merged ? "true,\n" : "false,\n");
    put_columns(out, stats);
    put_list(&writer, "processes", stats_process_columns,
             ARRAY(stats->processes, stats->process_count), put_process);
    put_nodes(&writer);
    put_tracks(&writer);
    json_put_rows(&writer);
    put_kinds(&writer);
    put_open(&writer);
    put_calls(&writer, "longest", stats->longest, stats->longest_count);
    put_waits(&writer);
    put_list(&writer, "inside", stats_kernels_table.columns,
             ARRAY(stats->inside.kernels, stats->inside.kernel_count), NULL);
    put_launched(&writer);
    report_lines_json(report, out);
    put_list(&writer, "findings", stats_findings_table.columns,
             ARRAY(report->findings.list, report->findings.count), put_finding);
    if (report->critical)
        put_critical(&writer);
    put_stacks(&writer);
    if (stats->slow.count)
        put_list(&writer, "slow_stacks", slow_stacks_table.columns,
                 ARRAY(stats->slow.list, stats->slow.count), NULL);
    put_list(&writer, "losses", stats_loss_columns, ARRAY(stats->losses, stats->loss_count),
             put_loss);
    json_put_facts(&writer);
    put_concurrency(&writer);
    json_u64(out, "levels", page->levels);
    out_text(out, "}\n");
}
