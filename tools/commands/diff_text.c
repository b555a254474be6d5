/* SPDX-License-Identifier: Apache-2.0 */
#include "diff_views.h"
#include "quantity.h"
#include "text_name.h"

#include <inttypes.h>
#include <stdio.h>

static void text_cell(struct out *out, uint64_t ns)
{
    char text[QUANTITY_BYTES];
    out_format(out, "%10s", quantity_rough(text, ns, 4));
}

static bool is_repeated(const struct diff *diff)
{
    return diff->a_runs + diff->b_runs > 2;
}

static void text_row(struct out *out, const struct diff *diff, const struct diff_row *row,
                     const struct colors *colors)
{
    char text[QUANTITY_BYTES];
    const struct diff_run *of_a = &row->of_a.median, *of_b = &row->of_b.median;
    uint64_t a = of_a->value, b = of_b->value;
    const char *color = row->verdict == DIFF_SLOWER   ? colors->red
                        : row->verdict == DIFF_FASTER ? colors->bold
                                                      : "";
    out_format(out, "%s%-6s", color, diff_verdict_name[row->verdict]);
    if (row->a.count && row->b.count && a)
        out_format(out, " %7.3f", (double)b / (double)a);
    else
        out_format(out, " %7s", "-");
    text_cell(out, a);
    text_cell(out, b);
    if (is_repeated(diff))
        out_format(out, " %7.1f%%", 100 * row->spread);
    out_format(out, "%12s", quantity_grouped(text, of_a->count));
    out_format(out, "%12s", quantity_grouped(text, of_b->count));
    text_cell(out, of_a->total_ns);
    text_cell(out, of_b->total_ns);
    out_format(out, "  %-8s ", trace_category_name[row->category]);
    text_name(out, row->name.text, row->name.bytes);
    out_format(out, "%s\n", *color ? colors->off : "");
}

static void launch_row(struct out *out, const struct launch_diff *row, const struct colors *colors)
{
    char text[QUANTITY_BYTES];
    uint64_t a = row->a_value, b = row->b_value;
    const char *color = row->verdict == DIFF_SLOWER   ? colors->red
                        : row->verdict == DIFF_FASTER ? colors->bold
                                                      : "";
    out_format(out, "%s%-6s", color, diff_verdict_name[row->verdict]);
    if (a)
        out_format(out, " %7.3f", (double)b / (double)a);
    else
        out_format(out, " %7s", "-");
    text_cell(out, launch_sums_quantile_ns(&row->a, 500));
    text_cell(out, launch_sums_quantile_ns(&row->b, 500));
    text_cell(out, launch_sums_quantile_ns(&row->a, 990));
    text_cell(out, launch_sums_quantile_ns(&row->b, 990));
    out_format(out, "%12s", quantity_grouped(text, row->a.count));
    out_format(out, "%12s  ", quantity_grouped(text, row->b.count));
    text_name(out, row->name.text, row->name.bytes);
    out_format(out, "%s\n", *color ? colors->off : "");
}

static void show_launches(struct out *out, const struct tracks_diff *tracks, bool all,
                          const struct colors *colors)
{
    uint32_t shown = 0;
    for (uint32_t i = 0; i < tracks->launch_count; i++) {
        if (!all && tracks->launches[i].verdict == DIFF_SAME)
            continue;
        if (shown++ == 0)
            out_format(out, "\n%sLaunch to start%s\n%s%-6s %7s%10s%10s%10s%10s%12s%12s  %s%s\n",
                       colors->bold, colors->off, colors->dim, "", "B/A", "p50 A", "p50 B", "p99 A",
                       "p99 B", "count A", "count B", "GPU", colors->off);
        launch_row(out, &tracks->launches[i], colors);
    }
}

