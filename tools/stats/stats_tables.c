/* SPDX-License-Identifier: Apache-2.0 */
/* Columns stand in the order of JSON. What has no key is kept in caches, or merged, alone. */
#include "findings.h"
#include "json_text.h"
#include "stats_report.h"
#include "trace_category.h"
#include "stats_tables.h"

#include <string.h>

static uint64_t mean_of(uint64_t sum, uint64_t count)
{
    return count ? sum / count : 0;
}

static struct result_cell process_name(const struct stats *stats, uint32_t process)
{
    return result_bytes(stats->processes[process].name);
}

/* ---- whether threads ran ------------------------------------------------------------------ */

/* Columns of what is not there where nothing is known of it. */
#define CPU_PART(key, type, part, ...)                                                             \
    {                                                                                              \
        key, key, 10, RESULT_NS, __VA_ARGS__ RESULT_FIELD(type, cpu.part),                         \
            .there = stats_knows_cpu                                                               \
    }
#define CPU_REST(make)                                                                             \
    {                                                                                              \
        "not_known", "not known", 10, RESULT_NS, RESULT_MADE(make, 0), .there = stats_knows_cpu    \
    }

/* ---- spans of one kind ------------------------------------------------------------------- */

#define TABLES_ROW(field) RESULT_FIELD(struct stats_row, field)
enum { ROW_SELF, ROW_SHARE, ROW_MEAN, ROW_MIN };

RESULT_MAKES(row_unknown, stats_row,
             result_u64(row->total_ns -
                        (row->cpu.running_ns + row->cpu.runnable_ns + row->cpu.waiting_ns)))
RESULT_MAKES(row_quantile, stats_row, result_u64(stats_quantile_ns(row, (unsigned)what)))

/* Of a GPU's work people see no share that lies outside of the run. */
static struct result_cell row_made(const struct result_at *at, int what)
{
    const struct stats_row *row = at->row;
    if (what == ROW_SELF)
        return result_u64(stats_self_ns(row));
    if (what == ROW_MEAN)
        return result_u64(stats_mean_ns(row));
    if (what == ROW_MIN)
        return result_u64(row->count ? row->min_ns : 0);
    struct result_cell share = result_f64(stats_share(at->all, row->total_ns));
    share.hidden = row->category == TRACE_GPU_WORK && share.f64 > 1;
    return share;
}

const struct result_column stats_row_columns[] = {
    {"category", "kind", -8, RESULT_CHOICE, TABLES_ROW(category), .words = trace_category_name,
     .what = TRACE_CATEGORIES},
    {"item", "id", 6, RESULT_ID, TABLES_ROW(item)},
    {"name", "name", 0, RESULT_TEXT, TABLES_ROW(name)},
    {"kind", NULL, 0, RESULT_TEXT, TABLES_ROW(kind), .optional = true},
    {"count", "count", 12, RESULT_COUNT, RESULT_SUM, TABLES_ROW(count)},
    {"unfinished", NULL, 0, RESULT_COUNT, RESULT_SUM, TABLES_ROW(unfinished)},
    {"open", NULL, 0, RESULT_COUNT, RESULT_SUM, TABLES_ROW(open)},
    {"open_time", NULL, 0, RESULT_NS, RESULT_SUM, TABLES_ROW(open_ns)},
    {"total", "total", 10, RESULT_NS, RESULT_SUM, TABLES_ROW(total_ns)},
    {NULL, NULL, 0, RESULT_NS, RESULT_SUM, TABLES_ROW(nested_ns)},
    {"self", "self", 10, RESULT_NS, RESULT_MADE(row_made, ROW_SELF)},
    {"share", "share", 8, RESULT_SHARE, RESULT_MADE(row_made, ROW_SHARE)},
    {"mean", "mean", 10, RESULT_NS, RESULT_MADE(row_made, ROW_MEAN)},
    {"min", NULL, 0, RESULT_NS, RESULT_MADE(row_made, ROW_MIN)},
    {NULL, NULL, 0, RESULT_NS, RESULT_MIN, TABLES_ROW(min_ns)},
    {"p50", "p50", 9, RESULT_ROUGH_NS, RESULT_MADE(row_quantile, 500)},
    {"p90", "p90", 9, RESULT_ROUGH_NS, RESULT_MADE(row_quantile, 900)},
    {"p99", "p99", 9, RESULT_ROUGH_NS, RESULT_MADE(row_quantile, 990)},
    {"max", "max", 10, RESULT_NS, RESULT_MAX, TABLES_ROW(max_ns)},
    CPU_PART("running", struct stats_row, running_ns, RESULT_SUM, ),
    CPU_PART("runnable", struct stats_row, runnable_ns, RESULT_SUM, ),
    CPU_PART("waiting", struct stats_row, waiting_ns, RESULT_SUM, ),
    CPU_REST(row_unknown),
    {NULL, NULL, 0, RESULT_HISTOGRAM, RESULT_SUM, TABLES_ROW(durations)},
    {0}};

const char stats_row_titles[] =
    "count,total,running,runnable,waiting,not known,share,self,mean,p50,"
    "p90,p99,max,kind,id,name";

