/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sums as tables. Names stand last in a line, so that no name, however
 * wide, moves a column; losses come first, where nobody can miss them.
 *
 * Tables fit the width: of the columns the least needed are left out until
 * there is room for names, which a terminal gets shortened. Durations have
 * four digits, quantiles three, which is what is known of them; JSON has all.
 */
#include "stats_forms.h"
#include "arg_list.h"
#include "losses.h"
#include "quantity.h"
#include "text_name.h"
#include "track_order.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    LEVELS_SHOWN = 64,
    TRACKS_SHOWN = 1000,
    OPEN_SHOWN = 10,
    KERNELS_SHOWN = 100,
    LINES_SHOWN = 20, /* of a kernel */
    NAME_COLUMNS_MIN = 20,
    ARGUMENT_COLUMNS_MAX = 40,
    VALUES_SHOWN = 100
};

struct view {
    struct out *out;
    const struct stats *stats;
    const struct stats_form *form;
    struct colors colors;
    unsigned width; /* columns of a line */
    bool shorten;   /* names that do not fit into it */
};

static void number(struct out *out, int width, uint64_t value)
{
    char text[QUANTITY_BYTES];
    out_format(out, "%*s", width, quantity_grouped(text, value));
}

static void duration(struct out *out, uint64_t ns)
{
    char text[QUANTITY_BYTES];
    out_format(out, " %9s", quantity_rough(text, ns, 4));
}

/* Of a whole that it may not exceed: what lies outside of the run has no share of it. */
static void share_of_all(struct out *out, double part)
{
    if (part <= 1)
        out_format(out, " %6.1f%%", 100 * part);
    else
        out_format(out, "%8s", "-");
}

static void quantile(struct out *out, const struct stats_row *row, unsigned permille)
{
    char text[QUANTITY_BYTES];
    out_format(out, " %8s", quantity_rough(text, stats_quantile_ns(row, permille), 3));
}

static void name(struct out *out, struct trace_text text)
{
    out_text(out, "  ");
    text_name(out, text.text ? text.text : "", text.bytes);
}

/* The last of a line, of which so many columns are taken. */
static void last_name(const struct view *view, unsigned taken, struct trace_text text)
{
    unsigned left =
        view->width > taken + 2 + NAME_COLUMNS_MIN ? view->width - taken - 2 : NAME_COLUMNS_MIN;
    if (!view->shorten) {
        name(view->out, text);
        return;
    }
    out_text(view->out, "  ");
    (void)text_name_fit(view->out, text.text ? text.text : "", text.bytes,
                        left < TEXT_COLUMNS_MAX ? left : TEXT_COLUMNS_MAX);
}

/* What a call was about, behind it. */
static void arguments_of(const struct view *view, const struct stats_call *call)
{
    struct trace_text left = call->args;
    struct arg_list_item item;
    while (arg_list_next(&left, &item)) {
        name(view->out, item.key);
        out_text(view->out, "=");
        if (view->shorten)
            (void)text_name_fit(view->out, item.value.text, item.value.bytes, ARGUMENT_COLUMNS_MAX);
        else
            text_name(view->out, item.value.text, item.value.bytes);
    }
}

static void title(const struct view *view, const char *text)
{
    out_format(view->out, "\n%s%s%s\n", view->colors.bold, text, view->colors.off);
}

/* ---- head ------------------------------------------------------------------------------ */

static void refused(void *context, const char *sentence)
{
    const struct view *view = context;
    out_format(view->out, "%sREFUSED %s%s\n", view->colors.red, sentence, view->colors.off);
}

static void losses(const struct view *view)
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
        number(out, 0, stats->lost_records);
    out_text(out, stats->lost_records || !stats->skipped_bytes ? " records" : "");
    if (stats->skipped_bytes) {
        out_text(out, stats->lost_records ? ", and skipped " : "what was in ");
        number(out, 0, stats->skipped_bytes);
        out_text(out, " bytes of damaged files");
    }
    out_format(out, "%s: all sums are too small\n", stats->run_set ? " in the whole run" : "");
    for (uint32_t i = 0; i < stats->loss_count; i++) {
        const struct stats_loss *loss = &stats->losses[i];
        bool unknown = !loss->count && loss->bytes;
        if (loss->refused)
            continue;
        number(out, 14, unknown ? loss->bytes : loss->count);
        out_text(out, unknown ? " bytes" : "");
        name(out, loss->cause);
        if (loss->track < stats->track_count)
            name(out, stats->tracks[loss->track].track.name);
        out_text(out, "\n");
    }
    out_text(out, view->colors.off);
}

