/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows are matched by category and name: slots and ids may differ from run to
 * run. Rows of one trace that have both in common are one. Of several runs a side
 * the median counts, and where chance makes runs lie as they do nothing is said to have changed
 * (permutation_test.h).
 *
 * Rows of all runs are sorted by name, tracks by name and unit; equal ones are then neighbours.
 */
#include "stats_diff.h"
#include "sorted.h"

#include "permutation_test.h"
#include "stats_tables.h"
#include "wide.h"

#include <stdlib.h>

const char *const diff_metric_name[DIFF_METRICS] = {"net",   "mean",    "p50",      "p99",
                                                    "total", "running", "runnable", "waiting"};
const char *const diff_verdict_name[DIFF_VERDICTS] = {"slower", "faster", "same", "new",
                                                      "gone",   "more",   "less"};

struct sided_row {
    const struct stats_row *row;
    uint32_t run; /* of a, then of b */
};

static int compare_names(const struct stats_row *left, const struct stats_row *right)
{
    SORTED_BY(left, right, category);
    return trace_text_compare(left->name, right->name);
}

static int compare_sided(const void *a, const void *b)
{
    const struct sided_row *left = a, *right = b;
    int order = compare_names(left->row, right->row);
    return order ? order : (left->run > right->run) - (left->run < right->run);
}

static uint64_t row_value(const struct stats_row *row, enum diff_metric metric)
{
    switch (metric) {
    case DIFF_P50:
        return stats_quantile_ns(row, 500);
    case DIFF_P99:
        return stats_quantile_ns(row, 990);
    case DIFF_TOTAL:
        return row->total_ns;
    case DIFF_RUNNING:
        return row->count ? row->cpu.running_ns / row->count : 0;
    case DIFF_RUNNABLE:
        return row->count ? row->cpu.runnable_ns / row->count : 0;
    case DIFF_NET: {
        const uint64_t mean = stats_mean_ns(row), runnable = row_value(row, DIFF_RUNNABLE);
        return mean > runnable ? mean - runnable : 0;
    }
    case DIFF_WAITING:
        return row->count ? row->cpu.waiting_ns / row->count : 0;
    default:
        return stats_mean_ns(row);
    }
}

/* ---- runs of a side ---------------------------------------------------------------------- */

SORTED_COMPARE(diff_compare_numbers, uint64_t, *it)

/* Of two in the middle the mean. */
static uint64_t median_number(uint64_t *values, uint32_t count)
{
    qsort(values, count, sizeof *values, diff_compare_numbers);
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
    side.median = (struct diff_run){.value = median_number(values, known),
                                    .total_ns = median_number(totals, known),
                                    .count = median_number(counts, known)};
    side.least = values[0];
    side.greatest = values[known - 1];
    return side;
}

static double spread_of(const struct diff_side *side)
{
    uint64_t value = side->median.value;
    return value ? (double)(side->greatest - side->least) / (double)value : 0;
}

/* Whether after is more than before by more than the threshold. */
static bool grew(const struct diff *diff, uint64_t before, uint64_t after)
{
    return wide_less(wide_product(before, 100000 + diff->threshold), wide_product(after, 100000));
}

/* ---- verdicts ------------------------------------------------------------------------------ */

/* Runs of a side that have a value. */
static uint32_t known_values(const struct diff_run *runs, uint32_t count,
                             uint64_t values[DIFF_RUNS_MAX])
{
    uint32_t known = 0;
    for (uint32_t i = 0; i < count && known < DIFF_RUNS_MAX; i++)
        if (runs[i].count)
            values[known++] = runs[i].value;
    return known;
}

struct compared {
    uint64_t a[DIFF_RUNS_MAX], b[DIFF_RUNS_MAX];
    uint32_t a_count, b_count;
};