#define ROWS_LEAST_NEEDED "id,p90,kind,mean,self,p50,not known,runnable,p99,max,waiting,running"
#define ROWS(key, title)                                                                           \
    {                                                                                              \
        key, title, stats_row_columns, stats_row_titles, ROWS_LEAST_NEEDED, 0                      \
    }
const struct result_table stats_work_items_table = ROWS("work_items", "Work items");
const struct result_table stats_queued_table = ROWS("queued", "Queue delay of work items");
const struct result_table stats_sub_items_table = ROWS("sub_items", "Sub-items");
const struct result_table stats_gpu_work_table = ROWS("gpu_work", "GPU work");
const struct result_table stats_ranges_table = ROWS("ranges", "Ranges");
const struct result_table stats_gpu_ranges_table = ROWS("gpu_ranges", "Ranges on GPUs");

/* ---- calls by what they noted; a row's name is the value ---------------------------------- */

RESULT_MAKES(values_key, arg_sums, result_word(row->key))

const struct result_table stats_values_table = {
    "values", NULL, stats_row_columns, stats_row_titles, ROWS_LEAST_NEEDED, 100};

const struct result_column stats_values_columns[] = {
    {"key", NULL, 0, RESULT_TEXT, RESULT_MADE(values_key, 0)},
    {"calls_without", NULL, 0, RESULT_COUNT, RESULT_FIELD(struct arg_sums, without)},
    {"values", NULL, 0, RESULT_LIST, .list = &stats_values_table,
     RESULT_LIST_OF(struct arg_sums, list, count)},
    {0}};

/* ---- launches: to the start of the work, and how sure its times are ------------------------- */

#define TABLES_LAUNCH(field) RESULT_FIELD(struct launch_sums, field)

RESULT_MAKES(launch_mean, launch_sums, result_u64(launch_sums_mean_ns(row)))

RESULT_MAKES(launch_quantile, launch_sums, result_u64(launch_sums_quantile_ns(row, (unsigned)what)))

const struct result_column stats_launch_columns[] = {
    {"count", "count", 13, RESULT_COUNT, RESULT_SUM, TABLES_LAUNCH(count)},
    {"mean", "mean", 10, RESULT_NS, RESULT_MADE(launch_mean, 0)},
    {"min", NULL, 0, RESULT_NS, RESULT_MIN, TABLES_LAUNCH(min_ns)},
    {"p50", "p50", 9, RESULT_ROUGH_NS, RESULT_MADE(launch_quantile, 500)},
    {"p90", NULL, 0, RESULT_ROUGH_NS, RESULT_MADE(launch_quantile, 900)},
    {"p99", "p99", 9, RESULT_ROUGH_NS, RESULT_MADE(launch_quantile, 990)},
    {"max", "max", 10, RESULT_NS, RESULT_MAX, TABLES_LAUNCH(max_ns)},
    {"before_launch", NULL, 0, RESULT_COUNT, RESULT_SUM, TABLES_LAUNCH(early)},
    {NULL, NULL, 0, RESULT_NS, RESULT_SUM, TABLES_LAUNCH(total_ns)},
    {NULL, NULL, 0, RESULT_HISTOGRAM, RESULT_SUM, TABLES_LAUNCH(latencies)},
    {0}};

/* People see this only of tracks that are busy within bounds. */
RESULT_MAKES(certain_share, stats_track,
             row->launches->bounded && row->busy.busy_ns
                 ? result_share(row->launches->certain.busy_ns, row->busy.busy_ns)
                 : result_nothing())

#define BUSY(field) RESULT_FIELD(struct busy, field)
/* Beside what its owner shows. */
static const struct result_column busy_columns[] = {{NULL, NULL, 0, RESULT_BOOL, BUSY(any)},
                                                    {NULL, NULL, 0, RESULT_TIME, BUSY(first_ns)},
                                                    {NULL, NULL, 0, RESULT_TIME, BUSY(from_ns)},
                                                    {NULL, NULL, 0, RESULT_TIME, BUSY(until_ns)},
                                                    {0}};

static const struct result_column bound_columns[] = {
    {"with_bounds", NULL, 0, RESULT_COUNT, TABLES_LAUNCH(bounded)},
    {"certain_busy", "certain", 10, RESULT_NS, TABLES_LAUNCH(certain.busy_ns)},
    {NULL, NULL, 0, RESULT_PART, TABLES_LAUNCH(certain), .kept = busy_columns},
    {0}};

/* ---- counters ------------------------------------------------------------------------------- */

#define TABLES_COUNTER(field) RESULT_FIELD(struct counter_sums, field)

RESULT_MAKES(counter_mean, counter_sums, result_f64(counter_sums_mean(row)))

const struct result_column stats_counter_columns[] = {
    {"samples", "samples", 13, RESULT_COUNT, TABLES_COUNTER(count)},
    {"min", "min", 13, RESULT_REAL, TABLES_COUNTER(min)},
    {"mean", "mean", 13, RESULT_REAL, RESULT_MADE(counter_mean, 0)},
    {"max", "max", 13, RESULT_REAL, TABLES_COUNTER(max)},
    {"last", NULL, 0, RESULT_REAL, TABLES_COUNTER(last)},
    {"first_time", NULL, 0, RESULT_TIME, TABLES_COUNTER(first_ns)},
    {"last_time", NULL, 0, RESULT_TIME, TABLES_COUNTER(last_ns)},
    {NULL, NULL, 0, RESULT_REAL, TABLES_COUNTER(area)},
    {0}};

