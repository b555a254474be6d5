/* SPDX-License-Identifier: Apache-2.0 */
/* Tracks of both traces are sorted by name and unit; equal ones are then neighbours. */
#include "tracks_diff.h"

#include <stdlib.h>
#include <string.h>

const char *const counter_verdict_name[] = {"more", "less", "same"};

struct sided_track {
    const struct stats_track *stats;
    uint32_t run; /* of a, then of b */
};

/* Values of the runs of a side. */
struct side_values {
    double value[DIFF_RUNS_MAX];
    uint32_t count;
};

static int compare_texts(struct trace_text a, struct trace_text b)
{
    uint32_t bytes = a.bytes < b.bytes ? a.bytes : b.bytes;
    int order = bytes ? memcmp(a.text, b.text, bytes) : 0;
    return order ? order : (a.bytes > b.bytes) - (a.bytes < b.bytes);
}

static int compare_tracks(const void *a, const void *b)
{
    const struct trace_track *left = &((const struct sided_track *)a)->stats->track;
    const struct trace_track *right = &((const struct sided_track *)b)->stats->track;
    int order = compare_texts(left->name, right->name);
    order = order ? order : compare_texts(left->unit, right->unit);
    uint32_t run = ((const struct sided_track *)a)->run,
             other = ((const struct sided_track *)b)->run;
    return order ? order : (run > other) - (run < other);
}

/* ---- runs ------------------------------------------------------------------------ */

static int compare_values(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

static void add_value(struct side_values *side, double value)
{
    if (side->count < DIFF_RUNS_MAX)
        side->value[side->count++] = value;
}

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

uint64_t launch_diff_value(const struct launch_sums *side, enum diff_metric metric)
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
    to->min_ns = to->count && to->min_ns < from->min_ns ? to->min_ns : from->min_ns;
    to->max_ns = to->max_ns > from->max_ns ? to->max_ns : from->max_ns;
    to->count += from->count;
    to->early += from->early;
    if (__builtin_add_overflow(to->total_ns, from->total_ns, &to->total_ns))
        to->total_ns = UINT64_MAX;
    return histogram_merge(&to->latencies, &from->latencies);
}

static bool take_launches(struct tracks_diff *made, const struct diff *diff,
                          struct launch_sums *runs, const struct sided_track *track)
{
    const struct launch_sums *sums = track->stats->launches;
    if (!sums || sums->count == 0)
        return true;
    struct launch_diff *row = made->launch_count ? &made->launches[made->launch_count - 1] : NULL;
    if (!row || compare_texts(row->name, track->stats->track.name) != 0) {
        row = &made->launches[made->launch_count++];
        row->name = track->stats->track.name;
    }
    runs += (size_t)(made->launch_count - 1) * (diff->a_runs + diff->b_runs);
    return add_launches(&runs[track->run], sums) &&
           add_launches(track->run < diff->a_runs ? &row->a : &row->b, sums);
}

/* Runs that have none of it do not count. */
static struct side_values launch_values(const struct launch_sums *runs, uint32_t count,
                                        enum diff_metric metric)
{
    struct side_values side = {.count = 0};
    for (uint32_t i = 0; i < count; i++)
        if (runs[i].count)
            add_value(&side, (double)launch_diff_value(&runs[i], metric));
    return side;
}

static void judge_launch(struct launch_diff *row, const struct diff *diff,
                         const struct launch_sums *runs)
{
    struct side_values a = launch_values(runs, diff->a_runs, diff->metric);
    struct side_values b = launch_values(runs + diff->a_runs, diff->b_runs, diff->metric);
    row->a_value = (uint64_t)median(&a);
    row->b_value = (uint64_t)median(&b);
    row->verdict = diff_judge(diff, row->a_value, row->b_value);
    row->noisy = (row->verdict == DIFF_SLOWER && overlap(&a, &b)) ||
                 (row->verdict == DIFF_FASTER && overlap(&b, &a));
    if (row->noisy)
        row->verdict = DIFF_SAME;
}

static void free_launches(struct launch_diff *row)
{
    histogram_free(&row->a.latencies);
    histogram_free(&row->b.latencies);
}