static struct compared compared_runs(const struct diff *diff, const struct diff_run *runs)
{
    struct compared both;
    both.a_count = known_values(runs, diff->a_runs, both.a);
    both.b_count = known_values(runs + diff->a_runs, diff->b_runs, both.b);
    return both;
}

/* Some run of the side with more is no more than one of the other. */
static bool lie_among(const uint64_t *less, uint32_t m, const uint64_t *more, uint32_t n)
{
    for (uint32_t i = 0; i < m; i++)
        for (uint32_t j = 0; j < n; j++)
            if (more[j] <= less[i])
                return true;
    return false;
}

/* Whether chance makes such runs as well; of too few runs whether they lie among each other. */
static bool by_chance(struct diff *diff, const struct compared *both, bool slower, double factor)
{
    const uint64_t *less = slower ? both->a : both->b, *more = slower ? both->b : both->a;
    const uint32_t m = slower ? both->a_count : both->b_count;
    const uint32_t n = slower ? both->b_count : both->a_count;
    if (!diff->judged)
        return lie_among(less, m, more, n);
    const double chance = permutation_test_chance(less, m, more, n, factor);
    diff->failed |= chance == PERMUTATION_TEST_FAILED;
    return chance > diff->error_rate / diff->comparisons;
}

/* What b is, held against a. */
static enum diff_verdict judge_sides(struct diff *diff, uint64_t a, uint64_t b,
                                     const struct compared *both, bool *noisy_out)
{
    const bool slower = grew(diff, a, b), faster = grew(diff, b, a);
    *noisy_out = (slower || faster) && by_chance(diff, both, slower, 1);
    return *noisy_out ? DIFF_SAME : slower ? DIFF_SLOWER : faster ? DIFF_FASTER : DIFF_SAME;
}

/* As if b had the median of a, times a factor that is looked for. */
static double seen_from(struct diff *diff, uint64_t a, uint64_t b, const struct compared *both)
{
    enum { STEPS = 14 };
    double low = 0, high = 8; /* growth */
    const double level = b ? (double)a / (double)b : 0;
    if (!diff->judged || level <= 0 || by_chance(diff, both, true, 1 / (level * (1 + high))))
        return 0;
    for (int i = 0; i < STEPS; i++) {
        const double middle = (low + high) / 2;
        const bool seen = !by_chance(diff, both, true, 1 / (level * (1 + middle)));
        *(seen ? &high : &low) = middle;
    }
    const double threshold = (double)diff->threshold / 100000;
    return high > threshold ? high : threshold;
}

static bool is_judged(const struct diff *diff, const struct diff_row *row)
{
    return row->a.count && row->b.count && row->a.count >= diff->min_count &&
           row->b.count >= diff->min_count;
}

/* Of these runs, with the medians of both sides. */
static enum diff_verdict judge_values(struct diff *diff, const struct diff_run *runs,
                                      uint64_t *a_out, uint64_t *b_out, bool *noisy_out)
{
    const struct compared both = compared_runs(diff, runs);
    *a_out = side_of(runs, diff->a_runs).median.value;
    *b_out = side_of(runs + diff->a_runs, diff->b_runs).median.value;
    return judge_sides(diff, *a_out, *b_out, &both, noisy_out);
}

/* Time without a CPU may be the program's own doing: of its threads that take each other's. */
static void look_at_mean(struct diff *diff, struct diff_row *row)
{
    struct diff_run runs[2 * DIFF_RUNS_MAX];
    bool noisy;
    for (uint32_t i = 0; i < diff->a_runs + diff->b_runs; i++) {
        runs[i] = row->runs[i];
        runs[i].value = runs[i].mean_ns;
    }
    row->slower_by_mean =
        judge_values(diff, runs, &row->mean_a_ns, &row->mean_b_ns, &noisy) == DIFF_SLOWER &&
        row->verdict != DIFF_SLOWER;
}