/* ---- tracks --------------------------------------------------------------------------------- */

#define TRACK(field) RESULT_FIELD(struct stats_track, field)
#define TRACK_AT(field) RESULT_POINTER(struct stats_track, field)
enum { TRACK_PROCESS, TRACK_IDLE, TRACK_RAN, TRACK_OUTSIDE, TRACK_SHARE };

static struct result_cell track_made(const struct result_at *at, int what)
{
    const struct stats *stats = at->all;
    const struct stats_track *track = at->row;
    uint64_t extent_ns = stats_extent_ns(stats);
    if (what == TRACK_PROCESS)
        return process_name(stats, track->track.process);
    if (what == TRACK_IDLE)
        return result_u64(stats_idle_ns(stats, track));
    if (what == TRACK_RAN)
        return result_u64(stats_ran_ns(stats, track));
    if (what == TRACK_OUTSIDE)
        return result_u64(stats_outside_ns(stats, track));
    struct result_cell share = result_share(track->busy.busy_ns, extent_ns);
    share.hidden = share.f64 > 1;
    return share;
}

RESULT_MAKES(track_unknown, stats_track, result_u64(stats_unknown_ns(row)))

const struct result_column stats_track_columns[] = {
    {"name", "name", 0, RESULT_TEXT, TRACK(track.name)},
    {"process", NULL, 0, RESULT_TEXT, RESULT_MADE(track_made, TRACK_PROCESS)},
    {"id", NULL, 0, RESULT_ID, TRACK(track.id)},
    {"os_id", NULL, 0, RESULT_ID, TRACK(track.os_id)},
    {"spans", "spans", 13, RESULT_COUNT, TRACK(spans)},
    {"unfinished", NULL, 0, RESULT_COUNT, TRACK(unfinished)},
    {"outermost", NULL, 0, RESULT_COUNT, TRACK(calls)},
    {"busy", "busy", 10, RESULT_NS, TRACK(busy.busy_ns)},
    {"waiting", NULL, 0, RESULT_NS, TRACK(waiting_ns)},
    {"idle", "idle", 10, RESULT_NS, RESULT_MADE(track_made, TRACK_IDLE)},
    {"running", "running", 10, RESULT_NS, RESULT_MADE(track_made, TRACK_RAN),
     .there = stats_knows_cpu},
    {"running_outside", "outside", 10, RESULT_NS, RESULT_MADE(track_made, TRACK_OUTSIDE),
     .there = stats_knows_sums},
    CPU_PART("runnable", struct stats_track, runnable_ns, ),
    CPU_REST(track_unknown),
    {NULL, NULL, 0, RESULT_NS, TRACK(cpu.running_ns)},
    {NULL, NULL, 0, RESULT_NS, TRACK(cpu.waiting_ns)},
    {NULL, NULL, 0, RESULT_NS, TRACK(ran_ns)},
    {"busy_share", "share", 8, RESULT_SHARE, RESULT_MADE(track_made, TRACK_SHARE)},
    {"gaps", "gaps", 12, RESULT_COUNT, TRACK(busy.gaps)},
    {"longest_gap", "longest gap", 12, RESULT_NS, TRACK(busy.longest_gap_ns)},
    {"longest_gap_at", NULL, 0, RESULT_TIME, TRACK(busy.longest_gap_at_ns)},
    {"lost_records", NULL, 0, RESULT_COUNT, TRACK(lost_records)},
    {"launch_latency", NULL, 0, RESULT_PART_AT, TRACK_AT(launches), .part = stats_launch_columns},
    {NULL, NULL, 0, RESULT_PART_AT, TRACK_AT(launches), .part = bound_columns},
    {NULL, NULL, 0, RESULT_PART_AT, TRACK_AT(counter), .kept = stats_counter_columns},
    {NULL, NULL, 0, RESULT_PART, TRACK(busy), .kept = busy_columns},
    {NULL, NULL, 0, RESULT_INDEX, TRACK(track.process), .what = STATS_PROCESSES},
    {NULL, NULL, 0, RESULT_INDEX, TRACK(track.parent), .what = STATS_TRACKS, .optional = true},
    {NULL, NULL, 0, RESULT_CHOICE, TRACK(track.kind), .what = TRACE_TRACK_KINDS},
    {NULL, NULL, 0, RESULT_TEXT, TRACK(track.unit)},
    {NULL, NULL, 0, RESULT_TIME, TRACK(first_ns)},
    {NULL, NULL, 0, RESULT_TIME, TRACK(last_ns)},
    {0}};

#define TRACKS(key, title)                                                                         \
    {                                                                                              \
        key, title, stats_track_columns,                                                           \
            "spans,busy,share,running,outside,runnable,not known,idle,gaps,longest gap,name",      \
            NULL, STATS_TRACKS_SHOWN                                                               \
    }
const struct result_table stats_threads_table = TRACKS("threads", "Threads");
const struct result_table stats_gpus_table = TRACKS("gpus", "GPUs");
const struct result_table stats_other_tracks_table = TRACKS("other_tracks", "Other tracks");

