/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Losses come first, where nobody can miss them. What is more than a table is written here; all
 * else is in stats_tables.c.
 */
#include "stats_forms.h"
#include "json_text.h"
#include "losses.h"
#include "quantity.h"
#include "result_print.h"
#include "stats_tables.h"
#include "text_name.h"
#include "trace_category.h"
#include "track_order.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    LEVELS_SHOWN = 64,
    OPEN_SHOWN = 10,
    ARGUMENT_COLUMNS_MAX = 40,
    NODES_SHOWN = 40,
    NODES_AT_EACH_END = 12,
    COURSE_PARTS = 40
};

struct forms_view {
    struct out *out;
    struct colors colors;
    struct result_view result;
    const struct stats *stats;
    const struct stats_form *form;
};

static void forms_number(struct out *out, int width, uint64_t value)
{
    out_format(out, "%*s", width, GROUPED(value));
}

/* What a call was about, behind it. */
static void arguments_of(const struct result_view *view, const struct stats_call *call)
{
    struct trace_text left = call->args;
    struct arg_list_item item;
    while (arg_list_next(&left, &item)) {
        result_text_name(view, item.key);
        out_text(view->out, "=");
        if (view->shorten)
            (void)text_name_fit(view->out, item.value.text, item.value.bytes, ARGUMENT_COLUMNS_MAX);
        else
            text_name(view->out, item.value.text, item.value.bytes);
    }
}

/* ---- head ------------------------------------------------------------------------------ */

static void refused(void *context, const char *sentence)
{
    const struct forms_view *view = context;
    out_format(view->out, "%sREFUSED %s%s\n", view->colors.red, sentence, view->colors.off);
}

static void losses(const struct forms_view *view)
{
    struct out *out = view->out;
    const struct stats *stats = view->stats;
    uint32_t refusals = 0;
    for (uint32_t i = 0; i < stats->loss_count; i++)
        refusals += stats->losses[i].refused != 0;
    if (stats->loss_count == refusals)
        return;
    out_text(out, view->colors.red);
    out_text(out, "LOST ");
    if (stats->lost_records || !stats->skipped_bytes)
        forms_number(out, 0, stats->lost_records);
    out_text(out, stats->lost_records || !stats->skipped_bytes ? " records" : "");
    if (stats->skipped_bytes) {
        out_text(out, stats->lost_records ? ", and skipped " : "what was in ");
        forms_number(out, 0, stats->skipped_bytes);
        out_text(out, " bytes of damaged files");
    }
    out_format(out, "%s: all sums are too small\n", stats->run_set ? " in the whole run" : "");
    for (uint32_t i = 0; i < stats->loss_count; i++) {
        const struct stats_loss *loss = &stats->losses[i];
        bool unknown = !loss->count && loss->bytes;
        if (loss->refused)
            continue;
        forms_number(out, 14, unknown ? loss->bytes : loss->count);
        out_text(out, unknown ? " bytes" : "");
        result_text_name(&view->result, loss->cause);
        if (loss->track < stats->track_count)
            result_text_name(&view->result, stats->tracks[loss->track].track.name);
        out_text(out, "\n");
    }
    out_text(out, view->colors.off);
}

static void still_open(const struct forms_view *view)
{
    const struct stats *stats = view->stats;
    uint32_t shown = 0;
    for (; shown < stats->open_count && shown < OPEN_SHOWN; shown++) {
        const struct stats_call *call = &stats->open[shown];
        if (call->duration_ns < STATS_NEWS_NS)
            break;
        const bool hung = stats_is_hung(stats, call);
        out_format(view->out, "%s%s for %s in", hung ? view->colors.red : "",
                   hung ? "hung" : "still open", DURATION(call->duration_ns));
        result_text_name(&view->result, stats->rows[call->row].name);
        out_text(view->out, "  on");
        result_text_name(&view->result, stats_thread_of(stats, call)->track.name);
        out_format(view->out, "  since %s", SINCE_ZERO(call->start_ns, stats->zero_ns));
        if (stats_after_run_ns(stats, call) >= STATS_NEWS_NS)
            out_format(view->out, ", %s of it after the last work",
                       DURATION(stats_after_run_ns(stats, call)));
        arguments_of(&view->result, call);
        out_format(view->out, "%s\n", hung ? view->colors.off : "");
    }
    if (stats->open_spans > shown)
        out_format(view->out, "%" PRIu64 "%s %s still open when it ended\n",
                   stats->open_spans - shown, shown ? " more" : "",
                   stats->open_spans - shown == 1 ? "span was" : "spans were");
}