static enum diff_verdict judge_row(struct diff *diff, struct diff_row *row)
{
    row->few = row->a.count < diff->min_count && row->b.count < diff->min_count;
    if (row->few || row->a.count + row->b.count == 0)
        return DIFF_SAME;
    if (row->a.count == 0 || row->b.count == 0)
        return row->b.count ? DIFF_NEW : DIFF_GONE;
    const struct compared both = compared_runs(diff, row->runs);
    const uint64_t a = row->of_a.median.value, b = row->of_b.median.value;
    row->few = !is_judged(diff, row);
    row->seen_from = row->few ? 0 : seen_from(diff, a, b, &both);
    enum diff_verdict verdict = judge_sides(diff, a, b, &both, &row->noisy);
    return row->few ? DIFF_SAME : verdict;
}

static void judge_rows(struct diff *diff)
{
    for (uint32_t i = 0; i < diff->count; i++) {
        struct diff_row *row = &diff->rows[i];
        row->verdict = judge_row(diff, row);
        diff->slower += row->verdict == DIFF_SLOWER;
        if (row->by == DIFF_NET && is_judged(diff, row))
            look_at_mean(diff, row);
    }
}

/* Before the verdicts: how many comparisons share the error rate. */
static void count_comparisons(struct diff *diff)
{
    for (uint32_t i = 0; i < diff->count; i++)
        diff->comparisons += is_judged(diff, &diff->rows[i]);
    for (uint32_t i = 0; i < diff->launch_count; i++)
        diff->comparisons += diff->launches[i].a.count && diff->launches[i].b.count;
    diff->comparisons += diff->comparisons == 0;
    diff->error_rate = DIFF_ERROR_RATE;
    diff->runs_needed = permutation_test_values(diff->error_rate / diff->comparisons);
    diff->judged =
        permutation_test_best(diff->a_runs, diff->b_runs) <= diff->error_rate / diff->comparisons;
}

/* ---- rows --------------------------------------------------------------------------------- */

/* What is not known is too little to pass a threshold. Unfinished calls are not in the mean. */
static bool knows_net(const struct stats_row *row)
{
    const uint64_t finished_ns = row->total_ns - row->open_ns;
    const struct trace_cpu *cpu = &row->cpu;
    const uint64_t known_ns =
        stats_sum(cpu->running_ns, stats_sum(cpu->runnable_ns, cpu->waiting_ns));
    return known_ns && known_ns >= finished_ns - finished_ns / 1000;
}

/* The rows of one run that have a name in common are one. False without memory. */
static bool take_run(struct diff *diff, struct diff_row *row, struct diff_run *runs,
                     const struct sided_row *sided, uint32_t count)
{
    struct stats_row sum = {.min_ns = UINT64_MAX};
    bool done = true;
    for (uint32_t i = 0; i < count && done; i++)
        done = result_merge(stats_row_columns, &sum, sided[i].row, false);
    runs[sided->run] = (struct diff_run){row_value(&sum, diff->metric), sum.total_ns, sum.count,
                                         stats_mean_ns(&sum), knows_net(&sum)};
    done = done && result_merge(stats_row_columns, sided->run < diff->a_runs ? &row->a : &row->b,
                                &sum, false);
    histogram_free(&sum.durations);
    return done;
}

/* A row, from all that have its name. */
static bool diff_add_row(struct diff *diff, const struct sided_row *sided, uint32_t count)
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
    return done;
}

/* As wanted, or by mean where a run that has the row does not know net: net of one beside the mean
 * of another is no comparison. */
static enum diff_metric metric_of(const struct diff *diff, const struct diff_row *row)
{
    for (uint32_t i = 0; i < diff->a_runs + diff->b_runs; i++)
        if (diff->metric == DIFF_NET && row->runs[i].count && !row->runs[i].knows_net)
            return DIFF_MEAN;
    return diff->metric;
}