static const struct result_column launches_columns[] = {
    {NULL, NULL, 0, RESULT_PART_AT, TRACK_AT(launches), .part = stats_launch_columns},
    {NULL, NULL, 0, RESULT_PART_AT, TRACK_AT(launches), .part = bound_columns},
    {NULL, "of busy", 8, RESULT_SHARE, RESULT_MADE(certain_share, 0)},
    {"name", "name", 0, RESULT_TEXT, TRACK(track.name)},
    {0}};
const struct result_table stats_launches_table = {"launches",
                                                  "GPU launches, to the start of the work",
                                                  launches_columns,
                                                  "count,mean,p50,p99,max,certain,of busy,name",
                                                  NULL,
                                                  STATS_TRACKS_SHOWN};

static const struct result_column counters_columns[] = {
    {"name", "name", 0, RESULT_TEXT, TRACK(track.name)},
    {"process", NULL, 0, RESULT_TEXT, RESULT_MADE(track_made, TRACK_PROCESS)},
    {"unit", NULL, 0, RESULT_TEXT, TRACK(track.unit)},
    {NULL, NULL, 0, RESULT_PART_AT, TRACK_AT(counter), .part = stats_counter_columns},
    {0}};
const struct result_table stats_counters_table = {
    "counters", "Counters",        counters_columns, "samples,min,mean,max,name",
    NULL,       STATS_TRACKS_SHOWN};

/* ---- messages: from the call that sent them to their arrival, and from there to their handler --
 */

#define MESSAGE(field) RESULT_FIELD(struct message_sum, field)

RESULT_MAKES(message_quantile, message_time,
             result_u64(message_time_quantile_ns(row, (unsigned)what)))

RESULT_MAKES(message_mean, message_time,
             result_u64(mean_of(row->total_ns, ((const struct message_sum *)at->parent)->count)))

static const struct result_column time_columns[] = {
    {"total", NULL, 10, RESULT_NS, RESULT_FIELD(struct message_time, total_ns)},
    {"mean", NULL, 0, RESULT_NS, RESULT_MADE(message_mean, 0)},
    {"p50", "p50", 9, RESULT_ROUGH_NS, RESULT_MADE(message_quantile, 500)},
    {"p99", "p99", 9, RESULT_ROUGH_NS, RESULT_MADE(message_quantile, 990)},
    {"max", "max", 10, RESULT_NS, RESULT_FIELD(struct message_time, max_ns)},
    {0}};

static const struct result_column message_columns[] = {
    {"handler", "handler", 0, RESULT_TEXT, MESSAGE(handler)},
    {"count", "count", 13, RESULT_COUNT, MESSAGE(count)},
    {"bytes", "bytes", 15, RESULT_COUNT, MESSAGE(bytes)},
    {"early", NULL, 0, RESULT_COUNT, MESSAGE(early)},
    {"network", "network", 0, RESULT_PART, MESSAGE(network), .part = time_columns},
    {"queue", "queue", 0, RESULT_PART, MESSAGE(queue), .part = time_columns},
    {"handling", "handling", 0, RESULT_PART, MESSAGE(handling), .part = time_columns},
    {0}};
const struct result_table stats_messages_table = {
    "messages",
    "Messages",
    message_columns,
    "count,bytes,network.p50,network.p99,network.max,queue.p50,queue.p99,queue.max,handling.total,"
    "handler",
    "max,bytes",
    STATS_TRACKS_SHOWN};

/* ---- inside kernels ---------------------------------------------------------------------- */

#define GROUP(field) RESULT_FIELD(struct inside_group, field)

/* Shares of the blocks' time. */
RESULT_MAKES(group_share, inside_group,
             result_f64(inside_share(row, what ? row->waiting_ns : row->busy_ns)))

static const struct result_column group_columns[] = {
    {"group", "group", 0, RESULT_TEXT, GROUP(name)},
    {"spans", "spans", 13, RESULT_COUNT, GROUP(spans)},
    {"instants", NULL, 0, RESULT_COUNT, GROUP(instants)},
    {"unended", NULL, 0, RESULT_COUNT, GROUP(unended)},
    {"lanes", "lanes", 10, RESULT_COUNT, GROUP(lanes)},
    {"time", NULL, 0, RESULT_NS, GROUP(time_ns)},
    {"busy", "busy", 10, RESULT_NS, GROUP(busy_ns)},
    {"waiting", "waiting", 10, RESULT_NS, GROUP(waiting_ns)},
    {"busy_share", "share", 9, RESULT_SHARE, RESULT_MADE(group_share, 0)},
    {"waiting_share", "share", 9, RESULT_SHARE, RESULT_MADE(group_share, 1)},
    {0}};
const struct result_table stats_groups_table = {
    "groups", NULL, group_columns, "spans,lanes,busy,busy_share,waiting,waiting_share,group",
    NULL,     0};

/* Pairs of groups come in the order of inside_pair. */
static void pair_of(const struct result_at *at, uint32_t *a_out, uint32_t *b_out)
{
    *b_out = 1;
    while (inside_pair(0, *b_out + 1) <= at->number)
        ++*b_out;
    *a_out = at->number - inside_pair(0, *b_out);
}

enum { PAIR_BOTH, PAIR_SHARE };

