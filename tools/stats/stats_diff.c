/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of both traces are sorted by name; equal ones are then neighbours. */
#include "stats_diff.h"

#include <stdlib.h>
#include <string.h>

const char *const diff_metric_name[DIFF_METRICS] = {"mean", "p50", "p99", "total"};
const char *const diff_verdict_name[] = {"slower", "faster", "same", "new", "gone"};

struct sided_row {
    const struct stats_row *row;
    bool is_b;
};

static int compare_names(const void *a, const void *b)
{
    const struct stats_row *left = ((const struct sided_row *)a)->row;
    const struct stats_row *right = ((const struct sided_row *)b)->row;
    uint32_t bytes = left->name.bytes < right->name.bytes ? left->name.bytes : right->name.bytes;
    if (left->category != right->category)
        return left->category < right->category ? -1 : 1;
    int order = memcmp(left->name.text, right->name.text, bytes);
    return order ? order
                 : (left->name.bytes > right->name.bytes) - (left->name.bytes < right->name.bytes);
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
    __extension__ typedef unsigned __int128 wide;
    return (wide)after * 100000 > (wide)before * (100000 + diff->threshold);
}

enum diff_verdict diff_judge(const struct diff *diff, uint64_t a, uint64_t b)
{
    return grew(diff, a, b) ? DIFF_SLOWER : grew(diff, b, a) ? DIFF_FASTER : DIFF_SAME;
}

static enum diff_verdict judge(const struct diff *diff, const struct diff_row *row)
{
    if (row->a.count == 0 || row->b.count == 0)
        return row->b.count ? DIFF_NEW : row->a.count ? DIFF_GONE : DIFF_SAME;
    return diff_judge(diff, diff_value(&row->a, diff->metric), diff_value(&row->b, diff->metric));
}

static bool add_row(struct diff *diff, const struct sided_row *sided)
{
    struct diff_row *row = diff->count ? &diff->rows[diff->count - 1] : NULL;
    if (!row || row->category != sided->row->category ||
        row->name.bytes != sided->row->name.bytes ||
        memcmp(row->name.text, sided->row->name.text, row->name.bytes) != 0) {
        row = &diff->rows[diff->count++];
        *row = (struct diff_row){.category = sided->row->category,
                                 .name = sided->row->name,
                                 .a.min_ns = UINT64_MAX,
                                 .b.min_ns = UINT64_MAX};
    }
    return stats_row_merge(sided->is_b ? &row->b : &row->a, sided->row);
}

static int64_t total_change(const struct diff_row *row)
{
    return (int64_t)(row->b.total_ns - row->a.total_ns);
}

static int compare_changes(const void *a, const void *b)
{
    const struct diff_row *left = a, *right = b;
    int64_t change = total_change(left), other = total_change(right);
    if (change != other)
        return change > other ? -1 : 1;
    struct stats_row one = {.category = left->category, .name = left->name};
    struct stats_row two = {.category = right->category, .name = right->name};
    return compare_names(&(struct sided_row){&one, false}, &(struct sided_row){&two, false});
}

bool diff_make(struct diff *diff, const struct stats *a, const struct stats *b)
{
    uint32_t count = a->row_count + b->row_count;
    struct sided_row *sided = calloc(count + 1u, sizeof *sided);
    diff->rows = calloc(count + 1u, sizeof *diff->rows);
    diff->count = diff->slower = 0;
    bool done = sided && diff->rows;
    for (uint32_t i = 0; i < count && done; i++)
        sided[i] = (struct sided_row){i < a->row_count ? &a->rows[i] : &b->rows[i - a->row_count],
                                      i >= a->row_count};
    if (done)
        qsort(sided, count, sizeof *sided, compare_names);
    for (uint32_t i = 0; i < count && done; i++)
        done = add_row(diff, &sided[i]);
    free(sided);
    for (uint32_t i = 0; i < diff->count && done; i++) {
        diff->rows[i].verdict = judge(diff, &diff->rows[i]);
        diff->slower += diff->rows[i].verdict == DIFF_SLOWER;
    }
    if (done)
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
}