static void settle_row(const struct diff *diff, struct diff_row *row)
{
    if (diff->metric == DIFF_MEAN)
        row->by = DIFF_MEAN;
    for (uint32_t i = 0; row->by == DIFF_MEAN && i < diff->a_runs + diff->b_runs; i++)
        row->runs[i].value = row->runs[i].mean_ns;
    row->of_a = side_of(row->runs, diff->a_runs);
    row->of_b = side_of(row->runs + diff->a_runs, diff->b_runs);
    double a = spread_of(&row->of_a), b = spread_of(&row->of_b);
    row->spread = a > b ? a : b;
}

/* Which measure is compared: after all runs of all rows are known. */
static void settle_rows(struct diff *diff)
{
    uint32_t both = 0;
    for (uint32_t i = 0; i < diff->count; i++) {
        struct diff_row *row = &diff->rows[i];
        row->by = metric_of(diff, row);
        both += row->a.count && row->b.count;
        diff->means += row->a.count && row->b.count && row->by != diff->metric;
    }
    if (diff->metric == DIFF_NET && diff->means == both)
        diff->metric = DIFF_MEAN;
    for (uint32_t i = 0; i < diff->count; i++)
        settle_row(diff, &diff->rows[i]);
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

static bool make_rows(struct diff *diff, const struct stats *const *stats)
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
        done = diff_add_row(diff, &sided[i], next - i);
    }
    free(sided);
    settle_rows(diff);
    if (done && diff->count)
        qsort(diff->rows, diff->count, sizeof *diff->rows, compare_changes);
    return done;
}

/* ---- launches and counters: tracks of all runs ------------------------------------------------
 */

struct sided_track {
    const struct stats_track *stats;
    uint32_t run; /* of a, then of b */
};

/* Values of the runs of a side. */
struct side_values {
    double value[DIFF_RUNS_MAX];
    uint32_t count;
};

static int compare_tracks(const void *a, const void *b)
{
    const struct trace_track *left = &((const struct sided_track *)a)->stats->track;
    const struct trace_track *right = &((const struct sided_track *)b)->stats->track;
    int order = trace_text_compare(left->name, right->name);
    order = order ? order : trace_text_compare(left->unit, right->unit);
    uint32_t run = ((const struct sided_track *)a)->run,
             other = ((const struct sided_track *)b)->run;
    return order ? order : (run > other) - (run < other);
}

/* ---- runs ------------------------------------------------------------------------ */

SORTED_COMPARE(compare_values, double, *it)

/* Sorts them; of two in the middle the mean. */
static double median(struct side_values *side)
{
    if (side->count == 0)
        return 0;
    qsort(side->value, side->count, sizeof *side->value, compare_values);
    return (side->value[(side->count - 1) / 2] + side->value[side->count / 2]) / 2;
}

/* Of sides whose medians are known: some run of the one with more is no more than one of the other.
 */
static bool overlap(const struct side_values *less, const struct side_values *more)
{
    return more->value[0] <= less->value[less->count - 1];
}

/* ---- launches -------------------------------------------------------------------- */

static uint64_t launch_value(const struct launch_sums *side, enum diff_metric metric)
{
    switch (metric) {
    case DIFF_P50:
        return launch_sums_quantile_ns(side, 500);
    case DIFF_P99:
        return launch_sums_quantile_ns(side, 990);
    case DIFF_TOTAL:
        return side->total_ns;
    default:
        return launch_sums_mean_ns(side);
    }
}

static bool add_launches(struct launch_sums *to, const struct launch_sums *from)
{
    return result_merge(stats_launch_columns, to, from, to->count == 0);
}

static bool take_launches(struct diff *diff, struct launch_sums *runs,
                          const struct sided_track *track)
{
    const struct launch_sums *sums = track->stats->launches;
    if (!sums || sums->count == 0)
        return true;
    struct launch_diff *row = diff->launch_count ? &diff->launches[diff->launch_count - 1] : NULL;
    if (!row || trace_text_compare(row->name, track->stats->track.name) != 0) {
        row = &diff->launches[diff->launch_count++];
        row->name = track->stats->track.name;
    }
    runs += (size_t)(diff->launch_count - 1) * (diff->a_runs + diff->b_runs);
    return add_launches(&runs[track->run], sums) &&
           add_launches(track->run < diff->a_runs ? &row->a : &row->b, sums);
}