/* The share is of the time of the group that was less busy. */
static struct result_cell pair_made(const struct result_at *at, int what)
{
    const struct inside_kernel *kernel = at->parent;
    uint32_t a, b;
    pair_of(at, &a, &b);
    return what == PAIR_BOTH ? result_u64(kernel->both_ns[at->number])
                             : result_f64(inside_overlap(kernel, a, b));
}

static void put_pair(struct out *out, const struct result_at *at)
{
    const struct inside_kernel *kernel = at->parent;
    uint32_t a, b;
    pair_of(at, &a, &b);
    const struct trace_text *one = &kernel->groups[a].name, *other = &kernel->groups[b].name;
    json_key(out, "groups");
    out_text(out, "[");
    json_string(out, one->text, one->bytes);
    out_text(out, ",");
    json_string(out, other->text, other->bytes);
    out_text(out, "]");
}

static const struct result_column overlap_columns[] = {
    {"groups", NULL, 0, RESULT_OWN, .put = put_pair,
     .form = "{\"type\":\"array\",\"items\":{\"type\":\"string\"}}"},
    {"both", NULL, 0, RESULT_NS, RESULT_MADE(pair_made, PAIR_BOTH)},
    {"share", NULL, 0, RESULT_SHARE, RESULT_MADE(pair_made, PAIR_SHARE)},
    {0}};
const struct result_table stats_overlaps_table = {"overlaps", NULL, overlap_columns, "", NULL, 0};

static struct result_rows group_rows(const struct result_at *at)
{
    const struct inside_kernel *kernel = at->row;
    return result_array(kernel->groups, sizeof *kernel->groups, kernel->group_count);
}

static struct result_rows overlap_rows(const struct result_at *at)
{
    const struct inside_kernel *kernel = at->row;
    return (struct result_rows){.count =
                                    kernel->group_count ? inside_pair(0, kernel->group_count) : 0};
}

#define KERNEL(field) RESULT_FIELD(struct inside_kernel, field)
static const struct result_column kernel_columns[] = {
    {"kernel", NULL, 0, RESULT_TEXT, KERNEL(name)},
    {"launches", NULL, 0, RESULT_COUNT, KERNEL(launches)},
    {"blocks", NULL, 0, RESULT_COUNT, KERNEL(blocks)},
    {"time", NULL, 0, RESULT_NS, KERNEL(time_ns)},
    {"groups", NULL, 0, RESULT_LIST, .list = &stats_groups_table, .rows = group_rows},
    {"overlaps", NULL, 0, RESULT_LIST, .list = &stats_overlaps_table, .rows = overlap_rows},
    {0}};
const struct result_table stats_kernels_table = {
    "inside_kernels", "Inside kernels", kernel_columns, "", NULL, STATS_KERNELS_SHOWN};

/* ---- lines in kernels -------------------------------------------------------------------- */

#define LINE(field) RESULT_FIELD(struct kernel_line, field)

/* Of the kernel's cycles in all lanes. */
RESULT_MAKES(line_share, kernel_line,
             result_share(row->cycles, ((const struct kernel_sums *)at->parent)->cycles))

static const struct result_column tables_line_columns[] = {
    {"place", "line", 0, RESULT_TEXT, LINE(place)},
    {"file", NULL, 0, RESULT_TEXT, LINE(file)},
    {"line", NULL, 0, RESULT_ID, LINE(line)},
    {"count", "count", 12, RESULT_COUNT, LINE(count)},
    {"cycles", "cycles", 15, RESULT_COUNT, LINE(cycles)},
    {"share", "share", 9, RESULT_SHARE, RESULT_MADE(line_share, 0)},
    {"p50", "p50", 11, RESULT_COUNT, LINE(p50)},
    {"p99", "p99", 11, RESULT_COUNT, LINE(p99)},
    {"max", NULL, 0, RESULT_COUNT, LINE(most)},
    {"spread", "spread", 9, RESULT_SHARE, LINE(spread)},
    {0}};
const struct result_table stats_lines_table = {
    "lines", NULL, tables_line_columns, "share,count,cycles,p50,p99,spread,line", NULL, 0};

RESULT_MAKES(probe_place, kernel_probe,
             result_bytes(((const struct stats *)at->all)->lines.lines[row->line].place))

static const struct result_column probe_columns[] = {
    {"place", NULL, 0, RESULT_TEXT, RESULT_MADE(probe_place, 0)},
    {"probe", NULL, 0, RESULT_ID, RESULT_FIELD(struct kernel_probe, id)},
    {"count", NULL, 0, RESULT_COUNT, RESULT_FIELD(struct kernel_probe, count)},
    {"cycles", NULL, 0, RESULT_COUNT, RESULT_FIELD(struct kernel_probe, cycles)},
    {0}};
static const struct result_table probes_table = {"probes", NULL, probe_columns, "", NULL, 0};

static const struct result_column edge_columns[] = {
    {"from", NULL, 0, RESULT_ID, RESULT_FIELD(struct kernel_edge, from)},
    {"to", NULL, 0, RESULT_ID, RESULT_FIELD(struct kernel_edge, to)},
    {"count", NULL, 0, RESULT_COUNT, RESULT_FIELD(struct kernel_edge, count)},
    {0}};
