/* SPDX-License-Identifier: Apache-2.0 */
#include "diff_views.h"
#include "json_text.h"

static void json_side(struct out *out, const char *key, const struct stats_row *row)
{
    static const char *const keys[] = {"count", "unfinished", "total", "self", "mean",
                                       "p50",   "p90",        "p99",   "max"};
    const uint64_t values[] = {row->count,
                               row->unfinished,
                               row->total_ns,
                               stats_self_ns(row),
                               stats_mean_ns(row),
                               stats_quantile_ns(row, 500),
                               stats_quantile_ns(row, 900),
                               stats_quantile_ns(row, 990),
                               row->max_ns};
    out_text(out, ",");
    json_key(out, key);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        out_text(out, i ? "," : "{");
        json_u64(out, keys[i], values[i]);
    }
    out_text(out, "}");
}

static void json_ratio(struct out *out, bool known, double ratio)
{
    out_text(out, ",\"ratio\":");
    if (known)
        out_format(out, "%.6f", ratio);
    else
        out_text(out, "null");
}

static void json_launch_side(struct out *out, const char *key, const struct launch_sums *side)
{
    static const char *const keys[] = {"count", "mean", "p50", "p99", "max"};
    const uint64_t values[] = {side->count, launch_sums_mean_ns(side),
                               launch_sums_quantile_ns(side, 500),
                               launch_sums_quantile_ns(side, 990), side->max_ns};
    out_text(out, ",");
    json_key(out, key);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        out_text(out, i ? "," : "{");
        json_u64(out, keys[i], values[i]);
    }
    out_text(out, "}");
}

static void json_launches(struct out *out, const struct tracks_diff *tracks)
{
    out_text(out, ",\n\"launches\":[");
    for (uint32_t i = 0; i < tracks->launch_count; i++) {
        const struct launch_diff *row = &tracks->launches[i];
        uint64_t a = row->a_value;
        out_text(out, i ? ",\n{" : "\n{");
        json_plain(out, "verdict", diff_verdict_name[row->verdict]);
        out_text(out, ",");
        json_name(out, "name", row->name.text, row->name.bytes);
        json_ratio(out, a, (double)row->b_value / (double)(a ? a : 1));
        json_launch_side(out, "a", &row->a);
        json_launch_side(out, "b", &row->b);
        out_format(out, ",\"noisy\":%s", row->noisy ? "true" : "false");
        out_text(out, "}");
    }
    out_text(out, "]");
}

static void json_counter_side(struct out *out, const char *key, const struct counter_side *side)
{
    static const char *const keys[] = {"min", "mean", "max"};
    const double values[] = {side->min, counter_side_mean(side), side->max};
    out_text(out, ",");
    json_key(out, key);
    out_text(out, "{");
    json_u64(out, "samples", side->count);
    for (int i = 0; i < 3; i++) {
        out_text(out, ",");
        json_key(out, keys[i]);
        json_f64(out, values[i]);
    }
    out_text(out, "}");
}

static void json_counters(struct out *out, const struct tracks_diff *tracks)
{
    out_text(out, ",\n\"counters\":[");
    for (uint32_t i = 0; i < tracks->counter_count; i++) {
        const struct counter_diff *row = &tracks->counters[i];
        double a = row->a_mean;
        out_text(out, i ? ",\n{" : "\n{");
        json_plain(out, "verdict", counter_verdict_name[row->verdict]);
        out_text(out, ",");
        json_name(out, "name", row->name.text, row->name.bytes);
        out_text(out, ",");
        json_name(out, "unit", row->unit.text, row->unit.bytes);
        bool known = a > 0 || a < 0;
        json_ratio(out, known, row->b_mean / (known ? a : 1));
        json_counter_side(out, "a", &row->a);
        json_counter_side(out, "b", &row->b);
        out_format(out, ",\"noisy\":%s", row->noisy ? "true" : "false");
        out_text(out, "}");
    }
    out_text(out, "]");
}

/* What was compared, of each run; null where it has none of that. */
static void json_values(struct out *out, const char *key, const struct diff_run *runs,
                        uint32_t count)
{
    json_key(out, key);
    for (uint32_t i = 0; i < count; i++) {
        out_text(out, i ? "," : "[");
        if (runs[i].count)
            out_u64(out, runs[i].value);
        else
            out_text(out, "null");
    }
    out_text(out, "]");
}

static void json_runs(struct out *out, const struct diff *diff, const struct diff_row *row)
{
    out_format(out, ",\"spread\":%.6f,", row->spread);
    json_bool(out, "noisy", row->noisy);
    out_text(out, ",");
    json_bool(out, "few", row->few);
    out_text(out, ",\"runs\":{");
    json_values(out, "a", row->runs, diff->a_runs);
    out_text(out, ",");
    json_values(out, "b", row->runs + diff->a_runs, diff->b_runs);
    out_text(out, "}");
}

void diff_json(struct out *out, const struct diff *diff, const struct tracks_diff *tracks)
{
    out_text(out, "{");
    json_plain(out, "by", diff_metric_name[diff->metric]);
    out_format(out, ",\"threshold_percent\":%.3f,", (double)diff->threshold / 1000);
    json_u64(out, "slower", diff->slower + tracks->slower);
    out_text(out, ",\n\"rows\":[");
    for (uint32_t i = 0; i < diff->count; i++) {
        const struct diff_row *row = &diff->rows[i];
        uint64_t a = row->of_a.median.value, b = row->of_b.median.value;
        out_text(out, i ? ",\n{" : "\n{");
        json_plain(out, "verdict", diff_verdict_name[row->verdict]);
        out_text(out, ",");
        json_plain(out, "category", trace_category_name[row->category]);
        out_text(out, ",");
        json_name(out, "name", row->name.text, row->name.bytes);
        json_ratio(out, row->a.count && row->b.count && a, (double)b / (double)(a ? a : 1));
        json_side(out, "a", &row->a);
        json_side(out, "b", &row->b);
        json_runs(out, diff, row);
        out_text(out, "}");
    }
    out_text(out, "]");
    json_launches(out, tracks);
    json_counters(out, tracks);
    out_text(out, "}\n");
}