/* The first deadlock, or the longest wait. */
static void who_waits(const struct forms_view *view)
{
    const struct stats *stats = view->stats;
    if (!view->form->trace || !stats->stalls.count)
        return;
    out_text(view->out, stats->stalls.cycles ? view->colors.red : "");
    if (stalls_write_worst(view->out, &stats->stalls, view->form->trace))
        out_text(view->out, " (rbwp stacks FILE has the stacks)\n");
    out_text(view->out, stats->stalls.cycles ? view->colors.off : "");
}

static void forms_head(const struct forms_view *view)
{
    const struct stats *stats = view->stats;
    uint64_t empty_polls = 0;
    for (uint32_t i = 0; i < stats->process_count; i++)
        empty_polls += stats->processes[i].empty_polls;
    losses(view);
    losses_each_refused(stats->refused, refused, (void *)(uintptr_t)view);
    still_open(view);
    who_waits(view);
    forms_number(view->out, 0, stats->spans);
    out_format(view->out, " span%s in %s", stats->spans == 1 ? "" : "s",
               DURATION(stats_extent_ns(stats)));
    out_format(view->out, ", %" PRIu32 " worker%s busy %.1f %% of it", stats->workers,
               stats->workers == 1 ? "" : "s", 100 * stats_share(stats, stats->worker_busy_ns));
    if (stats->worker_waiting_ns)
        out_format(view->out, ", waiting %.1f %%",
                   100 * stats_share(stats, stats->worker_waiting_ns));
    if (stats->worker_runnable_ns)
        out_format(view->out, ", ready to run %.1f %%",
                   100 * stats_share(stats, stats->worker_runnable_ns));
    if (empty_polls) {
        out_text(view->out, "; ");
        forms_number(view->out, 0, empty_polls);
        out_format(view->out, " empty poll%s left no trace%s", empty_polls == 1 ? "" : "s",
                   stats->run_set ? " in the whole run" : "");
    }
    out_text(view->out, "\n");
    if (stats->table_rows)
        out_format(view->out,
                   "%" PRIu64
                   " rows of tables that say not what they are: 'rbwp tables' has them\n",
                   stats->table_rows);
    if (stats->cut)
        out_format(view->out,
                   "%" PRIu64 " of them reach out of the window: what lies inside counts\n",
                   stats->cut);
}

/* ---- behind names ---------------------------------------------------------------------------- */

static void note_count(const struct result_view *view, uint64_t count, const char *before,
                       const char *what)
{
    if (count)
        out_format(view->out, " %s(%s%" PRIu64 " %s)%s", view->colors.red, before, count, what,
                   view->colors.off);
}

static void behind_row(const struct result_view *view, const struct result_at *at)
{
    const struct stats_row *row = at->row;
    if (row->kind.bytes) {
        out_text(view->out, " [");
        text_name(view->out, row->kind.text, row->kind.bytes);
        out_text(view->out, "]");
    }
    note_count(view, row->unfinished > row->open ? row->unfinished - row->open : 0, "+",
               "unfinished");
    note_count(view, row->open, "+", "still open");
}

static void behind_track(const struct result_view *view, const struct result_at *at)
{
    const struct stats *stats = at->all;
    const struct stats_track *track = at->row;
    if (stats->process_count > 1)
        result_text_name(view, stats->processes[track->track.process].name);
    if (track->waiting_ns > track->calls) /* 1 ns a call is what rounding leaves */
        out_format(view->out, " (waited %s)", ROUGH(track->waiting_ns, 4));
    if (track->lost_records)
        out_format(view->out, " %sLOST %s records%s", view->colors.red,
                   GROUPED(track->lost_records), view->colors.off);
}

