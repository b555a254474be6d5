/* SPDX-License-Identifier: Apache-2.0 */
#include "stats_diff.h"
#include "json_text.h"
#include "quantity.h"
#include "stats_tables.h"
#include "sorted.h"
#include "text_name.h"
#include "trace_category.h"
#include "utf8.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- JUnit's XML ----------------------------------------------------------------------------- */
/* What rbwp diff found as JUnit's XML, which CI systems show: a test case a row. */

/* ---- text ------------------------------------------------------------------------------------ */

/* XML has no way to write control characters and two others, which are replaced. */
static bool xml_has(const unsigned char *bytes, size_t length)
{
    return length && !utf8_is_control(bytes, length) &&
           !(length == 3 && bytes[0] == 0xef && bytes[1] == 0xbf && bytes[2] >= 0xbe);
}

static void xml_text(struct out *out, const char *text, size_t count)
{
    const unsigned char *bytes = (const unsigned char *)text;
    for (size_t at = 0, length; at < count; at += length ? length : 1) {
        length = utf8_length(bytes + at, count - at);
        if (!xml_has(bytes + at, length))
            out_text(out, UTF8_REPLACEMENT);
        else if (strchr("&<>\"", bytes[at]))
            out_format(out, "&#%d;", bytes[at]);
        else
            out_bytes(out, text + at, length);
    }
}

/* ---- test cases ------------------------------------------------------------------------------ */

struct junit_case {
    const char *kind;
    struct trace_text name;
    enum diff_verdict verdict;
    enum diff_metric by;
    uint64_t a, b;
    bool few;
};

static struct junit_case case_of(const struct diff *diff, uint32_t i)
{
    if (i < diff->count) {
        const struct diff_row *row = &diff->rows[i];
        return (struct junit_case){trace_category_name[row->category],
                                   row->name,
                                   row->verdict,
                                   row->by,
                                   row->of_a.median.value,
                                   row->of_b.median.value,
                                   row->few};
    }
    const struct launch_diff *row = &diff->launches[i - diff->count];
    const bool has = diff->metric >= DIFF_P50 && diff->metric <= DIFF_TOTAL;
    return (struct junit_case){
        "launch to start", row->name,    row->verdict, has ? diff->metric : DIFF_MEAN,
        row->a_value,      row->b_value, false};
}

/* Why it was not judged; NULL: it was. */
static const char *skipped(const struct diff *diff, const struct junit_case *row)
{
    return row->few                    ? "too few spans (--min-count)"
           : row->verdict == DIFF_NEW  ? "only after has it"
           : row->verdict == DIFF_GONE ? "only before has it"
           : !diff->judged             ? "too few runs for a verdict"
                                       : NULL;
}

static void case_text(struct out *out, const struct diff *diff, const struct junit_case *row)
{
    const char *why = skipped(diff, row);
    out_format(out, "<testcase classname=\"%s\" name=\"", row->kind);
    xml_text(out, row->name.text, row->name.bytes);
    out_text(out, "\">");
    if (why)
        out_format(out, "<skipped message=\"%s\"/>", why);
    else if (row->verdict == DIFF_SLOWER)
        out_format(out,
                   "<failure message=\"%s %s, was %s: %.3f times (threshold %.4g %%, error rate "
                   "%.2g %%)%s\"/>",
                   diff_metric_name[row->by], DURATION(row->b), DURATION(row->a),
                   (double)row->b / (double)row->a, (double)diff->threshold / 1000,
                   100 * diff->error_rate,
                   diff->turns == TURNS_NOT_TAKEN ? "; the runs were not made by turns" : "");
    out_text(out, "</testcase>\n");
}