static const struct result_table edges_table = {"edges", NULL, edge_columns, "", NULL, 0};

/* A kernel's part of an array of all. */
#define SLICE(name, array, first_of, count_of)                                                     \
    static struct result_rows name(const struct result_at *at)                                     \
    {                                                                                              \
        const struct kernel_sums *kernel = at->row;                                                \
        const struct kernel_lines *lines = &((const struct stats *)at->all)->lines;                \
        if (!lines->array) /* without memory */                                                    \
            return (struct result_rows){0};                                                        \
        return result_array(lines->array + kernel->first_of, sizeof *lines->array,                 \
                            kernel->count_of);                                                     \
    }
SLICE(line_rows, lines, first_line, line_count)
SLICE(probe_rows, probes, first_probe, probe_count)
SLICE(edge_rows, edges, first_edge, edge_count)

#define LINES(field) RESULT_FIELD(struct kernel_sums, field)
static const struct result_column kernel_lines_columns[] = {
    {"kernel", NULL, 0, RESULT_TEXT, LINES(name)},
    {"launches", NULL, 0, RESULT_COUNT, LINES(launches)},
    {"lanes", NULL, 0, RESULT_COUNT, LINES(lanes)},
    {"records", NULL, 0, RESULT_COUNT, LINES(records)},
    {"cycles", NULL, 0, RESULT_COUNT, LINES(cycles)},
    {"recorded_ns", NULL, 0, RESULT_NS, LINES(recorded_ns)},
    {"between_ns", NULL, 0, RESULT_NS, LINES(between_ns)},
    {"lines", NULL, 0, RESULT_LIST, .list = &stats_lines_table, .rows = line_rows},
    {"probes", NULL, 0, RESULT_LIST, .list = &probes_table, .rows = probe_rows},
    {"edges", NULL, 0, RESULT_LIST, .list = &edges_table, .rows = edge_rows},
    {0}};
const struct result_table stats_kernel_lines_table = {
    "kernel_lines", "Lines in kernels", kernel_lines_columns, "", NULL, STATS_KERNELS_SHOWN};

/* ---- single calls ------------------------------------------------------------------------- */

#define CALL(field) RESULT_FIELD(struct stats_call, field)
enum { CALL_CATEGORY, CALL_ITEM, CALL_NAME, CALL_THREAD, CALL_THREAD_ID };