static void behind_group(const struct result_view *view, const struct result_at *at)
{
    const struct inside_group *group = at->row;
    if (group->instants)
        out_format(view->out, " (+%" PRIu64 " instants)", group->instants);
    note_count(view, group->unended, "", "never ended");
}

static void forms_behind_counter(const struct result_view *view, const struct result_at *at)
{
    const struct trace_text unit = ((const struct stats_track *)at->row)->track.unit;
    if (!unit.bytes)
        return;
    out_text(view->out, " (");
    text_name(view->out, unit.text, unit.bytes);
    out_text(view->out, ")");
}

static void behind_message(const struct result_view *view, const struct result_at *at)
{
    const struct message_sum *sum = at->row;
    if (sum->early)
        out_format(view->out, " (%" PRIu64 " arrived early by the clocks)", sum->early);
}

static void behind_node(const struct result_view *view, const struct result_at *at)
{
    note_count(view, ((const struct node_sum *)at->row)->lost_records, "", "records lost");
}

static void behind_call(const struct result_view *view, const struct result_at *at)
{
    result_text_name(view, stats_thread_of(at->all, at->row)->track.name);
    arguments_of(view, at->row);
}

/* ---- text that is more than a table --------------------------------------------------------- */

/* What is inside them is not known by value, and they may be of several kinds. */
static void values_text(const struct forms_view *view)
{
    static const struct result_column value = {"name", "value", 0, RESULT_TEXT,
                                               RESULT_FIELD(struct stats_row, name)};
    const struct arg_sums *sums = &view->stats->args;
    const struct result_rows rows = result_array(sums->list, sizeof *sums->list, sums->count);
    struct result_layout layout =
        result_layout(&view->result, &stats_values_table, view->form->columns, 0);
    struct out *out = view->out;
    for (const char *const *title = (const char *const[]){"self", "kind", "id", NULL}; *title;
         title++)
        result_layout_drop(&layout, *title, strlen(*title));
    layout.columns[layout.count - 1].column = &value;
    out_format(out, "\n%sCalls by ", view->colors.bold);
    text_name(out, sums->key, strlen(sums->key));
    out_format(out, "%s\n", view->colors.off);
    if (sums->count == 0)
        out_text(out, "   no call has an argument of this name\n");
    result_text(&view->result, &stats_values_table, &layout, &rows, view->stats, behind_row);
    if (sums->count && sums->without)
        out_format(out, "%" PRIu64 " calls are without it\n", sums->without);
}

static void overlap_line(const struct result_view *view, const struct inside_kernel *kernel,
                         uint32_t a, uint32_t b)
{
    out_format(view->out, "%13s%10s %9s %7.1f%%%19s", "overlap", "",
               ROUGH(kernel->both_ns[inside_pair(a, b)], 4), 100 * inside_overlap(kernel, a, b),
               "");
    result_text_name(view, kernel->groups[a].name);
    out_text(view->out, " and ");
    text_name(view->out, kernel->groups[b].name.text, kernel->groups[b].name.bytes);
    out_text(view->out, "\n");
}

static const char *plural(uint64_t count, const char *ending)
{
    return count == 1 ? "" : ending;
}

/* Shares of the blocks' time, of overlaps of that of the group that was less busy. */
static void kernel_text(const struct forms_view *view, const void *row,
                        const struct result_layout *layout)
{
    const struct inside_kernel *kernel = row;
    const struct result_rows groups =
        result_array(kernel->groups, sizeof *kernel->groups, kernel->group_count);
    result_text_name(&view->result,
                     kernel->name.bytes ? kernel->name : trace_text("(no work of a GPU around)"));
    out_format(view->out, ": %" PRIu64 " launch%s, %" PRIu64 " block%s, %s of block time\n",
               kernel->launches, plural(kernel->launches, "es"), kernel->blocks,
               plural(kernel->blocks, "s"), DURATION(kernel->time_ns));
    result_text_rows(&view->result, layout, &groups, view->stats, kernel, behind_group);
    for (uint32_t b = 1; b < kernel->group_count; b++)
        for (uint32_t a = 0; a < b; a++)
            overlap_line(&view->result, kernel, a, b);
}