void diff_junit(struct out *out, const struct diff *diff)
{
    uint32_t failures = 0, left = 0;
    const uint32_t count = diff->count + diff->launch_count;
    for (uint32_t i = 0; i < count; i++) {
        const struct junit_case row = case_of(diff, i);
        const bool is_skipped = skipped(diff, &row) != NULL;
        left += is_skipped;
        failures += !is_skipped && row.verdict == DIFF_SLOWER;
    }
    out_format(out,
               "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"rbwp "
               "diff\" tests=\"%" PRIu32 "\" failures=\"%" PRIu32
               "\" errors=\"0\" skipped=\"%" PRIu32 "\">\n",
               count, failures, left);
    for (uint32_t i = 0; i < count; i++) {
        const struct junit_case row = case_of(diff, i);
        case_text(out, diff, &row);
    }
    out_text(out, "</testsuite>\n</testsuites>\n");
}

/* ---- text and columns ------------------------------------------------------------------------ */
/* How rbwp diff shows what it found: three tables, of which people see what is not the same. */

#define VERDICT(type)                                                                              \
    {                                                                                              \
        "verdict", NULL, -6, RESULT_CHOICE, RESULT_FIELD(struct type, verdict),                    \
            .words = diff_verdict_name, .what = DIFF_VERDICTS                                      \
    }

static struct result_cell ratio(bool known, double a, double b)
{
    return known && isfinite(b / a) ? result_f64(b / a) : result_nothing();
}

/* ---- spans --------------------------------------------------------------------------------- */

#define DIFF_FORMS_ROW(field) RESULT_FIELD(struct diff_row, field)
#define SIDE_KEYS "count,unfinished,total,self,mean,p50,p90,p99,max"

RESULT_MAKES(row_ratio, diff_row,
             ratio(row->a.count && row->b.count && row->of_a.median.value,
                   (double)row->of_a.median.value, (double)row->of_b.median.value))

RESULT_MAKES(row_spread, diff_row,
             row->a.count && row->b.count ? result_f64(row->spread) : result_nothing())

RESULT_MAKES(mean_ratio, diff_row,
             ratio(row->mean_a_ns, (double)row->mean_a_ns, (double)row->mean_b_ns))

/* Where rows are compared by different measures, each says by which. */
static bool diff_is_mixed(const void *all)
{
    return ((const struct diff *)all)->metric == DIFF_NET && ((const struct diff *)all)->means;
}

static bool diff_is_net(const void *all)
{
    return ((const struct diff *)all)->metric == DIFF_NET;
}

/* Nothing of a side that has no such row. what: of b, and 2 more for the total. */
static struct result_cell side_ns(const struct result_at *at, int what)
{
    const struct diff_row *row = at->row;
    const struct diff_run *run = what % 2 ? &row->of_b.median : &row->of_a.median;
    return run->count ? result_u64(what < 2 ? run->value : run->total_ns) : result_nothing();
}

/* What was compared, of each run; null where it has none of that. */
static void put_values(struct out *out, const char *key, const struct diff_run *runs,
                       uint32_t count)
{
    json_open(out, key, '[');
    for (uint32_t i = 0; i < count; i++) {
        out_text(out, i ? "," : "");
        if (runs[i].count)
            out_u64(out, runs[i].value);
        else
            out_text(out, "null");
    }
    out_text(out, "]");
}

static void put_runs(struct out *out, const struct result_at *at)
{
    const struct diff *diff = at->all;
    const struct diff_row *row = at->row;
    json_open(out, "runs", '{');
    put_values(out, "a", row->runs, diff->a_runs);
    put_values(out, "b", row->runs + diff->a_runs, diff->b_runs);
    out_text(out, "}");
}

static void show_kind_and_name(struct out *out, const struct result_at *at)
{
    const struct diff_row *row = at->row;
    out_format(out, "  %-8s ", trace_category_name[row->category]);
    text_name(out, row->name.text, row->name.bytes);
}