static void judge_launch(struct launch_diff *row, struct diff *diff, const struct launch_sums *runs)
{
    struct diff_run values[2 * DIFF_RUNS_MAX];
    for (uint32_t i = 0; i < diff->a_runs + diff->b_runs; i++)
        values[i] = (struct diff_run){.value = launch_value(&runs[i], diff->metric),
                                      .count = runs[i].count};
    row->verdict = judge_values(diff, values, &row->a_value, &row->b_value, &row->noisy);
}

static void free_launches(struct launch_diff *row)
{
    histogram_free(&row->a.latencies);
    histogram_free(&row->b.latencies);
}

/* Keeps those of both sides. */
static void judge_launches(struct diff *diff, const struct launch_sums *runs)
{
    uint32_t kept = 0, all = diff->a_runs + diff->b_runs;
    for (uint32_t i = 0; i < diff->launch_count; i++) {
        struct launch_diff row = diff->launches[i];
        if (row.a.count == 0 || row.b.count == 0) {
            free_launches(&row);
            continue;
        }
        judge_launch(&row, diff, runs + (size_t)i * all);
        diff->slower += row.verdict == DIFF_SLOWER;
        diff->launches[kept++] = row;
    }
    diff->launch_count = kept;
}

/* ---- counters -------------------------------------------------------------------- */

double counter_side_mean(const struct counter_side *side)
{
    return side->length_ns > 0 ? side->area / side->length_ns : side->last;
}

static void add_counter(struct counter_side *to, const struct counter_sums *from)
{
    to->min = to->count && to->min < from->min ? to->min : from->min;
    to->max = to->count && to->max > from->max ? to->max : from->max;
    to->count += from->count;
    to->last = from->last;
    to->area += from->area;
    to->length_ns += (double)((uint64_t)from->last_ns - (uint64_t)from->first_ns);
}

static void diff_take_counter(struct diff *diff, struct counter_side *runs,
                              const struct sided_track *track)
{
    const struct trace_track *info = &track->stats->track;
    struct counter_diff *row =
        diff->counter_count ? &diff->counters[diff->counter_count - 1] : NULL;
    if (!track->stats->counter)
        return;
    if (!row || trace_text_compare(row->name, info->name) != 0 ||
        trace_text_compare(row->unit, info->unit) != 0) {
        row = &diff->counters[diff->counter_count++];
        row->name = info->name;
        row->unit = info->unit;
    }
    runs += (size_t)(diff->counter_count - 1) * (diff->a_runs + diff->b_runs);
    add_counter(&runs[track->run], track->stats->counter);
    add_counter(track->run < diff->a_runs ? &row->a : &row->b, track->stats->counter);
}

static struct side_values counter_values(const struct counter_side *runs, uint32_t count)
{
    struct side_values side = {.count = 0};
    for (uint32_t i = 0; i < count; i++)
        if (runs[i].count && side.count < DIFF_RUNS_MAX)
            side.value[side.count++] = counter_side_mean(&runs[i]);
    return side;
}

static enum diff_verdict judge_counter(const struct diff *diff, double a, double b)
{
    double part = (a < 0 ? -a : a) * (double)diff->threshold / 100000;
    return b - a > part ? DIFF_MORE : a - b > part ? DIFF_LESS : DIFF_SAME;
}