/* Kernels, each with rows of an inner table. */
static void kernels_frame(const struct forms_view *view, const struct result_table *table,
                          const struct result_table *inner, const void *kernels, size_t stride,
                          uint32_t count,
                          void (*one)(const struct forms_view *view, const void *kernel,
                                      const struct result_layout *layout))
{
    const struct result_layout layout = result_layout(&view->result, inner, NULL, 0);
    if (count == 0)
        return;
    result_text_title(&view->result, table->title);
    result_text_titles(&view->result, &layout);
    for (uint32_t i = 0; i < count && i < table->shown; i++)
        one(view, (const char *)kernels + i * stride, &layout);
    result_text_more(&view->result, count, table->shown, " kernels");
}

static void kernels_text(const struct forms_view *view)
{
    const struct inside_kernels *inside = &view->stats->inside;
    kernels_frame(view, &stats_kernels_table, &stats_groups_table, inside->kernels,
                  sizeof *inside->kernels, inside->kernel_count, kernel_text);
}

static int compare_places(const void *left, const void *right)
{
    return (left > right) - (left < right);
}

static void lines_text(const struct forms_view *view, const void *row,
                       const struct result_layout *layout)
{
    const struct kernel_sums *kernel = row;
    struct out *out = view->out;
    const struct kernel_line *first = view->stats->lines.lines + kernel->first_line;
    struct result_rows lines = result_ordered(first, sizeof *first, kernel->line_count);
    struct result_place cycles;
    result_text_name(&view->result, kernel->name.bytes ? kernel->name : trace_text("(no name)"));
    out_format(out, ": %" PRIu64 " launch%s, %" PRIu64 " lane%s, %" PRIu64 " cycles",
               kernel->launches, plural(kernel->launches, "es"), kernel->lanes,
               plural(kernel->lanes, "s"), kernel->cycles);
    if (kernel->between_ns)
        out_format(out, ", %.1f%% of the time between records",
                   100 * (double)kernel->between_ns /
                       (double)(kernel->recorded_ns + kernel->between_ns));
    out_text(out, "\n");
    if (!lines.order || !result_find(stats_lines_table.columns, "cycles", 6, &cycles) ||
        !result_sort(&lines, cycles.column, view->stats, compare_places))
        out_give_up(out, ENOMEM);
    uint32_t count = lines.count;
    lines.count = count < STATS_LINES_SHOWN ? count : STATS_LINES_SHOWN;
    result_text_rows(&view->result, layout, &lines, view->stats, kernel, NULL);
    result_text_more(&view->result, count, STATS_LINES_SHOWN, " lines");
    free(lines.order);
}

static void kernel_lines_text(const struct forms_view *view)
{
    const struct kernel_lines *all = &view->stats->lines;
    kernels_frame(view, &stats_kernel_lines_table, &stats_lines_table, all->kernels,
                  sizeof *all->kernels, all->kernel_count, lines_text);
}

/* Of many nodes people see the busiest and the idlest. */
static void nodes_text_rows(const struct forms_view *view, struct node_sums *sums)
{
    const struct result_layout layout = result_layout(&view->result, &stats_nodes_table, NULL, 0);
    struct result_rows rows = result_array(sums->list, sizeof *sums->list, sums->count);
    out_format(view->out,
               "\n%sNodes%s: %" PRIu32 ", busy for %.1f %% on average, the busiest %.2f "
               "times as much; a column of time is %s\n",
               view->colors.bold, view->colors.off, sums->count, 100 * sums->mean, sums->imbalance,
               DURATION(stats_extent_ns(view->stats) / COURSE_PARTS));
    result_text_titles(&view->result, &layout);
    if (sums->count > NODES_SHOWN) {
        node_sums_order(sums);
        rows.count = NODES_AT_EACH_END;
        result_text_rows(&view->result, &layout, &rows, view->stats, NULL, behind_node);
        out_format(view->out, "  ... and %" PRIu32 " between (--json has all)\n",
                   sums->count - 2 * NODES_AT_EACH_END);
        rows.first = (const char *)(sums->list + sums->count - NODES_AT_EACH_END);
    }
    result_text_rows(&view->result, &layout, &rows, view->stats, NULL, behind_node);
}