static const struct result_column row_columns[] = {
    VERDICT(diff_row),
    {"category", "kind", 0, RESULT_CHOICE, DIFF_FORMS_ROW(category), .words = trace_category_name,
     .what = TRACE_CATEGORIES},
    {"name", NULL, 0, RESULT_TEXT, DIFF_FORMS_ROW(name)},
    {"ratio", "B/A", 8, RESULT_RATIO, RESULT_MADE(row_ratio, 0), .nullable = true},
    {"by", "by", -4, RESULT_CHOICE, DIFF_FORMS_ROW(by), .words = diff_metric_name,
     .what = DIFF_METRICS, .there = diff_is_mixed},
    {NULL, "of A", 10, RESULT_NS, RESULT_MADE(side_ns, 0)},
    {NULL, "of B", 10, RESULT_NS, RESULT_MADE(side_ns, 1)},
    {"a", NULL, 0, RESULT_PART, DIFF_FORMS_ROW(a), .part = stats_row_columns, .only = SIDE_KEYS},
    {"b", NULL, 0, RESULT_PART, DIFF_FORMS_ROW(b), .part = stats_row_columns, .only = SIDE_KEYS},
    {"spread", "spread", 9, RESULT_SHARE, RESULT_MADE(row_spread, 0), .nullable = true},
    {"mean_ratio", "mean B/A", 10, RESULT_RATIO, RESULT_MADE(mean_ratio, 0), .nullable = true,
     .there = diff_is_net},
    {"slower_by_mean", NULL, 0, RESULT_BOOL, DIFF_FORMS_ROW(slower_by_mean), .there = diff_is_net},
    {"seen_from", NULL, 0, RESULT_SHARE, DIFF_FORMS_ROW(seen_from)},
    {NULL, "count A", 12, RESULT_COUNT, DIFF_FORMS_ROW(of_a.median.count)},
    {NULL, "count B", 12, RESULT_COUNT, DIFF_FORMS_ROW(of_b.median.count)},
    {NULL, "total A", 10, RESULT_NS, RESULT_MADE(side_ns, 2)},
    {NULL, "total B", 10, RESULT_NS, RESULT_MADE(side_ns, 3)},
    {"noisy", NULL, 0, RESULT_BOOL, DIFF_FORMS_ROW(noisy)},
    {"few", NULL, 0, RESULT_BOOL, DIFF_FORMS_ROW(few)},
    {"runs", NULL, 0, RESULT_OWN, .put = put_runs,
     .form = "{\"type\":\"object\",\"additionalProperties\":{\"type\":\"array\",\"items\":"
             "{\"type\":[\"integer\",\"null\"]}}}"},
    {NULL, "kind     name", 0, RESULT_OWN, .show = show_kind_and_name},
    {0}};
static const struct result_table rows_table = {
    "rows",
    NULL,
    row_columns,
    "verdict,B/A,by,of A,of B,spread,mean B/A,count A,count B,total A,total B,kind     name",
    NULL,
    0};

/* ---- launches -------------------------------------------------------------------------------- */

#define DIFF_FORMS_LAUNCH(field) RESULT_FIELD(struct launch_diff, field)
#define LAUNCH_KEYS "count,mean,p50,p99,max"

RESULT_MAKES(launch_ratio, launch_diff,
             ratio(row->a_value, (double)row->a_value, (double)row->b_value))
RESULT_MAKES(of_a, launch_diff, result_u64(launch_sums_quantile_ns(&row->a, (unsigned)what)))
RESULT_MAKES(of_b, launch_diff, result_u64(launch_sums_quantile_ns(&row->b, (unsigned)what)))

