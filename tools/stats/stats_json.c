/* SPDX-License-Identifier: Apache-2.0 */
/* The sums as one JSON object. Times are integers in nanoseconds. */
#include "stats_forms.h"
#include "arg_list.h"
#include "json_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void comma(struct out *out, bool first)
{
    out_text(out, first ? "\n" : ",\n");
}

static void member(struct out *out, const char *key, uint64_t value)
{
    out_text(out, ",");
    json_u64(out, key, value);
}

static void fraction(struct out *out, const char *key, double value)
{
    out_text(out, ",");
    json_key(out, key);
    out_format(out, "%.6f", value);
}

static void text(struct out *out, const char *key, struct trace_text value)
{
    json_name(out, key, value.text ? value.text : "", value.bytes);
}

static void open_list(struct out *out, const char *key)
{
    out_text(out, ",\n");
    json_key(out, key);
    out_text(out, "[");
}

/* ---- sections ------------------------------------------------------------------------ */

static void head(struct out *out, const struct stats *stats)
{
    out_text(out, "{");
    json_u64(out, "spans", stats->spans);
    member(out, "cut", stats->cut);
    member(out, "links", stats->links);
    member(out, "samples", stats->samples);
    member(out, "table_rows", stats->table_rows);
    out_text(out, ",");
    json_i64(out, "first", stats->run_first_ns);
    out_text(out, ",");
    json_i64(out, "last", stats->run_last_ns);
    member(out, "extent", stats_extent_ns(stats));
    member(out, "workers", stats->workers);
    member(out, "worker_busy", stats->worker_busy_ns);
    member(out, "worker_waiting", stats->worker_waiting_ns);
    fraction(out, "worker_share", stats_share(stats, stats->worker_busy_ns));
    member(out, "lost_records", stats->lost_records);
    open_list(out, "processes");
    for (uint32_t i = 0; i < stats->process_count; i++) {
        comma(out, i == 0);
        out_text(out, "{");
        text(out, "name", stats->processes[i].name);
        out_text(out, ",");
        text(out, "source", stats->processes[i].source);
        member(out, "node", stats->processes[i].node);
        member(out, "empty_polls", stats->processes[i].empty_polls);
        out_text(out, "}");
    }
    out_text(out, "]");
}

static void row_object(struct out *out, const struct stats *stats, const struct stats_row *row)
{
    out_text(out, "{");
    json_plain(out, "category", trace_category_name[row->category]);
    member(out, "item", row->item);
    out_text(out, ",");
    text(out, "name", row->name);
    if (row->kind.bytes) {
        out_text(out, ",");
        text(out, "kind", row->kind);
    }
    member(out, "count", row->count);
    member(out, "unfinished", row->unfinished);
    member(out, "open", row->open);
    member(out, "open_time", row->open_ns);
    member(out, "total", row->total_ns);
    member(out, "self", stats_self_ns(row));
    fraction(out, "share", stats_share(stats, row->total_ns));
    member(out, "mean", stats_mean_ns(row));
    member(out, "min", row->count ? row->min_ns : 0);
    member(out, "p50", stats_quantile_ns(row, 500));
    member(out, "p90", stats_quantile_ns(row, 900));
    member(out, "p99", stats_quantile_ns(row, 990));
    member(out, "max", row->max_ns);
    out_text(out, "}");
}

static void rows(struct out *out, const struct stats *stats, const char *key,
                 enum stats_section section, enum stats_column by)
{
    uint32_t count = 0, *order = stats_rows_of(stats, section, by, &count);
    if (!order)
        out_give_up(out, ENOMEM);
    open_list(out, key);
    for (uint32_t i = 0; i < count; i++) {
        comma(out, i == 0);
        row_object(out, stats, &stats->rows[order[i]]);
    }
    out_text(out, "]");
    free(order);
}

/* Calls by what they noted; a row's name is the value. */
static void values(struct out *out, const struct stats *stats)
{
    const struct arg_sums *sums = &stats->args;
    out_text(out, ",\n\"arguments\":{");
    json_name(out, "key", sums->key, strlen(sums->key));
    member(out, "calls_without", sums->without);
    open_list(out, "values");
    for (uint32_t i = 0; i < sums->count; i++) {
        comma(out, i == 0);
        row_object(out, stats, &sums->list[i].row);
    }
    out_text(out, "]}");
}

