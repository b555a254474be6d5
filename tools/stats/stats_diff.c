/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of all runs are sorted by name; equal ones are then neighbours. */
#include "stats_diff.h"
#include "wide.h"

#include <stdlib.h>
#include <string.h>

const char *const diff_metric_name[DIFF_METRICS] = {"mean", "p50", "p99", "total"};
const char *const diff_verdict_name[] = {"slower", "faster", "same", "new", "gone"};

struct sided_row {
    const struct stats_row *row;
    uint32_t run; /* of a, then of b */
};

static int compare_names(const struct stats_row *left, const struct stats_row *right)
{
    uint32_t bytes = left->name.bytes < right->name.bytes ? left->name.bytes : right->name.bytes;
    if (left->category != right->category)
        return left->category < right->category ? -1 : 1;
    int order = memcmp(left->name.text, right->name.text, bytes);
    return order ? order
                 : (left->name.bytes > right->name.bytes) - (left->name.bytes < right->name.bytes);
}

static int compare_sided(const void *a, const void *b)
{
    const struct sided_row *left = a, *right = b;
    int order = compare_names(left->row, right->row);
    return order ? order : (left->run > right->run) - (left->run < right->run);
}

uint64_t diff_value(const struct stats_row *row, enum diff_metric metric)
{
    switch (metric) {
    case DIFF_P50:
        return stats_quantile_ns(row, 500);
    case DIFF_P99:
        return stats_quantile_ns(row, 990);
    case DIFF_TOTAL:
        return row->total_ns;
    default:
        return stats_mean_ns(row);
    }
}

/* Whether after is more than before by more than the threshold. */
static bool grew(const struct diff *diff, uint64_t before, uint64_t after)
{
    return wide_less(wide_product(before, 100000 + diff->threshold), wide_product(after, 100000));
}

enum diff_verdict diff_judge(const struct diff *diff, uint64_t a, uint64_t b)
{
    return grew(diff, a, b) ? DIFF_SLOWER : grew(diff, b, a) ? DIFF_FASTER : DIFF_SAME;
}

static enum diff_verdict judge(const struct diff *diff, struct diff_row *row)
{
    const struct diff_side *a = &row->of_a, *b = &row->of_b;
    row->few = row->a.count < diff->min_count && row->b.count < diff->min_count;
    if (row->few || row->a.count + row->b.count == 0)
        return DIFF_SAME;
    if (row->a.count == 0 || row->b.count == 0)
        return row->b.count ? DIFF_NEW : DIFF_GONE;
    row->few = row->a.count < diff->min_count || row->b.count < diff->min_count;
    enum diff_verdict verdict = diff_judge(diff, a->median.value, b->median.value);
    row->noisy = (verdict == DIFF_SLOWER && b->least <= a->greatest) ||
                 (verdict == DIFF_FASTER && a->least <= b->greatest);
    return row->few || row->noisy ? DIFF_SAME : verdict;
}

/* ---- runs of a side ---------------------------------------------------------------------- */