static void still_open(const struct view *view)
{
    char length[QUANTITY_BYTES], since[QUANTITY_BYTES];
    const struct stats *stats = view->stats;
    uint32_t shown = 0;
    for (; shown < stats->open_count && shown < OPEN_SHOWN; shown++) {
        const struct stats_call *call = &stats->open[shown];
        if (call->duration_ns < STATS_NEWS_NS)
            break;
        const bool hung = stats_is_hung(stats, call);
        out_format(view->out, "%s%s for %s in", hung ? view->colors.red : "",
                   hung ? "hung" : "still open", quantity_duration(length, call->duration_ns));
        name(view->out, stats->rows[call->row].name);
        out_text(view->out, "  on");
        name(view->out, stats_thread_of(stats, call)->track.name);
        out_format(view->out, "  since %s", quantity_time(since, call->start_ns, stats->zero_ns));
        if (stats_after_run_ns(stats, call) >= STATS_NEWS_NS)
            out_format(view->out, ", %s of it after the last work",
                       quantity_duration(length, stats_after_run_ns(stats, call)));
        arguments_of(view, call);
        out_format(view->out, "%s\n", hung ? view->colors.off : "");
    }
    if (stats->open_spans > shown)
        out_format(view->out, "%" PRIu64 "%s %s still open when it ended\n",
                   stats->open_spans - shown, shown ? " more" : "",
                   stats->open_spans - shown == 1 ? "span was" : "spans were");
}