/* Launch to start, and how sure the times are. */
static void launches_object(struct out *out, const struct launch_sums *sums)
{
    out_text(out, ",\"launch_latency\":{");
    json_u64(out, "count", sums->count);
    member(out, "mean", launch_sums_mean_ns(sums));
    member(out, "min", sums->min_ns);
    member(out, "p50", launch_sums_quantile_ns(sums, 500));
    member(out, "p90", launch_sums_quantile_ns(sums, 900));
    member(out, "p99", launch_sums_quantile_ns(sums, 990));
    member(out, "max", sums->max_ns);
    member(out, "before_launch", sums->early);
    out_text(out, "}");
    member(out, "with_bounds", sums->bounded);
    member(out, "certain_busy", sums->certain.busy_ns);
}

static void real(struct out *out, const char *key, double value)
{
    out_text(out, ",");
    json_key(out, key);
    if (value - value == 0)
        out_format(out, "%.17g", value);
    else
        out_text(out, "null"); /* infinite, or no number */
}

static void counters(struct out *out, const struct stats *stats)
{
    bool first = true;
    open_list(out, "counters");
    for (uint32_t i = 0; i < stats->track_count; i++) {
        const struct stats_track *track = &stats->tracks[i];
        const struct counter_sums *sums = track->counter;
        if (!sums)
            continue;
        comma(out, first);
        first = false;
        out_text(out, "{");
        text(out, "name", track->track.name);
        out_text(out, ",");
        text(out, "process", stats->processes[track->track.process].name);
        out_text(out, ",");
        text(out, "unit", track->track.unit);
        member(out, "samples", sums->count);
        real(out, "min", sums->min);
        real(out, "mean", counter_sums_mean(sums));
        real(out, "max", sums->max);
        real(out, "last", sums->last);
        out_text(out, ",");
        json_i64(out, "first_time", sums->first_ns);
        out_text(out, ",");
        json_i64(out, "last_time", sums->last_ns);
        out_text(out, "}");
    }
    out_text(out, "]");
}

static void track_object(struct out *out, const struct stats *stats,
                         const struct stats_track *track)
{
    uint64_t extent_ns = stats_extent_ns(stats), busy_ns = track->busy.busy_ns;
    out_text(out, "{");
    text(out, "name", track->track.name);
    out_text(out, ",");
    text(out, "process", stats->processes[track->track.process].name);
    member(out, "id", track->track.id);
    member(out, "os_id", track->track.os_id);
    member(out, "spans", track->spans);
    member(out, "unfinished", track->unfinished);
    member(out, "outermost", track->calls);
    member(out, "busy", busy_ns);
    member(out, "waiting", track->waiting_ns);
    member(out, "idle", stats_idle_ns(stats, track));
    fraction(out, "busy_share", extent_ns ? (double)busy_ns / (double)extent_ns : 0);
    member(out, "gaps", track->busy.gaps);
    member(out, "longest_gap", track->busy.longest_gap_ns);
    out_text(out, ",");
    json_i64(out, "longest_gap_at", track->busy.longest_gap_at_ns);
    member(out, "lost_records", track->lost_records);
    if (track->launches)
        launches_object(out, track->launches);
    out_text(out, "}");
}

static bool is_other(const struct stats_track *track)
{
    return !stats_is_worker(track) && !stats_is_gpu(track) && track->calls;
}

static void tracks(struct out *out, const struct stats *stats, const char *key,
                   bool (*belongs)(const struct stats_track *track))
{
    bool first = true;
    open_list(out, key);
    for (uint32_t i = 0; i < stats->track_count; i++) {
        if (!belongs(&stats->tracks[i]))
            continue;
        comma(out, first);
        track_object(out, stats, &stats->tracks[i]);
        first = false;
    }
    out_text(out, "]");
}

