/* SPDX-License-Identifier: Apache-2.0 */
/* The data of the page: both sides, and the rows of the diff with their histograms. */
#include "diff_page.h"

#include "json_text.h"
#include "node_sums.h"
#include "page_data.h"
#include "page_json.h"
#include "page_text.h"
#include "rbwp_format.h"
#include "trace_category.h"

#include <errno.h>

enum { PARTS = 200 };

/* How busy the workers of all processes were in each part of the run: a letter each. */
static void put_course(struct out *out, const struct stats *stats)
{
    struct node_sums sums;
    char letters[PARTS + 1] = "";
    if (!node_sums_make(&sums, stats)) {
        out_give_up(out, ENOMEM);
        return;
    }
    for (uint32_t part = 0; part < PARTS; part++) {
        double busy = 0;
        for (uint32_t i = 0; i < sums.count; i++)
            busy += node_share_at(stats, &sums.list[i], part, PARTS) * sums.list[i].workers;
        letters[part] = page_share_letter(stats->workers ? busy / stats->workers : 0);
    }
    node_sums_free(&sums);
    json_plain(out, "course", letters);
}

/* The figures are those of the first run. */
static void put_side(struct out *out, const struct diff_page *page, uint32_t first, uint32_t runs)
{
    const struct stats *stats = page->stats[first];
    out_text(out, first ? ",\n{" : "\n{");
    page_begin_list(out, "files");
    for (uint32_t i = 0; i < runs; i++) {
        out_text(out, i ? "," : "");
        json_string(out, page->files[first + i], strlen(page->files[first + i]));
    }
    page_end_list(out);
    put_course(out, stats);
    page_number(out, "extent_ns", stats_extent_ns(stats));
    page_number(out, "workers", stats->workers);
    page_number(out, "busy_ns", stats->worker_busy_ns);
    page_number(out, "lost", stats->lost_records);
    page_end(out, "spans", stats->spans);
}

static void put_row_side(struct out *out, const char *key, const struct diff_side *side,
                         const struct stats_row *sums)
{
    json_key(out, key);
    out_text(out, "{");
    page_number(out, "value", side->median.value);
    page_number(out, "count", side->median.count);
    page_number(out, "total_ns", side->median.total_ns);
    page_number(out, "mean_ns", stats_mean_ns(sums));
    page_number(out, "p50_ns", stats_quantile_ns(sums, 500));
    page_number(out, "p90_ns", stats_quantile_ns(sums, 900));
    page_number(out, "p99_ns", stats_quantile_ns(sums, 990));
    page_number(out, "max_ns", sums->max_ns);
    page_histogram(out, "histogram", &sums->durations);
    page_end(out, "all", sums->count);
}

/* Values of runs; null of those without. */
static void put_runs(struct out *out, const char *key, const struct diff_run *runs, uint32_t count)
{
    page_begin_list(out, key);
    for (uint32_t i = 0; i < count; i++) {
        out_text(out, i ? "," : "");
        if (runs[i].count)
            page_exact(out, runs[i].value);
        else
            out_text(out, "null");
    }
    page_end_list(out);
}

static void diff_page_put_row(struct out *out, const struct diff *diff, const struct diff_row *row)
{
    json_plain(out, "verdict", diff_verdict_name[row->verdict]);
    json_plain(out, "category", trace_category_name[row->category]);
    page_text(out, "name", row->name);
    put_row_side(out, "a", &row->of_a, &row->a);
    put_row_side(out, "b", &row->of_b, &row->b);
    put_runs(out, "a_runs", row->runs, diff->a_runs);
    put_runs(out, "b_runs", row->runs + diff->a_runs, diff->b_runs);
    page_number(out, "noisy", row->noisy);
    page_number(out, "few", row->few);
    json_key(out, "spread");
    out_format(out, "%.6f}", row->spread);
}

static void diff_page_put_launches(struct out *out, const struct diff *diff)
{
    page_begin_list(out, "launches");
    for (uint32_t i = 0; i < diff->launch_count; i++) {
        const struct launch_diff *row = &diff->launches[i];
        out_text(out, i ? ",\n{" : "\n{");
        json_plain(out, "verdict", diff_verdict_name[row->verdict]);
        page_text(out, "name", row->name);
        page_number(out, "a", row->a_value);
        page_number(out, "b", row->b_value);
        page_number(out, "a_count", row->a.count);
        page_number(out, "b_count", row->b.count);
        page_end(out, "noisy", row->noisy);
    }
    page_end_list(out);
}

static void put_counters(struct out *out, const struct diff *diff)
{
    page_begin_list(out, "counters");
    for (uint32_t i = 0; i < diff->counter_count; i++) {
        const struct counter_diff *row = &diff->counters[i];
        const double values[] = {row->a_mean, row->b_mean, row->a.max, row->b.max};
        static const char *const keys[] = {"a", "b", "a_max", "b_max"};
        out_text(out, i ? ",\n{" : "\n{");
        json_plain(out, "verdict", diff_verdict_name[row->verdict]);
        page_text(out, "name", row->name);
        page_text(out, "unit", row->unit);
        for (int k = 0; k < 4; k++) {
            json_key(out, keys[k]);
            json_f64(out, values[k]);
        }
        page_end(out, "noisy", row->noisy);
    }
    page_end_list(out);
}

static void diff_page_put_json(const void *context, struct out *out)
{
    const struct diff_page *page = context;
    const struct diff *diff = page->diff;
    out_text(out, "{");
    json_plain(out, "version", rbwp_version());
    json_plain(out, "by", diff_metric_name[diff->metric]);
    page_number(out, "threshold", diff->threshold);
    page_number(out, "min_count", diff->min_count);
    page_begin_list(out, "sides");
    put_side(out, page, 0, diff->a_runs);
    put_side(out, page, diff->a_runs, diff->b_runs);
    page_end_list(out);
    page_begin_list(out, "rows");
    for (uint32_t i = 0; i < diff->count; i++) {
        out_text(out, i ? ",\n{" : "\n{");
        diff_page_put_row(out, diff, &diff->rows[i]);
    }
    page_end_list(out);
    diff_page_put_launches(out, diff);
    put_counters(out, diff);
    page_end(out, "slower", diff->slower);
}

static bool diff_page_write_data(void *context, struct page_data *data)
{
    return page_frame_json(data, diff_page_put_json, context);
}

bool diff_page_write(struct out *out, const struct diff_page *page)
{
    struct diff_page own = *page;
    return page_frame(out, diff_page_write_data, &own,
                      (struct page_script){page_diff_html, page_diff_html_bytes, page_diff_js,
                                           page_diff_js_bytes});
}