static void nodes_text(const struct forms_view *view)
{
    struct node_sums sums;
    if (!node_sums_make(&sums, view->stats))
        out_give_up(view->out, ENOMEM);
    else if (sums.count > 0)
        nodes_text_rows(view, &sums);
    node_sums_free(&sums);
}

static void concurrency_text(const struct forms_view *view)
{
    const struct concurrency_result *result = &view->stats->concurrency;
    bool merged = view->stats->merged;
    double all_ns =
        (double)stats_extent_ns(view->stats) * (merged ? view->stats->process_count : 1);
    if (result->levels < 2)
        return;
    result_text_title(&view->result,
                      merged ? "Workers of a node busy at the same time, all nodes together"
                             : "Workers busy at the same time");
    for (uint32_t i = 0; i < result->levels; i++)
        if (result->level_ns[i] || i <= LEVELS_SHOWN)
            out_format(view->out, "%13s %9s %6.1f%%\n", GROUPED(i), ROUGH(result->level_ns[i], 4),
                       all_ns > 0 ? 100 * (double)result->level_ns[i] / all_ns : 0);
}

/* Nothing does but who had nothing to do. */
static void nothing_text(const struct forms_view *view)
{
    const struct stats *stats = view->stats;
    uint64_t calls = 0;
    uint32_t names = 0;
    for (uint32_t i = 0; i < stats->row_count; i++)
        if (stats->rows[i].category == TRACE_CALL) {
            calls += stats->rows[i].count;
            names++;
        }
    out_text(view->out, "   nothing stands out: ");
    forms_number(view->out, 0, calls);
    out_format(view->out,
               " call%s of %" PRIu32 " name%s, no slow ones that are worth 1 %% of the run\n",
               calls == 1 ? "" : "s", names, names == 1 ? "" : "s");
}

/* What stands out, with the time to look at. */
static void findings_text(const struct forms_view *view)
{
    const struct findings *all = view->form->findings;
    result_text_title(&view->result, "Findings");
    if (all->count == 0 || finding_is_idle(all->list[0].what))
        nothing_text(view);
    for (uint32_t i = 0; i < all->count; i++) {
        const struct finding *finding = &all->list[i];
        bool bad = finding->what == FINDING_LOST || finding->what == FINDING_REFUSED ||
                   finding->what == FINDING_HUNG;
        out_format(view->out, "%17s  %s",
                   finding->placed ? SINCE_ZERO(finding->from_ns, view->stats->zero_ns) : "",
                   bad ? view->colors.red : "");
        text_name(view->out, finding->text, finding->bytes);
        out_format(view->out, "%s\n", bad ? view->colors.off : "");
    }
}

/* ---- JSON that is more than a list ---------------------------------------------------------- */

static const struct result_column values_object[] = {{"arguments", NULL, 0, RESULT_PART,
                                                      RESULT_FIELD(struct stats, args),
                                                      .part = stats_values_columns},
                                                     RESULT_LAST};
static const struct result_column nodes_object[] = {
    {"nodes", NULL, 0, RESULT_PART, .part = stats_nodes_columns}, RESULT_LAST};

static void object(struct out *out, const struct result_column *column, const struct stats *stats,
                   const void *row)
{
    out_text(out, ",\n");
    result_json_members(out, column, &(struct result_at){stats, row, NULL, 0});
}

static void nodes_json(struct out *out, const struct stats *stats)
{
    struct node_sums sums;
    if (node_sums_make(&sums, stats))
        object(out, nodes_object, stats, &sums);
    else
        out_give_up(out, ENOMEM);
    node_sums_free(&sums);
}

static void nodes_csv(struct out *out, const struct stats *stats)
{
    struct node_sums sums;
    bool good = node_sums_make(&sums, stats);
    const struct result_rows rows = result_array(sums.list, sizeof *sums.list, sums.count);
    if (good)
        result_csv(out, &stats_nodes_table, &rows, stats, true);
    else
        out_give_up(out, ENOMEM);
    node_sums_free(&sums);
}