static void message_time(struct out *out, const char *key, const struct message_sum *sum,
                         const struct message_time *time)
{
    out_text(out, ",");
    json_key(out, key);
    out_text(out, "{");
    json_u64(out, "total", time->total_ns);
    member(out, "mean", sum->count ? time->total_ns / sum->count : 0);
    member(out, "p50", message_time_quantile_ns(time, 500));
    member(out, "p99", message_time_quantile_ns(time, 990));
    member(out, "max", time->max_ns);
    out_text(out, "}");
}

static void messages(struct out *out, const struct message_sums *sums)
{
    open_list(out, "messages");
    for (uint32_t i = 0; i < sums->count; i++) {
        const struct message_sum *sum = &sums->list[i];
        comma(out, i == 0);
        out_text(out, "{");
        text(out, "handler", sum->handler);
        member(out, "count", sum->count);
        member(out, "bytes", sum->bytes);
        member(out, "early", sum->early);
        message_time(out, "network", sum, &sum->network);
        message_time(out, "queue", sum, &sum->queue);
        message_time(out, "handling", sum, &sum->handling);
        out_text(out, "}");
    }
    out_text(out, "]");
}

static void concurrency(struct out *out, const struct stats *stats)
{
    const struct concurrency_result *result = &stats->concurrency;
    out_text(out, ",\n\"concurrency\":{");
    json_key(out, stats->merged ? "busy_workers_of_a_node" : "busy_workers");
    out_text(out, "[");
    for (uint32_t i = 0; i < result->levels; i++) {
        out_text(out, i ? "," : "");
        out_u64(out, result->level_ns[i]);
    }
    out_text(out, "],");
    json_i64(out, "first", result->first_ns);
    member(out, "step", (uint64_t)result->step_ns);
    out_text(out, ",\"busy\":[");
    for (int i = 0; i < CONCURRENCY_STEPS; i++) {
        out_text(out, i ? "," : "");
        out_u64(out, result->step_busy_ns[i]);
    }
    out_text(out, "]}");
}

/* ---- inside kernels -------------------------------------------------------------------- */

static void group_object(struct out *out, const struct inside_group *group)
{
    out_text(out, "{");
    text(out, "group", group->name);
    member(out, "spans", group->spans);
    member(out, "instants", group->instants);
    member(out, "unended", group->unended);
    member(out, "lanes", group->lanes);
    member(out, "time", group->time_ns);
    member(out, "busy", group->busy_ns);
    member(out, "waiting", group->waiting_ns);
    fraction(out, "busy_share", inside_share(group, group->busy_ns));
    fraction(out, "waiting_share", inside_share(group, group->waiting_ns));
    out_text(out, "}");
}

static void overlap_object(struct out *out, const struct inside_kernel *kernel, uint32_t a,
                           uint32_t b)
{
    out_text(out, "{\"groups\":[");
    json_string(out, kernel->groups[a].name.text, kernel->groups[a].name.bytes);
    out_text(out, ",");
    json_string(out, kernel->groups[b].name.text, kernel->groups[b].name.bytes);
    out_text(out, "]");
    member(out, "both", kernel->both_ns[inside_pair(a, b)]);
    fraction(out, "share", inside_overlap(kernel, a, b));
    out_text(out, "}");
}

static void kernel_object(struct out *out, const struct inside_kernel *kernel)
{
    out_text(out, "{");
    text(out, "kernel", kernel->name);
    member(out, "launches", kernel->launches);
    member(out, "blocks", kernel->blocks);
    member(out, "time", kernel->time_ns);
    open_list(out, "groups");
    for (uint32_t i = 0; i < kernel->group_count; i++) {
        comma(out, i == 0);
        group_object(out, &kernel->groups[i]);
    }
    out_text(out, "]");
    open_list(out, "overlaps");
    for (uint32_t b = 1; b < kernel->group_count; b++)
        for (uint32_t a = 0; a < b; a++) {
            comma(out, b == 1);
            overlap_object(out, kernel, a, b);
        }
    out_text(out, "]}");
}

static void inside(struct out *out, const struct inside_kernels *inside)
{
    open_list(out, "inside_kernels");
    for (uint32_t i = 0; i < inside->kernel_count; i++) {
        comma(out, i == 0);
        kernel_object(out, &inside->kernels[i]);
    }
    out_text(out, "]");
}

/* ---- lines in kernels -------------------------------------------------------------------- */