static const struct result_column launch_columns[] = {
    VERDICT(launch_diff),
    {"name", "GPU", 0, RESULT_TEXT, DIFF_FORMS_LAUNCH(name)},
    {"ratio", "B/A", 8, RESULT_RATIO, RESULT_MADE(launch_ratio, 0), .nullable = true},
    {NULL, "of A", 10, RESULT_NS, DIFF_FORMS_LAUNCH(a_value)},
    {NULL, "of B", 10, RESULT_NS, DIFF_FORMS_LAUNCH(b_value)},
    {NULL, "p50 A", 10, RESULT_NS, RESULT_MADE(of_a, 500)},
    {NULL, "p50 B", 10, RESULT_NS, RESULT_MADE(of_b, 500)},
    {NULL, "p99 A", 10, RESULT_NS, RESULT_MADE(of_a, 990)},
    {NULL, "p99 B", 10, RESULT_NS, RESULT_MADE(of_b, 990)},
    {NULL, "count A", 12, RESULT_COUNT, DIFF_FORMS_LAUNCH(a.count)},
    {NULL, "count B", 12, RESULT_COUNT, DIFF_FORMS_LAUNCH(b.count)},
    {"a", NULL, 0, RESULT_PART, DIFF_FORMS_LAUNCH(a), .part = stats_launch_columns,
     .only = LAUNCH_KEYS},
    {"b", NULL, 0, RESULT_PART, DIFF_FORMS_LAUNCH(b), .part = stats_launch_columns,
     .only = LAUNCH_KEYS},
    {"noisy", NULL, 0, RESULT_BOOL, DIFF_FORMS_LAUNCH(noisy)},
    {0}};
static const struct result_table launches_table = {
    "launches",     "Launch to start",
    launch_columns, "verdict,B/A,p50 A,p50 B,p99 A,p99 B,count A,count B,GPU",
    NULL,           0};

/* ---- counters -------------------------------------------------------------------------------- */

#define SIDE(field) RESULT_FIELD(struct counter_side, field)
#define DIFF_FORMS_COUNTER(field) RESULT_FIELD(struct counter_diff, field)

RESULT_MAKES(side_mean, counter_side, result_f64(counter_side_mean(row)))
RESULT_MAKES(counter_ratio, counter_diff,
             ratio(row->a_mean > 0 || row->a_mean < 0, row->a_mean, row->b_mean))

static const struct result_column side_columns[] = {
    {"samples", NULL, 0, RESULT_COUNT, SIDE(count)},
    {"min", NULL, 0, RESULT_DECIMAL, SIDE(min)},
    {"mean", NULL, 0, RESULT_DECIMAL, RESULT_MADE(side_mean, 0)},
    {"max", NULL, 0, RESULT_DECIMAL, SIDE(max)},
    {0}};

static const struct result_column diff_forms_counter_columns[] = {
    VERDICT(counter_diff),
    {"name", "name", 0, RESULT_TEXT, DIFF_FORMS_COUNTER(name)},
    {"unit", NULL, 0, RESULT_TEXT, DIFF_FORMS_COUNTER(unit)},
    {"ratio", "B/A", 8, RESULT_RATIO, RESULT_MADE(counter_ratio, 0), .nullable = true},
    {NULL, "mean A", 13, RESULT_REAL, DIFF_FORMS_COUNTER(a_mean)},
    {NULL, "mean B", 13, RESULT_REAL, DIFF_FORMS_COUNTER(b_mean)},
    {NULL, "max A", 13, RESULT_REAL, DIFF_FORMS_COUNTER(a.max)},
    {NULL, "max B", 13, RESULT_REAL, DIFF_FORMS_COUNTER(b.max)},
    {"a", NULL, 0, RESULT_PART, DIFF_FORMS_COUNTER(a), .part = side_columns},
    {"b", NULL, 0, RESULT_PART, DIFF_FORMS_COUNTER(b), .part = side_columns},
    {"noisy", NULL, 0, RESULT_BOOL, DIFF_FORMS_COUNTER(noisy)},
    {0}};
static const struct result_table counters_table = {"counters",
                                                   "Counters",
                                                   diff_forms_counter_columns,
                                                   "verdict,B/A,mean A,mean B,max A,max B,name",
                                                   NULL,
                                                   0};

static void diff_forms_behind_counter(const struct result_view *view, const struct result_at *at)
{
    const struct trace_text unit = ((const struct counter_diff *)at->row)->unit;
    if (!unit.bytes)
        return;
    out_text(view->out, " (");
    text_name(view->out, unit.text, unit.bytes);
    out_text(view->out, ")");
}