static void head(const struct view *view)
{
    const struct stats *stats = view->stats;
    uint64_t empty_polls = 0;
    char extent[QUANTITY_BYTES];
    for (uint32_t i = 0; i < stats->process_count; i++)
        empty_polls += stats->processes[i].empty_polls;
    losses(view);
    losses_each_refused(stats->refused, refused, (void *)(uintptr_t)view);
    still_open(view);
    number(view->out, 0, stats->spans);
    out_format(view->out, " span%s in %s", stats->spans == 1 ? "" : "s",
               quantity_duration(extent, stats_extent_ns(stats)));
    out_format(view->out, ", %" PRIu32 " worker%s busy %.1f %% of it", stats->workers,
               stats->workers == 1 ? "" : "s", 100 * stats_share(stats, stats->worker_busy_ns));
    if (stats->worker_waiting_ns)
        out_format(view->out, ", waiting %.1f %%",
                   100 * stats_share(stats, stats->worker_waiting_ns));
    if (empty_polls) {
        out_text(view->out, "; ");
        number(view->out, 0, empty_polls);
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

/* ---- rows ------------------------------------------------------------------------------ */

static const int widths[STATS_COLUMNS] = {
    /* below 0: to the left, with two blanks before it */
    [STATS_COUNT] = 12,   [STATS_TOTAL] = 10, [STATS_SHARE] = 8, [STATS_SELF] = 10,
    [STATS_MEAN] = 10,    [STATS_P50] = 9,    [STATS_P90] = 9,   [STATS_P99] = 9,
    [STATS_LONGEST] = 10, [STATS_KIND] = -8,  [STATS_ITEM] = 6};

static unsigned width_of(unsigned column)
{
    return (unsigned)(widths[column] < 0 ? 2 - widths[column] : widths[column]);
}

/* All columns that fit, but the name. */
static struct stats_columns fitting_columns(const struct view *view)
{
    static const unsigned least_needed[] = {STATS_ITEM, STATS_P90, STATS_KIND, STATS_MEAN,
                                            STATS_SELF, STATS_P50, STATS_P99,  STATS_LONGEST};
    struct stats_columns fit = {{0}, 0};
    unsigned chosen = (1u << STATS_NAME) - 1, taken = 0;
    for (unsigned i = 0; i < STATS_NAME; i++)
        taken += width_of(i);
    for (unsigned i = 0; i < sizeof least_needed / sizeof least_needed[0] &&
                         taken + 2 + NAME_COLUMNS_MIN > view->width;
         i++) {
        chosen &= ~(1u << least_needed[i]);
        taken -= width_of(least_needed[i]);
    }
    for (unsigned i = 0; i < STATS_NAME; i++)
        if (chosen >> i & 1)
            fit.list[fit.count++] = (uint8_t)i;
    return fit;
}

/* Names stand last, whatever was asked for. */
static struct stats_columns choose_columns(const struct view *view, unsigned *taken_out)
{
    struct stats_columns chosen = {{0}, 0};
    const struct stats_columns *asked = &view->form->columns;
    for (unsigned i = 0; i < asked->count; i++)
        if (asked->list[i] != STATS_NAME)
            chosen.list[chosen.count++] = asked->list[i];
    if (asked->count == 0)
        chosen = fitting_columns(view);
    *taken_out = 0;
    for (unsigned i = 0; i < chosen.count; i++)
        *taken_out += width_of(chosen.list[i]);
    return chosen;
}

static void cell(const struct view *view, const struct stats_row *row, enum stats_column column)
{
    struct out *out = view->out;
    const uint64_t durations[STATS_COLUMNS] = {[STATS_TOTAL] = row->total_ns,
                                               [STATS_SELF] = stats_self_ns(row),
                                               [STATS_MEAN] = stats_mean_ns(row),
                                               [STATS_LONGEST] = row->max_ns};
    if (column == STATS_COUNT)
        number(out, widths[STATS_COUNT], row->count);
    else if (column == STATS_SHARE && row->category == TRACE_GPU_WORK)
        share_of_all(out, stats_share(view->stats, row->total_ns));
    else if (column == STATS_SHARE)
        out_format(out, " %6.1f%%", 100 * stats_share(view->stats, row->total_ns));
    else if (column == STATS_KIND)
        out_format(out, "  %-8s", trace_category_name[row->category]);
    else if (column == STATS_ITEM)
        out_format(out, "%6" PRIu32, row->item);
    else if (column == STATS_P50 || column == STATS_P90 || column == STATS_P99)
        quantile(out, row, column == STATS_P50 ? 500 : column == STATS_P90 ? 900 : 990);
    else
        duration(out, durations[column]);
}

static void row_line(const struct view *view, const struct stats_row *row,
                     const struct stats_columns *chosen, unsigned taken)
{
    struct out *out = view->out;
    for (unsigned i = 0; i < chosen->count; i++)
        cell(view, row, (enum stats_column)chosen->list[i]);
    last_name(view, taken, row->name);
    if (row->kind.bytes) {
        out_text(out, " [");
        text_name(out, row->kind.text, row->kind.bytes);
        out_text(out, "]");
    }
    if (row->unfinished > row->open)
        out_format(out, " %s(+%" PRIu64 " unfinished)%s", view->colors.red,
                   row->unfinished - row->open, view->colors.off);
    if (row->open)
        out_format(out, " %s(+%" PRIu64 " still open)%s", view->colors.red, row->open,
                   view->colors.off);
    out_text(out, "\n");
}

static void row_titles(const struct view *view, const struct stats_columns *chosen,
                       const char *last)
{
    out_text(view->out, view->colors.dim);
    for (unsigned i = 0; i < chosen->count; i++)
        out_format(view->out, "%s%*s", widths[chosen->list[i]] < 0 ? "  " : "",
                   widths[chosen->list[i]], stats_column_name[chosen->list[i]]);
    out_format(view->out, "  %s%s\n", last, view->colors.off);
}

static void rows(const struct view *view, const char *text, enum stats_section section)
{
    uint32_t count = 0, *order = stats_rows_of(view->stats, section, view->form->order, &count);
    unsigned taken;
    const struct stats_columns chosen = choose_columns(view, &taken);
    if (!order)
        out_give_up(view->out, ENOMEM);
    if (count) {
        title(view, text);
        row_titles(view, &chosen, "name");
    }
    for (uint32_t i = 0; i < count; i++)
        row_line(view, &view->stats->rows[order[i]], &chosen, taken);
    free(order);
}

/* ---- calls by what they noted ------------------------------------------------------------ */

/* What is inside them is not known by value, and they may be of several kinds. */
static struct stats_columns columns_of_values(const struct view *view, unsigned *taken_out)
{
    const struct stats_columns all = choose_columns(view, taken_out);
    struct stats_columns chosen = {{0}, 0};
    for (unsigned i = 0; i < all.count; i++) {
        unsigned column = all.list[i];
        if (column == STATS_SELF || column == STATS_KIND || column == STATS_ITEM)
            *taken_out -= width_of(column);
        else
            chosen.list[chosen.count++] = (uint8_t)column;
    }
    return chosen;
}

static void values(const struct view *view)
{
    const struct arg_sums *sums = &view->stats->args;
    unsigned taken;
    const struct stats_columns chosen = columns_of_values(view, &taken);
    out_format(view->out, "\n%sCalls by ", view->colors.bold);
    text_name(view->out, sums->key, strlen(sums->key));
    out_format(view->out, "%s\n", view->colors.off);
    if (sums->count == 0)
        out_text(view->out, "   no call has an argument of this name\n");
    else
        row_titles(view, &chosen, "value");
    for (uint32_t i = 0; i < sums->count && i < VALUES_SHOWN; i++)
        row_line(view, &sums->list[i].row, &chosen, taken);
    if (sums->count > VALUES_SHOWN)
        out_format(view->out, "  ... and %" PRIu32 " more (--json has all)\n",
                   sums->count - VALUES_SHOWN);
    if (sums->count && sums->without)
        out_format(view->out, "%" PRIu64 " calls are without it\n", sums->without);
}

/* ---- tracks ---------------------------------------------------------------------------- */

static void track_line(const struct view *view, const struct stats_track *track)
{
    struct out *out = view->out;
    uint64_t extent_ns = stats_extent_ns(view->stats), busy_ns = track->busy.busy_ns;
    number(out, 13, track->spans);
    duration(out, busy_ns);
    share_of_all(out, extent_ns ? (double)busy_ns / (double)extent_ns : 0);
    duration(out, stats_idle_ns(view->stats, track));
    number(out, 12, track->busy.gaps);
    out_text(out, "  ");
    duration(out, track->busy.longest_gap_ns);
    bool several = view->stats->process_count > 1;
    last_name(view, 65 + (several ? NAME_COLUMNS_MIN : 0), track->track.name);
    if (several)
        name(out, view->stats->processes[track->track.process].name);
    if (track->waiting_ns) {
        char waiting[QUANTITY_BYTES];
        out_format(out, " (waited %s)", quantity_rough(waiting, track->waiting_ns, 4));
    }
    if (track->lost_records) {
        out_format(out, " %sLOST ", view->colors.red);
        number(out, 0, track->lost_records);
        out_format(out, " records%s", view->colors.off);
    }
    out_text(out, "\n");
}

static bool is_other(const struct stats_track *track)
{
    return !stats_is_worker(track) && !stats_is_gpu(track) && track->calls;
}

static void tracks(const struct view *view, const char *text,
                   bool (*belongs)(const struct stats_track *track))
{
    uint32_t count = 0, all = view->stats->track_count;
    uint32_t *order = track_order_all(view->stats->tracks, sizeof *view->stats->tracks, all);
    if (all && !order)
        out_give_up(view->out, ENOMEM);
    for (uint32_t i = 0; order && i < all; i++) {
        const struct stats_track *track = &view->stats->tracks[order[i]];
        if (!belongs(track) || ++count > TRACKS_SHOWN)
            continue;
        if (count == 1) {
            title(view, text);
            out_format(view->out, "%s%13s%10s%8s%10s%12s%12s  %s%s\n", view->colors.dim, "spans",
                       "busy", "share", "idle", "gaps", "longest gap", "name", view->colors.off);
        }
        track_line(view, track);
    }
    if (count > TRACKS_SHOWN)
        out_format(view->out, "  ... and %" PRIu32 " more (--json has all)\n",
                   count - TRACKS_SHOWN);
    free(order);
}

/* ---- GPUs: launches and bounds ----------------------------------------------------------- */

static void launch_line(const struct view *view, const struct stats_track *track)
{
    char text[QUANTITY_BYTES];
    const struct launch_sums *sums = track->launches;
    uint64_t busy_ns = track->busy.busy_ns;
    number(view->out, 13, sums->count);
    duration(view->out, launch_sums_mean_ns(sums));
    for (unsigned permille = 500; permille <= 990; permille += 490)
        out_format(view->out, "%9s",
                   quantity_rough(text, launch_sums_quantile_ns(sums, permille), 3));
    duration(view->out, sums->max_ns);
    duration(view->out, sums->certain.busy_ns);
    if (sums->bounded && busy_ns)
        out_format(view->out, " %6.1f%%", 100 * (double)sums->certain.busy_ns / (double)busy_ns);
    else
        out_format(view->out, " %7s", "-");
    last_name(view, 69, track->track.name);
    out_text(view->out, "\n");
}

/* From launch to start, and how much of the busy time is certain. */
static void launches(const struct view *view)
{
    uint32_t shown = 0;
    for (uint32_t i = 0; i < view->stats->track_count; i++) {
        const struct launch_sums *sums = view->stats->tracks[i].launches;
        if (!sums || sums->count + sums->bounded == 0 || shown++ > TRACKS_SHOWN)
            continue;
        if (shown == 1) {
            title(view, "GPU launches, to the start of the work");
            out_format(view->out, "%s%13s%10s%9s%9s%10s%10s%8s  name%s\n", view->colors.dim,
                       "count", "mean", "p50", "p99", "max", "certain", "of busy",
                       view->colors.off);
        }
        launch_line(view, &view->stats->tracks[i]);
    }
}

/* ---- inside kernels ------------------------------------------------------------------------ */

static void share(const struct view *view, double part)
{
    out_format(view->out, " %7.1f%%", 100 * part);
}

static void group_line(const struct view *view, const struct inside_group *group)
{
    number(view->out, 13, group->spans);
    number(view->out, 10, group->lanes);
    duration(view->out, group->busy_ns);
    share(view, inside_share(group, group->busy_ns));
    duration(view->out, group->waiting_ns);
    share(view, inside_share(group, group->waiting_ns));
    last_name(view, 61, group->name);
    if (group->instants)
        out_format(view->out, " (+%" PRIu64 " instants)", group->instants);
    if (group->unended)
        out_format(view->out, " %s(%" PRIu64 " never ended)%s", view->colors.red, group->unended,
                   view->colors.off);
    out_text(view->out, "\n");
}

static void overlap_line(const struct view *view, const struct inside_kernel *kernel, uint32_t a,
                         uint32_t b)
{
    out_format(view->out, "%13s%10s", "overlap", "");
    duration(view->out, kernel->both_ns[inside_pair(a, b)]);
    share(view, inside_overlap(kernel, a, b));
    out_format(view->out, "%19s", "");
    name(view->out, kernel->groups[a].name);
    out_text(view->out, " and ");
    text_name(view->out, kernel->groups[b].name.text, kernel->groups[b].name.bytes);
    out_text(view->out, "\n");
}

static void kernel_lines(const struct view *view, const struct inside_kernel *kernel)
{
    char time[QUANTITY_BYTES];
    name(view->out, kernel->name.bytes ? kernel->name : trace_text("(no work of a GPU around)"));
    out_format(view->out, ": %" PRIu64 " launch%s, %" PRIu64 " block%s, %s of block time\n",
               kernel->launches, kernel->launches == 1 ? "" : "es", kernel->blocks,
               kernel->blocks == 1 ? "" : "s", quantity_duration(time, kernel->time_ns));
    for (uint32_t i = 0; i < kernel->group_count; i++)
        group_line(view, &kernel->groups[i]);
    for (uint32_t b = 1; b < kernel->group_count; b++)
        for (uint32_t a = 0; a < b; a++)
            overlap_line(view, kernel, a, b);
}

/* Shares of the blocks' time, of overlaps of that of the group that was less busy. */
static void inside(const struct view *view)
{
    const struct inside_kernels *inside = &view->stats->inside;
    if (inside->kernel_count == 0)
        return;
    title(view, "Inside kernels");
    out_format(view->out, "%s%13s%10s%10s%9s%10s%9s  group%s\n", view->colors.dim, "spans", "lanes",
               "busy", "share", "waiting", "share", view->colors.off);
    for (uint32_t i = 0; i < inside->kernel_count && i < KERNELS_SHOWN; i++)
        kernel_lines(view, &inside->kernels[i]);
    if (inside->kernel_count > KERNELS_SHOWN)
        out_format(view->out, "  ... and %" PRIu32 " more kernels (--json has all)\n",
                   inside->kernel_count - KERNELS_SHOWN);
}

/* ---- lines in kernels ---------------------------------------------------------------------- */

static void source_line(const struct view *view, const struct kernel_sums *kernel,
                        const struct kernel_line *line)
{
    share(view, kernel->cycles ? (double)line->cycles / (double)kernel->cycles : 0);
    number(view->out, 12, line->count);
    number(view->out, 15, line->cycles);
    number(view->out, 11, line->p50);
    number(view->out, 11, line->p99);
    share(view, line->spread);
    last_name(view, 67, line->place);
    out_text(view->out, "\n");
}

/* Of its lines that come behind `last` (NULL: of all) the one with most cycles; NULL at the end. */
static const struct kernel_line *next_hottest(const struct kernel_lines *lines,
                                              const struct kernel_sums *kernel,
                                              const struct kernel_line *last)
{
    const struct kernel_line *best = NULL;
    for (uint32_t i = 0; i < kernel->line_count; i++) {
        const struct kernel_line *line = &lines->lines[kernel->first_line + i];
        bool behind =
            !last || line->cycles < last->cycles || (line->cycles == last->cycles && line > last);
        if (behind && (!best || line->cycles > best->cycles))
            best = line;
    }
    return best;
}

static void lines_of_kernel(const struct view *view, const struct kernel_sums *kernel)
{
    name(view->out, kernel->name.bytes ? kernel->name : trace_text("(no name)"));
    out_format(view->out, ": %" PRIu64 " launch%s, %" PRIu64 " lane%s, %" PRIu64 " cycles",
               kernel->launches, kernel->launches == 1 ? "" : "es", kernel->lanes,
               kernel->lanes == 1 ? "" : "s", kernel->cycles);
    if (kernel->between_ns)
        out_format(view->out, ", %.1f%% of the time between records",
                   100 * (double)kernel->between_ns /
                       (double)(kernel->recorded_ns + kernel->between_ns));
    out_text(view->out, "\n");
    const struct kernel_line *line = next_hottest(&view->stats->lines, kernel, NULL);
    for (uint32_t i = 0; line && i < LINES_SHOWN; i++) {
        source_line(view, kernel, line);
        line = next_hottest(&view->stats->lines, kernel, line);
    }
    if (line)
        out_format(view->out, "  ... and %" PRIu32 " more lines (--json has all)\n",
                   kernel->line_count - LINES_SHOWN);
}

/* Shares of the kernel's cycles in all lanes. */
static void lines(const struct view *view)
{
    const struct kernel_lines *all = &view->stats->lines;
    if (all->kernel_count == 0)
        return;
    title(view, "Lines in kernels");
    out_format(view->out, "%s%9s%12s%15s%11s%11s%9s  line%s\n", view->colors.dim, "share", "count",
               "cycles", "p50", "p99", "spread", view->colors.off);
    for (uint32_t i = 0; i < all->kernel_count && i < KERNELS_SHOWN; i++)
        lines_of_kernel(view, &all->kernels[i]);
    if (all->kernel_count > KERNELS_SHOWN)
        out_format(view->out, "  ... and %" PRIu32 " more kernels (--json has all)\n",
                   all->kernel_count - KERNELS_SHOWN);
}

/* ---- counters ---------------------------------------------------------------------------- */

static void counter_line(const struct view *view, const struct stats_track *track)
{
    const struct counter_sums *sums = track->counter;
    number(view->out, 13, sums->count);
    out_format(view->out, "%13.6g%13.6g%13.6g", sums->min, counter_sums_mean(sums), sums->max);
    last_name(view, 52, track->track.name);
    if (track->track.unit.bytes) {
        out_text(view->out, " (");
        text_name(view->out, track->track.unit.text, track->track.unit.bytes);
        out_text(view->out, ")");
    }
    out_text(view->out, "\n");
}

static void counters(const struct view *view)
{
    uint32_t shown = 0;
    for (uint32_t i = 0; i < view->stats->track_count; i++) {
        if (!view->stats->tracks[i].counter || shown++ >= TRACKS_SHOWN)
            continue;
        if (shown == 1) {
            title(view, "Counters");
            out_format(view->out, "%s%13s%13s%13s%13s  name%s\n", view->colors.dim, "samples",
                       "min", "mean", "max", view->colors.off);
        }
        counter_line(view, &view->stats->tracks[i]);
    }
    if (shown > TRACKS_SHOWN)
        out_format(view->out, "  ... and %" PRIu32 " more (--json has all)\n",
                   shown - TRACKS_SHOWN);
}

/* ---- messages ---------------------------------------------------------------------------- */

/* With the longest of both times there is room for handlers from so many columns on, with the bytes
 * from so many. */
enum { MESSAGES_WIDE = 94 + 2 + NAME_COLUMNS_MIN, MESSAGES_WITH_BYTES = 74 + 2 + NAME_COLUMNS_MIN };

static void message_line(const struct view *view, const struct message_sum *sum)
{
    bool wide = view->width >= MESSAGES_WIDE, with_bytes = view->width >= MESSAGES_WITH_BYTES;
    char text[QUANTITY_BYTES];
    const struct message_time *const times[] = {&sum->network, &sum->queue};
    number(view->out, 13, sum->count);
    if (with_bytes)
        number(view->out, 15, sum->bytes);
    for (unsigned i = 0; i < 2; i++) {
        for (unsigned permille = 500; permille <= 990; permille += 490)
            out_format(view->out, "%9s",
                       quantity_rough(text, message_time_quantile_ns(times[i], permille), 3));
        if (wide)
            duration(view->out, times[i]->max_ns);
    }
    duration(view->out, sum->handling.total_ns);
    last_name(view, wide ? 94 : with_bytes ? 74 : 59, sum->handler);
    if (sum->early)
        out_format(view->out, " (%" PRIu64 " arrived early by the clocks)", sum->early);
    out_text(view->out, "\n");
}

/* From the call that sent them to their arrival, and from there to their handler. */
static void messages(const struct view *view)
{
    const struct message_sums *sums = &view->stats->messages;
    if (sums->count == 0)
        return;
    title(view, "Messages");
    int bytes = view->width >= MESSAGES_WITH_BYTES ? 15 : 0;
    int longest = view->width >= MESSAGES_WIDE ? 10 : 0;
    out_format(view->out, "%s%13s%*s%9s%9s%*s%9s%9s%*s%10s  handler\n", view->colors.dim, "count",
               bytes, bytes ? "bytes" : "", "network", "p99", longest, longest ? "max" : "",
               "queue", "p99", longest, longest ? "max" : "", "handling");
    out_format(view->out, "%13s%*s%9s%*s%9s%s\n", "", bytes, "", "p50", 9 + longest, "", "p50",
               view->colors.off);
    for (uint32_t i = 0; i < sums->count && i < TRACKS_SHOWN; i++)
        message_line(view, &sums->list[i]);
    if (sums->count > TRACKS_SHOWN)
        out_format(view->out, "  ... and %" PRIu32 " more (--json has all)\n",
                   sums->count - TRACKS_SHOWN);
}

/* ---- the rest -------------------------------------------------------------------------- */

static void concurrency(const struct view *view)
{
    const struct concurrency_result *result = &view->stats->concurrency;
    bool merged = view->stats->merged;
    double all_ns =
        (double)stats_extent_ns(view->stats) * (merged ? view->stats->process_count : 1);
    if (result->levels < 2)
        return;
    title(view, merged ? "Workers of a node busy at the same time, all nodes together"
                       : "Workers busy at the same time");
    for (uint32_t i = 0; i < result->levels; i++) {
        if (result->level_ns[i] == 0 && i > LEVELS_SHOWN)
            continue;
        number(view->out, 13, i);
        duration(view->out, result->level_ns[i]);
        out_format(view->out, " %6.1f%%\n",
                   all_ns > 0 ? 100 * (double)result->level_ns[i] / all_ns : 0);
    }
}

static void longest(const struct view *view)
{
    const struct stats *stats = view->stats;
    if (stats->longest_count == 0)
        return;
    title(view, "Longest calls");
    out_format(view->out, "%s%13s%22s  %s%s\n", view->colors.dim, "duration", "start",
               "call  thread", view->colors.off);
    for (uint32_t i = 0; i < stats->longest_count; i++) {
        const struct stats_call *call = &stats->longest[i];
        char start[QUANTITY_BYTES];
        out_text(view->out, "   ");
        duration(view->out, call->duration_ns);
        out_format(view->out, "%22s", quantity_time(start, call->start_ns, stats->zero_ns));
        last_name(view, 35 + NAME_COLUMNS_MIN, stats->rows[call->row].name);
        name(view->out, stats_thread_of(stats, call)->track.name);
        arguments_of(view, call);
        out_text(view->out, "\n");
    }
}

/* What stands out, with the time to look at. */
static void findings(const struct view *view)
{
    const struct findings *all = view->form->findings;
    char time[QUANTITY_BYTES];
    title(view, "Findings");
    if (all->count == 0)
        out_text(view->out, "   nothing stands out\n");
    for (uint32_t i = 0; i < all->count; i++) {
        const struct finding *finding = &all->list[i];
        bool bad = finding->what == FINDING_LOST || finding->what == FINDING_REFUSED ||
                   finding->what == FINDING_HUNG;
        out_format(view->out, "%17s  %s",
                   finding->placed ? quantity_time(time, finding->from_ns, view->stats->zero_ns)
                                   : "",
                   bad ? view->colors.red : "");
        text_name(view->out, finding->text, finding->bytes);
        out_format(view->out, "%s\n", bad ? view->colors.off : "");
    }
}

void stats_text(struct out *out, const struct stats *stats, const struct stats_form *form,
                struct colors colors)
{
    unsigned sections = form->sections;
    struct view view = {.out = out,
                        .stats = stats,
                        .form = form,
                        .colors = colors,
                        .width = terminal_width(out->fd),
                        .shorten = isatty(out->fd)};
    head(&view);
    if (sections & SECTION_FINDINGS)
        findings(&view);
    if (sections & SECTION_ARGUMENTS)
        values(&view);
    if (sections & SECTION_GPU_WORK) /* first where there is any: what such a program is about */
        rows(&view, "GPU work", SECTION_GPU_WORK);
    if (sections & SECTION_WORK_ITEMS) {
        rows(&view, "Work items", SECTION_WORK_ITEMS);
        rows(&view, "Queue delay of work items", SECTION_QUEUED);
    }
    if (sections & SECTION_SUB_ITEMS)
        rows(&view, "Sub-items", SECTION_SUB_ITEMS);
    if (sections & SECTION_NODES)
        stats_nodes_text(out, stats, colors);
    if (sections & SECTION_THREADS)
        tracks(&view, "Threads", stats_is_worker);
    if (sections & SECTION_GPUS)
        tracks(&view, "GPUs", stats_is_gpu);
    if (sections & SECTION_GPUS)
        launches(&view);
    if (sections & SECTION_INSIDE) {
        inside(&view);
        lines(&view);
    }
    if (sections & SECTION_RANGES) {
        rows(&view, "Ranges", SECTION_RANGES);
        rows(&view, "Ranges on GPUs", SECTION_GPU_RANGES);
        tracks(&view, "Other tracks", is_other);
    }
    if (sections & SECTION_COUNTERS)
        counters(&view);
    if (sections & SECTION_MESSAGES)
        messages(&view);
    if (sections & SECTION_CONCURRENCY)
        concurrency(&view);
    if (sections & SECTION_LONGEST)
        longest(&view);
}