/* Keeps those of both sides. */
static void judge_launches(struct tracks_diff *made, const struct diff *diff,
                           const struct launch_sums *runs)
{
    uint32_t kept = 0, all = diff->a_runs + diff->b_runs;
    for (uint32_t i = 0; i < made->launch_count; i++) {
        struct launch_diff row = made->launches[i];
        if (row.a.count == 0 || row.b.count == 0) {
            free_launches(&row);
            continue;
        }
        judge_launch(&row, diff, runs + (size_t)i * all);
        made->slower += row.verdict == DIFF_SLOWER;
        made->launches[kept++] = row;
    }
    made->launch_count = kept;
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

static void take_counter(struct tracks_diff *made, const struct diff *diff,
                         struct counter_side *runs, const struct sided_track *track)
{
    const struct trace_track *told = &track->stats->track;
    struct counter_diff *row =
        made->counter_count ? &made->counters[made->counter_count - 1] : NULL;
    if (!track->stats->counter)
        return;
    if (!row || compare_texts(row->name, told->name) != 0 ||
        compare_texts(row->unit, told->unit) != 0) {
        row = &made->counters[made->counter_count++];
        row->name = told->name;
        row->unit = told->unit;
    }
    runs += (size_t)(made->counter_count - 1) * (diff->a_runs + diff->b_runs);
    add_counter(&runs[track->run], track->stats->counter);
    add_counter(track->run < diff->a_runs ? &row->a : &row->b, track->stats->counter);
}

static struct side_values counter_values(const struct counter_side *runs, uint32_t count)
{
    struct side_values side = {.count = 0};
    for (uint32_t i = 0; i < count; i++)
        if (runs[i].count)
            add_value(&side, counter_side_mean(&runs[i]));
    return side;
}

static enum counter_verdict judge_counter(const struct diff *diff, double a, double b)
{
    double part = (a < 0 ? -a : a) * (double)diff->threshold / 100000;
    return b - a > part ? COUNTER_MORE : a - b > part ? COUNTER_LESS : COUNTER_SAME;
}

static void judge_one(struct counter_diff *row, const struct diff *diff,
                      const struct counter_side *runs)
{
    struct side_values a = counter_values(runs, diff->a_runs);
    struct side_values b = counter_values(runs + diff->a_runs, diff->b_runs);
    row->a_mean = median(&a);
    row->b_mean = median(&b);
    row->verdict = judge_counter(diff, row->a_mean, row->b_mean);
    row->noisy = (row->verdict == COUNTER_MORE && overlap(&a, &b)) ||
                 (row->verdict == COUNTER_LESS && overlap(&b, &a));
    if (row->noisy)
        row->verdict = COUNTER_SAME;
}

static void judge_counters(struct tracks_diff *made, const struct diff *diff,
                           const struct counter_side *runs)
{
    uint32_t kept = 0, all = diff->a_runs + diff->b_runs;
    for (uint32_t i = 0; i < made->counter_count; i++) {
        struct counter_diff row = made->counters[i];
        if (row.a.count == 0 || row.b.count == 0)
            continue;
        judge_one(&row, diff, runs + (size_t)i * all);
        made->counters[kept++] = row;
    }
    made->counter_count = kept;
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

bool tracks_diff_make(struct tracks_diff *made, const struct diff *diff,
                      const struct stats *const *stats)
{
    uint32_t count = 0, runs = diff->a_runs + diff->b_runs;
    struct sided_track *sided = sided_tracks(stats, runs, &count);
    size_t places = (count + (size_t)1) * runs;
    struct launch_sums *launches = calloc(places, sizeof *launches);
    struct counter_side *counters = calloc(places, sizeof *counters);
    *made = (struct tracks_diff){.launches = calloc(count + 1u, sizeof *made->launches),
                                 .counters = calloc(count + 1u, sizeof *made->counters)};
    bool done = sided && launches && counters && made->launches && made->counters;
    for (uint32_t i = 0; i < count && done; i++) {
        take_counter(made, diff, counters, &sided[i]);
        done = take_launches(made, diff, launches, &sided[i]);
    }
    if (done) {
        judge_launches(made, diff, launches);
        judge_counters(made, diff, counters);
    }
    for (size_t i = 0; launches && i < places; i++)
        histogram_free(&launches[i].latencies);
    free(launches);
    free(counters);
    free(sided);
    return done;
}

void tracks_diff_free(struct tracks_diff *made)
{
    for (uint32_t i = 0; i < made->launch_count; i++)
        free_launches(&made->launches[i]);
    free(made->launches);
    free(made->counters);
}