/* ---- all ------------------------------------------------------------------------------------- */

#define DIFF(field) RESULT_FIELD(struct diff, field)
#define DIFF_FORMS_LIST(table, array, count)                                                       \
    {                                                                                              \
#array, NULL, 0, RESULT_LIST, .list = &(table), RESULT_LIST_OF(struct diff, array, count)  \
    }

static void put_threshold(struct out *out, const struct result_at *at)
{
    json_key(out, "threshold_percent");
    out_format(out, "%.3f", (double)((const struct diff *)at->row)->threshold / 1000);
}

const struct result_column diff_columns[] = {
    {"by", NULL, 0, RESULT_CHOICE, DIFF(metric), .words = diff_metric_name, .what = DIFF_METRICS},
    {"threshold_percent", NULL, 0, RESULT_OWN, .put = put_threshold,
     .form = "{\"type\":\"number\"}"},
    {"slower", NULL, 0, RESULT_COUNT, DIFF(slower)},
    {"judged", NULL, 0, RESULT_BOOL, DIFF(judged)},
    {"error_rate", NULL, 0, RESULT_SHARE, DIFF(error_rate)},
    {"comparisons", NULL, 0, RESULT_COUNT, DIFF(comparisons)},
    {"runs_needed", NULL, 0, RESULT_COUNT, DIFF(runs_needed)},
    {"interleaved", NULL, 0, RESULT_CHOICE, DIFF(turns), .words = turns_name, .what = TURNS_WORDS},
    DIFF_FORMS_LIST(rows_table, rows, count),
    DIFF_FORMS_LIST(launches_table, launches, launch_count),
    DIFF_FORMS_LIST(counters_table, counters, counter_count),
    {0}};
enum { TABLES = 3, FIRST_TABLE = 8 };

/* Every row begins with its verdict. */
static enum diff_verdict verdict_of(const void *row)
{
    return *(const enum diff_verdict *)row;
}

static const char *color_of(const struct colors *colors, const void *row)
{
    return verdict_of(row) == DIFF_SLOWER   ? colors->red
           : verdict_of(row) == DIFF_FASTER ? colors->bold
                                            : "";
}

/* Rows that are shown, in an order that the caller frees; *same_out counts the others, too. */
static struct result_rows diff_forms_rows_of(struct out *out, const struct diff *diff,
                                             unsigned table, bool all, uint32_t *same_out)
{
    struct result_rows every =
        result_list(&diff_columns[FIRST_TABLE + table], &(struct result_at){diff, diff, NULL, 0});
    struct result_rows rows = result_ordered(every.first, every.stride, every.count);
    if (!rows.order)
        out_give_up(out, ENOMEM);
    rows.count = 0;
    for (uint32_t i = 0; rows.order && i < every.count; i++) {
        const void *row = result_row(&every, diff, NULL, i).row;
        bool same = verdict_of(row) == DIFF_SAME;
        if (all || !same || (table == 0 && ((const struct diff_row *)row)->slower_by_mean))
            rows.order[rows.count++] = i;
        *same_out += same;
    }
    return rows;
}