static void judge_one(struct counter_diff *row, const struct diff *diff,
                      const struct counter_side *runs)
{
    struct side_values a = counter_values(runs, diff->a_runs);
    struct side_values b = counter_values(runs + diff->a_runs, diff->b_runs);
    row->a_mean = median(&a);
    row->b_mean = median(&b);
    row->verdict = judge_counter(diff, row->a_mean, row->b_mean);
    row->noisy = (row->verdict == DIFF_MORE && overlap(&a, &b)) ||
                 (row->verdict == DIFF_LESS && overlap(&b, &a));
    if (row->noisy)
        row->verdict = DIFF_SAME;
}

static void judge_counters(struct diff *diff, const struct counter_side *runs)
{
    uint32_t kept = 0, all = diff->a_runs + diff->b_runs;
    for (uint32_t i = 0; i < diff->counter_count; i++) {
        struct counter_diff row = diff->counters[i];
        if (row.a.count == 0 || row.b.count == 0)
            continue;
        judge_one(&row, diff, runs + (size_t)i * all);
        diff->counters[kept++] = row;
    }
    diff->counter_count = kept;
}

/* ---- both ------------------------------------------------------------------------ */

/* All tracks of all runs, by name. NULL without memory. */
static struct sided_track *sided_tracks(const struct stats *const *stats, uint32_t runs,
                                        uint32_t *count_out)
{
    size_t all = 0, count = 0;
    for (uint32_t run = 0; run < runs; run++)
        all += stats[run]->track_count;
    struct sided_track *sided = all < UINT32_MAX ? calloc(all + 1, sizeof *sided) : NULL;
    for (uint32_t run = 0; sided && run < runs; run++)
        for (uint32_t i = 0; i < stats[run]->track_count; i++)
            if (stats[run]->tracks[i].launches || stats[run]->tracks[i].counter)
                sided[count++] = (struct sided_track){&stats[run]->tracks[i], run};
    if (count)
        qsort(sided, count, sizeof *sided, compare_tracks);
    *count_out = (uint32_t)count;
    return sided;
}

static bool make_tracks(struct diff *diff, const struct stats *const *stats)
{
    uint32_t count = 0, runs = diff->a_runs + diff->b_runs;
    struct sided_track *sided = sided_tracks(stats, runs, &count);
    size_t places = (count + (size_t)1) * runs;
    struct launch_sums *launches = calloc(places, sizeof *launches);
    struct counter_side *counters = calloc(places, sizeof *counters);
    diff->launches = calloc(count + 1u, sizeof *diff->launches);
    diff->counters = calloc(count + 1u, sizeof *diff->counters);
    bool done = sided && launches && counters && diff->launches && diff->counters;
    for (uint32_t i = 0; i < count && done; i++) {
        diff_take_counter(diff, counters, &sided[i]);
        done = take_launches(diff, launches, &sided[i]);
    }
    if (done) {
        count_comparisons(diff);
        judge_rows(diff);
        judge_launches(diff, launches);
        judge_counters(diff, counters);
    }
    for (size_t i = 0; launches && i < places; i++)
        histogram_free(&launches[i].latencies);
    free(launches);
    free(counters);
    free(sided);
    return done;
}

bool diff_make(struct diff *diff, const struct stats *const *stats)
{
    int64_t began_ns[2 * DIFF_RUNS_MAX];
    for (uint32_t i = 0; i < diff->a_runs + diff->b_runs; i++)
        began_ns[i] = stats[i]->first_ns;
    diff->turns = turns_of(began_ns, diff->a_runs, diff->b_runs);
    return make_rows(diff, stats) && make_tracks(diff, stats) && !diff->failed;
}

void diff_free(struct diff *diff)
{
    for (uint32_t i = 0; i < diff->count; i++) {
        histogram_free(&diff->rows[i].a.durations);
        histogram_free(&diff->rows[i].b.durations);
    }
    for (uint32_t i = 0; i < diff->launch_count; i++)
        free_launches(&diff->launches[i]);
    free(diff->rows);
    free(diff->runs);
    free(diff->launches);
    free(diff->counters);
}