static void numbers(struct out *out, const char *key, const uint64_t *list, uint32_t count)
{
    json_key(out, key);
    out_text(out, "[");
    for (uint32_t i = 0; i < count; i++) {
        out_text(out, i ? "," : "");
        out_u64(out, list[i]);
    }
    out_text(out, "]");
}

static void put_levels(struct out *out, const struct result_at *at)
{
    const struct concurrency_result *result = at->row;
    if (!((const struct stats *)at->all)->merged)
        numbers(out, "busy_workers", result->level_ns, result->levels);
}

static void put_levels_of_node(struct out *out, const struct result_at *at)
{
    const struct concurrency_result *result = at->row;
    if (((const struct stats *)at->all)->merged)
        numbers(out, "busy_workers_of_a_node", result->level_ns, result->levels);
}

static void put_steps(struct out *out, const struct result_at *at)
{
    numbers(out, "busy", ((const struct concurrency_result *)at->row)->step_busy_ns,
            CONCURRENCY_STEPS);
}

#define NUMBERS "{\"type\":\"array\",\"items\":{\"type\":\"integer\"}}"
static const struct result_column concurrency_columns[] = {
    {"busy_workers", NULL, 0, RESULT_OWN, .put = put_levels, .form = NUMBERS, .optional = true},
    {"busy_workers_of_a_node", NULL, 0, RESULT_OWN, .put = put_levels_of_node, .form = NUMBERS,
     .optional = true},
    RESULT_PLAIN("first", RESULT_TIME, struct concurrency_result, first_ns),
    RESULT_PLAIN("step", RESULT_NS, struct concurrency_result, step_ns),
    {"busy", NULL, 0, RESULT_OWN, .put = put_steps, .form = NUMBERS},
    RESULT_LAST};
static const struct result_column concurrency_object[] = {{"concurrency", NULL, 0, RESULT_PART,
                                                           RESULT_FIELD(struct stats, concurrency),
                                                           .part = concurrency_columns},
                                                          RESULT_LAST};

/* ---- sections ------------------------------------------------------------------------------ */

#define FORMS_LIST(array, count) .unit = RESULT_LIST, RESULT_LIST_OF(struct stats, array, count)

static bool is_other(const struct stats_track *track)
{
    return !stats_is_worker(track) && !stats_is_gpu(track) && track->calls;
}

static bool has_launches(const struct stats_track *track)
{
    return track->launches && track->launches->count + track->launches->bounded;
}

static bool is_counter(const struct stats_track *track)
{
    return track->counter != NULL;
}

enum { FIRST_IN_TEXT = 1, ORDERED = 2, ONLY_JSON = 4, ONLY_TEXT = 8 };

/* A table of the output, in JSON's order. Its rows are those of a section of stats_rows_of, or the
 * tracks that belong, or a list of the sums. */
