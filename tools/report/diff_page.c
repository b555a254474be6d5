/* SPDX-License-Identifier: Apache-2.0 */
/* The data of the page: both sides, and the rows of the diff with their histograms. */
#include "diff_page.h"

#include "json_text.h"
#include "node_sums.h"
#include "page_data.h"
#include "page_json.h"
#include "page_text.h"
#include "rbwp_format.h"

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

static void diff_page_put_json(const void *context, struct out *out)
{
    const struct diff_page *page = context;
    const struct diff *diff = page->diff;
    out_text(out, "{");
    json_plain(out, "version", rbwp_version());
    page_number(out, "min_count", diff->min_count);
    page_begin_list(out, "sides");
    put_side(out, page, 0, diff->a_runs);
    put_side(out, page, diff->a_runs, diff->b_runs);
    page_end_list(out);
    json_open(out, "columns", '{');
    for (const struct result_column *column = diff_columns; column->unit != RESULT_END; column++)
        if (column->list)
            page_titles(out, column->key, column->list->columns, NULL);
    out_text(out, "}");
    page_members(out, diff_columns, &(struct result_at){.all = diff, .row = diff}, 0);
    out_text(out, "}");
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