static void line_object(struct out *out, const struct kernel_sums *kernel,
                        const struct kernel_line *line)
{
    out_text(out, "{");
    text(out, "place", line->place);
    out_text(out, ",");
    text(out, "file", line->file);
    member(out, "line", line->line);
    member(out, "count", line->count);
    member(out, "cycles", line->cycles);
    fraction(out, "share", kernel->cycles ? (double)line->cycles / (double)kernel->cycles : 0);
    member(out, "p50", line->p50);
    member(out, "p99", line->p99);
    member(out, "max", line->most);
    fraction(out, "spread", line->spread);
    out_text(out, "}");
}

static void probe_object(struct out *out, const struct kernel_lines *lines,
                         const struct kernel_probe *probe)
{
    out_text(out, "{");
    text(out, "place", lines->lines[probe->line].place);
    member(out, "probe", probe->id);
    member(out, "count", probe->count);
    member(out, "cycles", probe->cycles);
    out_text(out, "}");
}

static void lines_object(struct out *out, const struct kernel_lines *lines,
                         const struct kernel_sums *kernel)
{
    out_text(out, "{");
    text(out, "kernel", kernel->name);
    member(out, "launches", kernel->launches);
    member(out, "lanes", kernel->lanes);
    member(out, "records", kernel->records);
    member(out, "cycles", kernel->cycles);
    member(out, "recorded_ns", kernel->recorded_ns);
    member(out, "between_ns", kernel->between_ns);
    open_list(out, "lines");
    for (uint32_t i = 0; i < kernel->line_count; i++) {
        comma(out, i == 0);
        line_object(out, kernel, &lines->lines[kernel->first_line + i]);
    }
    out_text(out, "]");
    open_list(out, "probes");
    for (uint32_t i = 0; i < kernel->probe_count; i++) {
        comma(out, i == 0);
        probe_object(out, lines, &lines->probes[kernel->first_probe + i]);
    }
    out_text(out, "]");
    open_list(out, "edges");
    for (uint32_t i = 0; i < kernel->edge_count; i++) {
        const struct kernel_edge *edge = &lines->edges[kernel->first_edge + i];
        comma(out, i == 0);
        out_text(out, "{");
        json_u64(out, "from", edge->from);
        member(out, "to", edge->to);
        member(out, "count", edge->count);
        out_text(out, "}");
    }
    out_text(out, "]}");
}

static void kernel_lines(struct out *out, const struct kernel_lines *lines)
{
    open_list(out, "kernel_lines");
    for (uint32_t i = 0; i < lines->kernel_count; i++) {
        comma(out, i == 0);
        lines_object(out, lines, &lines->kernels[i]);
    }
    out_text(out, "]");
}

static bool is_plain_number(struct trace_text value)
{
    static const char allowed[] = "0123456789+-.eE";
    uint32_t good = 0;
    while (good < value.bytes && memchr(allowed, value.text[good], sizeof allowed - 1))
        good++;
    return good == value.bytes && good > 0;
}

/* What a call was about. */
static void arguments_of(struct out *out, const struct stats_call *call)
{
    struct trace_text left = call->args;
    struct arg_list_item item;
    bool first = true;
    if (left.bytes == 0)
        return;
    out_text(out, ",\"args\":{");
    for (; arg_list_next(&left, &item); first = false) {
        out_text(out, first ? "" : ",");
        json_string(out, item.key.text, item.key.bytes);
        out_text(out, ":");
        if (!item.quoted && is_plain_number(item.value))
            out_bytes(out, item.value.text, item.value.bytes);
        else
            json_string(out, item.value.text, item.value.bytes);
    }
    out_text(out, "}");
}

static void calls(struct out *out, const struct stats *stats, const char *key,
                  const struct stats_call *list, uint32_t count)
{
    open_list(out, key);
    for (uint32_t i = 0; i < count; i++) {
        const struct stats_call *call = &list[i];
        const struct stats_row *row = &stats->rows[call->row];
        comma(out, i == 0);
        out_text(out, "{");
        json_i64(out, "start", call->start_ns);
        member(out, "duration", call->duration_ns);
        out_text(out, ",");
        json_plain(out, "category", trace_category_name[row->category]);
        member(out, "item", row->item);
        out_text(out, ",");
        text(out, "name", row->name);
        out_text(out, ",");
        text(out, "thread", stats_thread_of(stats, call)->track.name);
        member(out, "thread_id", stats_thread_of(stats, call)->track.id);
        arguments_of(out, call);
        out_text(out, "}");
    }
    out_text(out, "]");
}