static const struct part {
    unsigned section; /* 0: always */
    const struct result_table *table;
    enum stats_section rows_of;
    bool (*belongs)(const struct stats_track *track);
    struct result_column list;
    void (*behind)(const struct result_view *view, const struct result_at *at);
    void (*text)(const struct forms_view *view);
    const struct result_column *object; /* of JSON, instead of the list */
    const char *name;                   /* of CSV, if it is not the table's key */
    unsigned flags;                     /* ORDERED: tracks in text */
} parts[] = {
    {0, &stats_open_table, .list = {FORMS_LIST(open, open_count)}, .flags = ONLY_JSON},
    {SECTION_FINDINGS, &stats_findings_table, .text = findings_text, .flags = FIRST_IN_TEXT},
    {SECTION_ARGUMENTS, &stats_values_table, .list = {FORMS_LIST(args.list, args.count)},
     .text = values_text, .object = values_object, .flags = FIRST_IN_TEXT},
    {SECTION_WORK_ITEMS, &stats_work_items_table, SECTION_WORK_ITEMS, .behind = behind_row},
    {SECTION_WORK_ITEMS, &stats_queued_table, SECTION_QUEUED, .behind = behind_row},
    {SECTION_SUB_ITEMS, &stats_sub_items_table, SECTION_SUB_ITEMS, .behind = behind_row},
    {SECTION_GPU_WORK, &stats_gpu_work_table, SECTION_GPU_WORK, .behind = behind_row,
     .flags = FIRST_IN_TEXT}, /* what such a program is about */
    {SECTION_NODES, &stats_nodes_table, .text = nodes_text, .object = nodes_object,
     .name = "nodes"},
    {SECTION_THREADS, &stats_threads_table, 0, stats_is_worker, .behind = behind_track,
     .flags = ORDERED},
    {SECTION_GPUS, &stats_gpus_table, 0, stats_is_gpu, .behind = behind_track, .flags = ORDERED},
    {SECTION_GPUS, &stats_launches_table, 0, has_launches, .flags = ONLY_TEXT},
    {SECTION_INSIDE, &stats_kernels_table,
     .list = {FORMS_LIST(inside.kernels, inside.kernel_count)}, .text = kernels_text},
    {SECTION_INSIDE, &stats_kernel_lines_table,
     .list = {FORMS_LIST(lines.kernels, lines.kernel_count)}, .text = kernel_lines_text},
    {SECTION_RANGES, &stats_ranges_table, SECTION_RANGES, .behind = behind_row},
    {SECTION_RANGES, &stats_gpu_ranges_table, SECTION_GPU_RANGES, .behind = behind_row},
    {SECTION_RANGES, &stats_other_tracks_table, 0, is_other, .behind = behind_track,
     .flags = ORDERED},
    {SECTION_COUNTERS, &stats_counters_table, 0, is_counter, .behind = forms_behind_counter},
    {SECTION_MESSAGES, &stats_messages_table, .list = {FORMS_LIST(messages.list, messages.count)},
     .behind = behind_message},
    {SECTION_CONCURRENCY, NULL, .text = concurrency_text, .object = concurrency_object},
    {SECTION_STACKS, &slow_stacks_table, .list = {FORMS_LIST(slow.list, slow.count)}},
    {SECTION_LONGEST, &stats_longest_table, .list = {FORMS_LIST(longest, longest_count)},
     .behind = behind_call},
    {0, &stats_losses_table, .list = {FORMS_LIST(losses, loss_count)}, .flags = ONLY_JSON},
};
enum { PARTS = sizeof parts / sizeof parts[0] };

/* For people, threads that hardly ran come last. */
static struct result_rows tracks_of(const struct stats *stats,
                                    bool (*belongs)(const struct stats_track *track), bool ordered)
{
    struct result_rows rows =
        result_ordered(stats->tracks, sizeof *stats->tracks, stats->track_count);
    uint32_t *order =
        ordered ? track_order_all(stats->tracks, sizeof *stats->tracks, stats->track_count) : NULL;
    uint32_t count = rows.count;
    bool good = rows.order && (order || !ordered || !count);
    rows.count = 0;
    for (unsigned helpers = 0; helpers < (ordered ? 2 : 1); helpers++)
        for (uint32_t i = 0; good && i < count; i++) {
            const uint32_t number = order ? order[i] : i;
            const struct stats_track *track = &stats->tracks[number];
            if (belongs(track) && (!ordered || stats_is_helper(stats, track) == helpers))
                rows.order[rows.count++] = number;
        }
    free(order);
    if (!good) {
        free(rows.order);
        rows.order = NULL;
    }
    return rows;
}

/* Their order is the caller's to free. */
static struct result_rows forms_rows_of(struct out *out, const struct part *part,
                                        const struct stats *stats, const struct stats_form *form,
                                        bool ordered)
{
    const struct findings *findings = form->findings;
    struct result_rows rows;
    if (part->table == &stats_findings_table)
        return result_array(findings->list, sizeof *findings->list, findings->count);
    if (part->rows_of)
        rows = stats_rows_of(stats, part->rows_of, form->order);
    else if (part->belongs)
        rows = tracks_of(stats, part->belongs, ordered);
    else
        return result_list(&part->list, &(struct result_at){stats, stats, NULL, 0});
    if (!rows.order)
        out_give_up(out, ENOMEM);
    return rows;
}