static struct result_cell call_made(const struct result_at *at, int what)
{
    const struct stats *stats = at->all;
    const struct stats_call *call = at->row;
    const struct stats_row *row = &stats->rows[call->row];
    switch (what) {
    case CALL_CATEGORY:
        return result_u64(row->category);
    case CALL_ITEM:
        return result_u64(row->item);
    case CALL_NAME:
        return result_bytes(row->name);
    case CALL_THREAD:
        return result_bytes(stats_thread_of(stats, call)->track.name);
    default:
        return result_u64(stats_thread_of(stats, call)->track.id);
    }
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
static void put_arguments(struct out *out, const struct result_at *at)
{
    struct trace_text left = ((const struct stats_call *)at->row)->args;
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

const struct result_column stats_call_columns[] = {
    {"start", "start", 22, RESULT_TIME, CALL(start_ns)},
    {"duration", "duration", 13, RESULT_NS, CALL(duration_ns)},
    {"category", NULL, 0, RESULT_CHOICE, RESULT_MADE(call_made, CALL_CATEGORY),
     .words = trace_category_name},
    {"item", NULL, 0, RESULT_ID, RESULT_MADE(call_made, CALL_ITEM)},
    {"name", "call  thread", 0, RESULT_TEXT, RESULT_MADE(call_made, CALL_NAME)},
    {"thread", NULL, 0, RESULT_TEXT, RESULT_MADE(call_made, CALL_THREAD)},
    {"thread_id", NULL, 0, RESULT_ID, RESULT_MADE(call_made, CALL_THREAD_ID)},
    {"args", NULL, 0, RESULT_OWN, .put = put_arguments, .optional = true, .not_on_page = true,
     .form = "{\"type\":\"object\"}"},
    {NULL, NULL, 0, RESULT_ID, CALL(id)},
    {NULL, NULL, 0, RESULT_INDEX, CALL(track), .what = STATS_TRACKS},
    {NULL, NULL, 0, RESULT_INDEX, CALL(row), .what = STATS_ROWS},
    {NULL, NULL, 0, RESULT_TEXT, CALL(args)},
    CPU_PART("running", struct stats_call, running_ns, ),
    CPU_PART("runnable", struct stats_call, runnable_ns, ),
    CPU_PART("waiting", struct stats_call, waiting_ns, ),
    {0}};
const struct result_table stats_open_table = {
    "open", NULL, stats_call_columns, "duration,running,runnable,waiting,start,name", NULL, 0};
const struct result_table stats_longest_table = {"longest",
                                                 "Longest calls",
                                                 stats_call_columns,
                                                 "duration,running,runnable,waiting,start,name",
                                                 NULL,
                                                 0};

/* ---- losses ------------------------------------------------------------------------------- */

#define LOSS(field) RESULT_FIELD(struct stats_loss, field)
enum { LOSS_RECORDS, LOSS_CALLS, LOSS_THREAD };

static struct result_cell loss_made(const struct result_at *at, int what)
{
    const struct stats *stats = at->all;
    const struct stats_loss *loss = at->row;
    if (what == LOSS_RECORDS)
        return result_u64(loss->refused ? 0 : loss->count);
    if (what == LOSS_CALLS)
        return loss->refused ? result_u64(loss->count) : result_nothing();
    return loss->track < stats->track_count ? result_u64(stats->tracks[loss->track].track.id)
                                            : result_nothing();
}

const struct result_column stats_loss_columns[] = {
    {"cause", NULL, 0, RESULT_TEXT, LOSS(cause)},
    {"records", NULL, 0, RESULT_COUNT, RESULT_MADE(loss_made, LOSS_RECORDS)},
    {"calls", NULL, 0, RESULT_COUNT, RESULT_MADE(loss_made, LOSS_CALLS), .optional = true},
    {"bytes", NULL, 0, RESULT_COUNT, LOSS(bytes), .optional = true},
    {"thread_id", NULL, 0, RESULT_ID, RESULT_MADE(loss_made, LOSS_THREAD), .optional = true},
    {"first", NULL, 0, RESULT_TIME, LOSS(first_ns)},
    {"last", NULL, 0, RESULT_TIME, LOSS(last_ns)},
    {NULL, NULL, 0, RESULT_INDEX, LOSS(process), .what = STATS_PROCESSES},
    {NULL, NULL, 0, RESULT_INDEX, LOSS(track), .what = STATS_TRACKS, .optional = true},
    {NULL, NULL, 0, RESULT_CHOICE, LOSS(refused), .what = RBWP_LOSS_CAUSE_MAX + 1},
    {NULL, NULL, 0, RESULT_COUNT, LOSS(count)},
    {0}};
const struct result_table stats_losses_table = {"losses", NULL, stats_loss_columns, "", NULL, 0};

/* ---- findings ------------------------------------------------------------------------------- */

enum { FINDING_TEXT, FINDING_CAUSE, FINDING_FROM, FINDING_TO, FINDING_THREAD, FINDING_NAME };

static struct result_cell finding_made(const struct result_at *at, int what)
{
    const struct stats *stats = at->all;
    const struct finding *finding = at->row;
    if (what == FINDING_TEXT)
        return result_bytes((struct trace_text){finding->text, (uint32_t)finding->bytes});
    if (what == FINDING_CAUSE && finding->cause)
        return result_word(finding->cause);
    if (finding->placed && (what == FINDING_FROM || what == FINDING_TO))
        return result_i64(what == FINDING_FROM ? finding->from_ns : finding->to_ns);
    if (what == FINDING_THREAD && finding->track != TRACE_NONE)
        return result_u64(stats->tracks[finding->track].track.id);
    if (what == FINDING_NAME && finding->row != TRACE_NONE)
        return result_bytes(stats->rows[finding->row].name);
    return result_nothing();
}

static const struct result_column finding_columns[] = {
    {"what", NULL, 0, RESULT_CHOICE, RESULT_FIELD(struct finding, what), .words = finding_name},
    {"text", NULL, 0, RESULT_TEXT, RESULT_MADE(finding_made, FINDING_TEXT)},
    {"cause", NULL, 0, RESULT_TEXT, RESULT_MADE(finding_made, FINDING_CAUSE), .optional = true},
    {"from", NULL, 0, RESULT_TIME, RESULT_MADE(finding_made, FINDING_FROM), .optional = true},
    {"to", NULL, 0, RESULT_TIME, RESULT_MADE(finding_made, FINDING_TO), .optional = true},
    {"thread_id", NULL, 0, RESULT_ID, RESULT_MADE(finding_made, FINDING_THREAD), .optional = true},
    {"name", NULL, 0, RESULT_TEXT, RESULT_MADE(finding_made, FINDING_NAME), .optional = true},
    {"weight", NULL, 0, RESULT_RATIO, RESULT_FIELD(struct finding, weight)},
    {0}};
const struct result_table stats_findings_table = {"findings", NULL, finding_columns, "", NULL, 0};

/* ---- nodes ---------------------------------------------------------------------------------- */

#define NODE(field) RESULT_FIELD(struct node_sum, field)
enum { NODE_PARTS_SHOWN = 40 };

RESULT_MAKES(node_process, node_sum, process_name(at->all, row->process))

/* How busy it was over time: for people a character a part of the run. */
static void put_shares(struct out *out, const struct result_at *at)
{
    json_open(out, "shares", '[');
    for (uint32_t part = 0; part < CONCURRENCY_STEPS; part++)
        out_format(out, part ? ",%.4f" : "%.4f",
                   node_share_at(at->all, at->row, part, CONCURRENCY_STEPS));
    out_text(out, "]");
}

static void show_course(struct out *out, const struct result_at *at)
{
    static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const letters[] = {" ", ".", ":", "-", "=", "+", "*", "#", "@"};
    const char *const *levels = terminal_is_utf8() ? blocks : letters;
    for (uint32_t part = 0; part < NODE_PARTS_SHOWN; part++) {
        double share = node_share_at(at->all, at->row, part, NODE_PARTS_SHOWN);
        out_text(out, levels[share >= 1 ? 8 : share > 0 ? (int)(share * 8 + 0.5) : 0]);
    }
}

static const struct result_column node_columns[] = {
    {"node", NULL, 0, RESULT_ID, NODE(node)},
    {"process", "process", 0, RESULT_TEXT, RESULT_MADE(node_process, 0)},
    {"workers", "workers", 7, RESULT_ID, NODE(workers)},
    {"busy", "busy", 10, RESULT_NS, NODE(busy_ns)},
    {"share", "share", 8, RESULT_SHARE, NODE(share)},
    {"calls", NULL, 0, RESULT_COUNT, NODE(calls)},
    {"longest_gap", "longest gap", 12, RESULT_NS, NODE(longest_gap_ns)},
    {"lost_records", NULL, 0, RESULT_COUNT, NODE(lost_records)},
    {"shares", "over time", -NODE_PARTS_SHOWN, RESULT_OWN, .put = put_shares, .show = show_course,
     .not_on_page = true, .form = "{\"type\":\"array\",\"items\":{\"type\":\"number\"}}"},
    {0}};
const struct result_table stats_nodes_table = {
    "list", NULL, node_columns, "workers,share,busy,longest gap,over time,process", NULL, 0};

#define NODES(field) RESULT_FIELD(struct node_sums, field)
const struct result_column stats_nodes_columns[] = {
    {"count", NULL, 0, RESULT_COUNT, NODES(count)},
    {"mean", NULL, 0, RESULT_SHARE, NODES(mean)},
    {"imbalance", NULL, 0, RESULT_RATIO, NODES(imbalance)},
    {"list", NULL, 0, RESULT_LIST, .list = &stats_nodes_table, .same_line = true,
     RESULT_LIST_OF(struct node_sums, list, count)},
    {0}};

/* ---- the whole ------------------------------------------------------------------------------ */

#define PROCESS(field) RESULT_FIELD(struct stats_process, field)
const struct result_column stats_process_columns[] = {
    {"name", NULL, 0, RESULT_TEXT, PROCESS(name)},
    {"source", NULL, 0, RESULT_TEXT, PROCESS(source)},
    {"node", NULL, 0, RESULT_ID, PROCESS(node)},
    {"empty_polls", NULL, 0, RESULT_COUNT, PROCESS(empty_polls)},
    {NULL, NULL, 0, RESULT_BOOL, PROCESS(began_before)},
    {NULL, NULL, 0, RESULT_BOOL, PROCESS(has_gap)},
    {NULL, NULL, 0, RESULT_BOOL, PROCESS(ended)},
    {NULL, NULL, 0, RESULT_BOOL, PROCESS(knows_cpu)},
    {NULL, NULL, 0, RESULT_BOOL, PROCESS(by_rule)},
    {NULL, NULL, 0, RESULT_TEXT, PROCESS(rule)},
    {0}};
static const struct result_table processes_table = {"processes", NULL, stats_process_columns,
                                                    "",          NULL, 0};

enum { STATS_EXTENT, STATS_WORKER_SHARE };

static struct result_cell stats_made(const struct result_at *at, int what)
{
    const struct stats *stats = at->row;
    return what == STATS_EXTENT ? result_u64(stats_extent_ns(stats))
                                : result_f64(stats_share(stats, stats->worker_busy_ns));
}

#define STATS(field) RESULT_FIELD(struct stats, field)
const struct result_column stats_columns[] = {
    {"spans", NULL, 0, RESULT_COUNT, RESULT_SUM, STATS(spans)},
    {"cut", NULL, 0, RESULT_COUNT, RESULT_SUM, STATS(cut)},
    {"links", NULL, 0, RESULT_COUNT, RESULT_SUM, STATS(links)},
    {"samples", NULL, 0, RESULT_COUNT, RESULT_SUM, STATS(samples)},
    {"table_rows", NULL, 0, RESULT_COUNT, RESULT_SUM, STATS(table_rows)},
    {"first", NULL, 0, RESULT_TIME, STATS(run_first_ns)},
    {"last", NULL, 0, RESULT_TIME, STATS(run_last_ns)},
    {"extent", NULL, 0, RESULT_NS, RESULT_MADE(stats_made, STATS_EXTENT)},
    {"workers", NULL, 0, RESULT_COUNT, STATS(workers)},
    {"worker_busy", NULL, 0, RESULT_NS, STATS(worker_busy_ns)},
    {"worker_waiting", NULL, 0, RESULT_NS, STATS(worker_waiting_ns)},
    {"worker_runnable", NULL, 0, RESULT_NS, STATS(worker_runnable_ns), .there = stats_knows_cpu},
    {"worker_share", NULL, 0, RESULT_SHARE, RESULT_MADE(stats_made, STATS_WORKER_SHARE)},
    {"lost_records", NULL, 0, RESULT_COUNT, RESULT_SUM, STATS(lost_records)},
    {NULL, NULL, 0, RESULT_COUNT, RESULT_SUM, STATS(skipped_bytes)},
    {NULL, NULL, 0, RESULT_COUNT, RESULT_SUM, STATS(open_spans)},
    {"processes", NULL, 0, RESULT_LIST, .list = &processes_table,
     RESULT_LIST_OF(struct stats, processes, process_count)},
    {0}};