/* What counts as the same, but for another reason. */
static void unjudged_text(struct out *out, const struct diff *diff)
{
    uint32_t noisy = 0, few = 0, by_mean = 0;
    for (uint32_t i = 0; i < diff->count; i++) {
        by_mean += diff->rows[i].slower_by_mean;
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
    if (by_mean)
        out_format(out,
                   "%" PRIu32
                   " row%s slower by mean alone: ready to run for longer, while other programs or "
                   "its own threads had the CPUs (--by mean judges that)\n",
                   by_mean, by_mean == 1 ? " is" : "s are");
}

/* What is compared where that was not asked for; of files that have calls why it is not net. */
static void measure_text(struct out *out, const struct diff *diff)
{
    uint32_t calls = 0;
    for (uint32_t i = 0; i < diff->count; i++)
        calls += diff->rows[i].category == TRACE_CALL;
    if (diff->metric == DIFF_NET)
        out_text(out,
                 "By net: the mean without the time that calls were ready to run but had no CPU\n");
    if (diff->means && diff->metric == DIFF_NET)
        out_format(out, "By mean: %" PRIu32 " row%s of which that time is not known\n", diff->means,
                   diff->means == 1 ? "" : "s");
    else if (diff->means && calls)
        out_text(out, "By mean, not by net: when calls ran is not known in all files "
                      "(-bgworkprofile_cpu)\n");
}

SORTED_COMPARE(compare_seen, double, *it)

/* How much growth there had to be for a verdict. */
static void seen_text(struct out *out, const struct diff *diff)
{
    double *seen = calloc(diff->count + 1u, sizeof *seen);
    uint32_t count = 0;
    if (!seen)
        out_give_up(out, ENOMEM);
    for (uint32_t i = 0; seen && i < diff->count; i++)
        if (diff->rows[i].seen_from > 0)
            seen[count++] = diff->rows[i].seen_from;
    if (count) {
        qsort(seen, count, sizeof *seen, compare_seen);
        out_format(
            out,
            "A change of %.2g %% would have been seen in half of them, one of %.2g %% in all "
            "(error rate of all together: %.2g %%)\n",
            100 * seen[count / 2], 100 * seen[count - 1], 100 * diff->error_rate);
    }
    free(seen);
}

static void doubt_text(struct out *out, const struct diff *diff)
{
    if (diff->slower)
        out_format(out,
                   "What is slower here may be so by chance: that takes %" PRIu32
                   " runs a side (--before, --after)\n",
                   diff->runs_needed);
}

/* What is compared has the metric's name, if that is one. */
static void rows_text(const struct result_view *view, const struct diff *diff,
                      const struct result_rows *rows)
{
    struct result_layout layout = result_layout(view, &rows_table, NULL, 0);
    struct result_column values[2];
    char titles[2][16];
    for (int side = 0; side < 2 && !diff_is_mixed(diff); side++) {
        const struct result_column **column = &layout.columns[2 + side].column;
        snprintf(titles[side], sizeof titles[side], "%s %c", diff_metric_name[diff->metric],
                 "AB"[side]);
        values[side] = **column;
        values[side].title = titles[side];
        *column = &values[side];
    }
    if (diff->a_runs + diff->b_runs == 2)
        result_layout_drop(&layout, "spread", 6);
    layout.color = color_of;
    result_text(view, &rows_table, &layout, rows, diff, NULL);
}

void diff_text(struct out *out, const struct diff *diff, bool all, struct colors colors)
{
    const struct result_view view = {
        .out = out, .colors = colors, .width = UINT16_MAX, .all = diff};
    struct result_rows rows[TABLES];
    uint32_t same = 0;
    for (unsigned i = 0; i < TABLES; i++)
        rows[i] = diff_forms_rows_of(out, diff, i, all, &same);
    if (same && !all)
        out_format(out, "%" PRIu32 " row%s the same within %.4g %% (--all shows them)\n", same,
                   same == 1 ? " is" : "s are", (double)diff->threshold / 1000);
    unjudged_text(out, diff);
    rows_text(&view, diff, &rows[0]);
    for (unsigned i = 1; i < TABLES; i++) {
        const struct result_table *table = diff_columns[FIRST_TABLE + i].list;
        struct result_layout layout = result_layout(&view, table, NULL, 0);
        layout.color = color_of;
        result_text(&view, table, &layout, &rows[i], diff,
                    i == 2 ? diff_forms_behind_counter : NULL);
    }
    measure_text(out, diff);
    if (diff->judged)
        seen_text(out, diff);
    else
        doubt_text(out, diff);
    if (diff->turns == TURNS_NOT_TAKEN)
        out_text(out, "The runs of A and B were not made by turns: a change may be one of the "
                      "machine (rbwp compare makes them so)\n");
    for (unsigned i = 0; i < TABLES; i++)
        free(rows[i].order);
}