/* ---- both forms ----------------------------------------------------------------------------- */

static void part_text(const struct forms_view *view, const struct part *part)
{
    if (part->flags & ONLY_JSON || (part->section && !(view->form->sections & part->section)))
        return;
    if (part->text) {
        part->text(view);
        return;
    }
    bool of_process = part->behind == behind_track && view->stats->process_count > 1;
    bool of_thread = part->behind == behind_call;
    const struct result_layout layout =
        result_layout(&view->result, part->table, part->rows_of ? view->form->columns : NULL,
                      of_process || of_thread ? RESULT_NAME_COLUMNS : 0);
    struct result_rows rows =
        forms_rows_of(view->out, part, view->stats, view->form, part->flags & ORDERED);
    result_text(&view->result, part->table, &layout, &rows, view->stats, part->behind);
    free(rows.order);
}

/* Where threads may be known to be idle, those of GPUs, too. */
static bool is_first(const struct stats *stats, const struct part *part)
{
    return part->flags & FIRST_IN_TEXT || (part->section == SECTION_GPUS && stats_knows_cpu(stats));
}

void stats_text(struct out *out, const struct stats *stats, const struct stats_form *form,
                struct colors colors)
{
    const struct forms_view view = {
        out,
        colors,
        {out, colors, terminal_width(out->fd), isatty(out->fd), stats->zero_ns, stats},
        stats,
        form};
    forms_head(&view);
    for (unsigned first = 0; first < 2; first++)
        for (unsigned i = 0; i < PARTS; i++)
            if (is_first(stats, &parts[i]) == !first)
                part_text(&view, &parts[i]);
}

static void part_json(struct out *out, const struct part *part, const struct stats *stats,
                      const struct stats_form *form)
{
    if (part->flags & ONLY_TEXT || (part->section && !(form->sections & part->section)))
        return;
    if (part->object) {
        if (part->object == nodes_object)
            nodes_json(out, stats);
        else
            object(out, part->object, stats, stats);
        return;
    }
    struct result_rows rows = forms_rows_of(out, part, stats, form, false);
    result_json_list(out, part->table, &rows, stats);
    free(rows.order);
}

void stats_json(struct out *out, const struct stats *stats, const struct stats_form *form)
{
    out_text(out, "{");
    result_json_members(out, stats_columns, &(struct result_at){stats, stats, NULL, 0});
    for (unsigned i = 0; i < PARTS; i++)
        part_json(out, &parts[i], stats, form);
    out_text(out, "}\n");
}

/* What options omit is optional. */
void stats_document(struct result_column *columns_out)
{
    *columns_out++ = (struct result_column){.unit = RESULT_PART, .part = stats_columns};
    for (const struct part *part = parts; part < parts + PARTS; part++) {
        if (part->flags & ONLY_TEXT)
            continue;
        *columns_out = part->object ? *part->object
                                    : (struct result_column){.key = part->table->key,
                                                             .unit = RESULT_LIST,
                                                             .list = part->table};
        columns_out++->optional = part->section != 0;
    }
    columns_out->unit = RESULT_END;
}

/* NULL: there is none. */
static const struct part *part_named(const char *name)
{
    for (unsigned i = 0; i < PARTS; i++) {
        const struct part *part = &parts[i];
        if (part->table && !(part->flags & ONLY_TEXT) &&
            strcmp(part->name ? part->name : part->table->key, name) == 0)
            return part;
    }
    return NULL;
}

bool stats_csv_section(const char *name, unsigned *section_out)
{
    const struct part *part = part_named(name);
    *section_out = part ? part->section : 0;
    return part != NULL;
}

void stats_csv(struct out *out, const struct stats *stats, const struct stats_form *form,
               const char *name)
{
    const struct part *part = part_named(name);
    if (part->table == &stats_nodes_table) {
        nodes_csv(out, stats);
        return;
    }
    struct result_rows rows = forms_rows_of(out, part, stats, form, false);
    result_csv(out, part->table, &rows, stats, true);
    free(rows.order);
}
