/* SPDX-License-Identifier: Apache-2.0 */
/* Tracks of both traces are sorted by name and unit; equal ones are then neighbours. */
#include "tracks_diff.h"

#include <stdlib.h>
#include <string.h>

const char *const counter_verdict_name[] = {"more", "less", "same"};

struct sided_track {
    const struct stats_track *stats;
    bool is_b;
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
    return order ? order : compare_texts(left->unit, right->unit);
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

static bool take_launches(struct tracks_diff *made, const struct sided_track *track)
{
    const struct launch_sums *sums = track->stats->launches;
    if (!sums || sums->count == 0)
        return true;
    struct launch_diff *row = made->launch_count ? &made->launches[made->launch_count - 1] : NULL;
    if (!row || compare_texts(row->name, track->stats->track.name) != 0) {
        row = &made->launches[made->launch_count++];
        row->name = track->stats->track.name;
    }
    return add_launches(track->is_b ? &row->b : &row->a, sums);
}

static void free_launches(struct launch_diff *row)
{
    histogram_free(&row->a.latencies);
    histogram_free(&row->b.latencies);
}

/* Keeps those of both sides. */
static void judge_launches(struct tracks_diff *made, const struct diff *diff)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < made->launch_count; i++) {
        struct launch_diff row = made->launches[i];
        if (row.a.count == 0 || row.b.count == 0) {
            free_launches(&row);
            continue;
        }
        row.verdict = diff_judge(diff, launch_diff_value(&row.a, diff->metric),
                                 launch_diff_value(&row.b, diff->metric));
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

static void take_counter(struct tracks_diff *made, const struct sided_track *track)
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
    add_counter(track->is_b ? &row->b : &row->a, track->stats->counter);
}

static enum counter_verdict judge_counter(const struct diff *diff, double a, double b)
{
    double part = (a < 0 ? -a : a) * (double)diff->threshold / 100000;
    return b - a > part ? COUNTER_MORE : a - b > part ? COUNTER_LESS : COUNTER_SAME;
}

static void judge_counters(struct tracks_diff *made, const struct diff *diff)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < made->counter_count; i++) {
        struct counter_diff row = made->counters[i];
        if (row.a.count == 0 || row.b.count == 0)
            continue;
        row.verdict = judge_counter(diff, counter_side_mean(&row.a), counter_side_mean(&row.b));
        made->counters[kept++] = row;
    }
    made->counter_count = kept;
}

/* ---- both ------------------------------------------------------------------------ */

bool tracks_diff_make(struct tracks_diff *made, const struct diff *diff, const struct stats *a,
                      const struct stats *b)
{
    uint32_t count = a->track_count + b->track_count;
    struct sided_track *sided = calloc(count + 1u, sizeof *sided);
    *made = (struct tracks_diff){.launches = calloc(count + 1u, sizeof *made->launches),
                                 .counters = calloc(count + 1u, sizeof *made->counters)};
    bool done = sided && made->launches && made->counters;
    for (uint32_t i = 0; i < count && done; i++)
        sided[i] = (struct sided_track){i < a->track_count ? &a->tracks[i]
                                                           : &b->tracks[i - a->track_count],
                                        i >= a->track_count};
    if (done)
        qsort(sided, count, sizeof *sided, compare_tracks);
    for (uint32_t i = 0; i < count && done; i++) {
        take_counter(made, &sided[i]);
        done = take_launches(made, &sided[i]);
    }
    free(sided);
    if (!done)
        return false;
    judge_launches(made, diff);
    judge_counters(made, diff);
    return true;
}

void tracks_diff_free(struct tracks_diff *made)
{
    for (uint32_t i = 0; i < made->launch_count; i++)
        free_launches(&made->launches[i]);
    free(made->launches);
    free(made->counters);
}