static void show_counters(struct out *out, const struct tracks_diff *tracks, bool all,
                          const struct colors *colors)
{
    uint32_t shown = 0;
    for (uint32_t i = 0; i < tracks->counter_count; i++) {
        const struct counter_diff *row = &tracks->counters[i];
        double a = row->a_mean, b = row->b_mean;
        if (!all && row->verdict == COUNTER_SAME)
            continue;
        if (shown++ == 0)
            out_format(out, "\n%sCounters%s\n%s%-6s %7s%13s%13s%13s%13s  %s%s\n", colors->bold,
                       colors->off, colors->dim, "", "B/A", "mean A", "mean B", "max A", "max B",
                       "name", colors->off);
        out_format(out, "%-6s", counter_verdict_name[row->verdict]);
        if (a > 0 || a < 0)
            out_format(out, " %7.3f", b / a);
        else
            out_format(out, " %7s", "-");
        out_format(out, "%13.6g%13.6g%13.6g%13.6g  ", a, b, row->a.max, row->b.max);
        text_name(out, row->name.text, row->name.bytes);
        if (row->unit.bytes) {
            out_text(out, " (");
            text_name(out, row->unit.text, row->unit.bytes);
            out_text(out, ")");
        }
        out_text(out, "\n");
    }
}

/* What is the same is no news. */
static uint32_t count_same(const struct diff *diff, const struct tracks_diff *tracks)
{
    uint32_t same = 0;
    for (uint32_t i = 0; i < diff->count; i++)
        same += diff->rows[i].verdict == DIFF_SAME;
    for (uint32_t i = 0; i < tracks->launch_count; i++)
        same += tracks->launches[i].verdict == DIFF_SAME;
    for (uint32_t i = 0; i < tracks->counter_count; i++)
        same += tracks->counters[i].verdict == COUNTER_SAME;
    return same;
}

static void show_spans(struct out *out, const struct diff *diff, bool all,
                       const struct colors *colors)
{
    char a[16], b[16];
    bool any = all;
    for (uint32_t i = 0; i < diff->count && !any; i++)
        any = diff->rows[i].verdict != DIFF_SAME;
    if (!any)
        return;
    snprintf(a, sizeof a, "%s A", diff_metric_name[diff->metric]);
    snprintf(b, sizeof b, "%s B", diff_metric_name[diff->metric]);
    out_format(out, "%s%-6s %7s%10s%10s%s%12s%12s%10s%10s  %-8s %s%s\n", colors->dim, "", "B/A", a,
               b, is_repeated(diff) ? "   spread" : "", "count A", "count B", "total A", "total B",
               "kind", "name", colors->off);
    for (uint32_t i = 0; i < diff->count; i++)
        if (all || diff->rows[i].verdict != DIFF_SAME)
            text_row(out, diff, &diff->rows[i], colors);
}

/* What counts as the same, but for another reason. */
static void show_unjudged(struct out *out, const struct diff *diff)
{
    uint32_t noisy = 0, few = 0;
    for (uint32_t i = 0; i < diff->count; i++) {
        noisy += diff->rows[i].noisy && !diff->rows[i].few;
        few += diff->rows[i].few;
    }
    if (noisy)
        out_format(
            out, "%" PRIu32 " of them differ%s by more, but runs of A and B lie among each other\n",
            noisy, noisy == 1 ? "s" : "");
    if (few)
        out_format(out, "%" PRIu32 " of them ha%s fewer than %" PRIu64 " spans\n", few,
                   few == 1 ? "s" : "ve", diff->min_count);
}

void diff_text(struct out *out, const struct diff *diff, const struct tracks_diff *tracks, bool all,
               const struct colors *colors)
{
    uint32_t same = all ? 0 : count_same(diff, tracks);
    if (same)
        out_format(out, "%" PRIu32 " row%s the same within %.4g %% (--all shows them)\n", same,
                   same == 1 ? " is" : "s are", (double)diff->threshold / 1000);
    show_unjudged(out, diff);
    show_spans(out, diff, all, colors);
    show_launches(out, tracks, all, colors);
    show_counters(out, tracks, all, colors);
}