static int compare_values(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

/* Of two in the middle the mean. */
static uint64_t median(uint64_t *values, uint32_t count)
{
    qsort(values, count, sizeof *values, compare_values);
    uint64_t low = values[(count - 1) / 2], high = values[count / 2];
    return low + (high - low) / 2;
}

static struct diff_side side_of(const struct diff_run *runs, uint32_t count)
{
    struct diff_side side = {.least = 0};
    uint64_t values[DIFF_RUNS_MAX], totals[DIFF_RUNS_MAX], counts[DIFF_RUNS_MAX];
    uint32_t known = 0;
    for (uint32_t i = 0; i < count && known < DIFF_RUNS_MAX; i++) {
        if (runs[i].count == 0)
            continue;
        values[known] = runs[i].value;
        totals[known] = runs[i].total_ns;
        counts[known++] = runs[i].count;
    }
    if (known == 0)
        return side;
    side.median =
        (struct diff_run){median(values, known), median(totals, known), median(counts, known)};
    side.least = values[0];
    side.greatest = values[known - 1];
    return side;
}

static double spread_of(const struct diff_side *side)
{
    uint64_t value = side->median.value;
    return value ? (double)(side->greatest - side->least) / (double)value : 0;
}

/* ---- rows --------------------------------------------------------------------------------- */

/* The rows of one run that have a name in common are one. False without memory. */
static bool take_run(struct diff *diff, struct diff_row *row, struct diff_run *runs,
                     const struct sided_row *sided, uint32_t count)
{
    struct stats_row sum = {.min_ns = UINT64_MAX};
    bool done = true;
    for (uint32_t i = 0; i < count && done; i++)
        done = stats_row_merge(&sum, sided[i].row);
    runs[sided->run] = (struct diff_run){diff_value(&sum, diff->metric), sum.total_ns, sum.count};
    done = done && stats_row_merge(sided->run < diff->a_runs ? &row->a : &row->b, &sum);
    histogram_free(&sum.durations);
    return done;
}

/* A row, from all that have its name. */
static bool add_row(struct diff *diff, const struct sided_row *sided, uint32_t count)
{
    struct diff_run *runs = diff->runs + (size_t)diff->count * (diff->a_runs + diff->b_runs);
    struct diff_row *row = &diff->rows[diff->count++];
    bool done = true;
    *row = (struct diff_row){.category = sided->row->category,
                             .name = sided->row->name,
                             .a.min_ns = UINT64_MAX,
                             .b.min_ns = UINT64_MAX,
                             .runs = runs};
    for (uint32_t first = 0, next; first < count && done; first = next) {
        for (next = first; next < count && sided[next].run == sided[first].run;)
            next++;
        done = take_run(diff, row, runs, &sided[first], next - first);
    }
    row->of_a = side_of(runs, diff->a_runs);
    row->of_b = side_of(runs + diff->a_runs, diff->b_runs);
    double a = spread_of(&row->of_a), b = spread_of(&row->of_b);
    row->spread = a > b ? a : b;
    return done;
}

static int64_t total_change(const struct diff_row *row)
{
    return (int64_t)(row->of_b.median.total_ns - row->of_a.median.total_ns);
}

static int compare_changes(const void *a, const void *b)
{
    const struct diff_row *left = a, *right = b;
    int64_t change = total_change(left), other = total_change(right);
    if (change != other)
        return change > other ? -1 : 1;
    struct stats_row one = {.category = left->category, .name = left->name};
    struct stats_row two = {.category = right->category, .name = right->name};
    return compare_names(&one, &two);
}

/* All rows of all runs, by name. NULL without memory. */
static struct sided_row *sided_rows(const struct stats *const *stats, uint32_t runs,
                                    uint32_t *count_out)
{
    size_t all = 0, count = 0;
    for (uint32_t run = 0; run < runs; run++)
        all += stats[run]->row_count;
    struct sided_row *sided = all < UINT32_MAX ? calloc(all + 1, sizeof *sided) : NULL;
    for (uint32_t run = 0; sided && run < runs; run++)
        for (uint32_t i = 0; i < stats[run]->row_count; i++)
            sided[count++] = (struct sided_row){&stats[run]->rows[i], run};
    if (count)
        qsort(sided, count, sizeof *sided, compare_sided);
    *count_out = (uint32_t)count;
    return sided;
}

bool diff_make(struct diff *diff, const struct stats *const *stats)
{
    uint32_t count = 0, next, names = 0, runs = diff->a_runs + diff->b_runs;
    struct sided_row *sided = sided_rows(stats, runs, &count);
    for (uint32_t i = 0; i < count; i++)
        names += i == 0 || compare_names(sided[i - 1].row, sided[i].row) != 0;
    diff->rows = calloc(names + (size_t)1, sizeof *diff->rows);
    diff->runs = calloc((names + (size_t)1) * runs, sizeof *diff->runs);
    diff->count = diff->slower = 0;
    bool done = sided && diff->rows && diff->runs;
    for (uint32_t i = 0; i < count && done; i = next) {
        for (next = i + 1; next < count && compare_names(sided[i].row, sided[next].row) == 0;)
            next++;
        done = add_row(diff, &sided[i], next - i);
    }
    free(sided);
    for (uint32_t i = 0; i < diff->count && done; i++) {
        diff->rows[i].verdict = judge(diff, &diff->rows[i]);
        diff->slower += diff->rows[i].verdict == DIFF_SLOWER;
    }
    if (done && diff->count)
        qsort(diff->rows, diff->count, sizeof *diff->rows, compare_changes);
    return done;
}

void diff_free(struct diff *diff)
{
    for (uint32_t i = 0; i < diff->count; i++) {
        histogram_free(&diff->rows[i].a.durations);
        histogram_free(&diff->rows[i].b.durations);
    }
    free(diff->rows);
    free(diff->runs);
}