static void losses(struct out *out, const struct stats *stats)
{
    open_list(out, "losses");
    for (uint32_t i = 0; i < stats->loss_count; i++) {
        const struct stats_loss *loss = &stats->losses[i];
        comma(out, i == 0);
        out_text(out, "{");
        text(out, "cause", loss->cause);
        member(out, "records", loss->refused ? 0 : loss->count);
        if (loss->refused)
            member(out, "calls", loss->count);
        if (loss->bytes)
            member(out, "bytes", loss->bytes);
        if (loss->track < stats->track_count)
            member(out, "thread_id", stats->tracks[loss->track].track.id);
        out_text(out, ",");
        json_i64(out, "first", loss->first_ns);
        out_text(out, ",");
        json_i64(out, "last", loss->last_ns);
        out_text(out, "}");
    }
    out_text(out, "]");
}

static void findings(struct out *out, const struct stats *stats, const struct findings *all)
{
    open_list(out, "findings");
    for (uint32_t i = 0; i < all->count; i++) {
        const struct finding *finding = &all->list[i];
        comma(out, i == 0);
        out_text(out, "{");
        json_plain(out, "what", finding_name[finding->what]);
        out_text(out, ",");
        json_name(out, "text", finding->text, finding->bytes);
        if (finding->placed) {
            out_text(out, ",");
            json_i64(out, "from", finding->from_ns);
            out_text(out, ",");
            json_i64(out, "to", finding->to_ns);
        }
        if (finding->track != TRACE_NONE)
            member(out, "thread_id", stats->tracks[finding->track].track.id);
        if (finding->row != TRACE_NONE) {
            out_text(out, ",");
            text(out, "name", stats->rows[finding->row].name);
        }
        fraction(out, "weight", finding->weight);
        out_text(out, "}");
    }
    out_text(out, "]");
}

void stats_json(struct out *out, const struct stats *stats, const struct stats_form *form)
{
    unsigned sections = form->sections;
    head(out, stats);
    calls(out, stats, "open", stats->open, stats->open_count);
    if (sections & SECTION_FINDINGS)
        findings(out, stats, form->findings);
    if (sections & SECTION_ARGUMENTS)
        values(out, stats);
    if (sections & SECTION_WORK_ITEMS) {
        rows(out, stats, "work_items", SECTION_WORK_ITEMS, form->order);
        rows(out, stats, "queued", SECTION_QUEUED, form->order);
    }
    if (sections & SECTION_SUB_ITEMS)
        rows(out, stats, "sub_items", SECTION_SUB_ITEMS, form->order);
    if (sections & SECTION_GPU_WORK)
        rows(out, stats, "gpu_work", SECTION_GPU_WORK, form->order);
    if (sections & SECTION_NODES)
        stats_nodes_json(out, stats);
    if (sections & SECTION_THREADS)
        tracks(out, stats, "threads", stats_is_worker);
    if (sections & SECTION_GPUS)
        tracks(out, stats, "gpus", stats_is_gpu);
    if (sections & SECTION_INSIDE) {
        inside(out, &stats->inside);
        kernel_lines(out, &stats->lines);
    }
    if (sections & SECTION_RANGES) {
        rows(out, stats, "ranges", SECTION_RANGES, form->order);
        rows(out, stats, "gpu_ranges", SECTION_GPU_RANGES, form->order);
        tracks(out, stats, "other_tracks", is_other);
    }
    if (sections & SECTION_COUNTERS)
        counters(out, stats);
    if (sections & SECTION_MESSAGES)
        messages(out, &stats->messages);
    if (sections & SECTION_CONCURRENCY)
        concurrency(out, stats);
    if (sections & SECTION_LONGEST)
        calls(out, stats, "longest", stats->longest, stats->longest_count);
    losses(out, stats);
    out_text(out, "}\n");
}
