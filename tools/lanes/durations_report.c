/* SPDX-License-Identifier: Apache-2.0 */
#include "durations_report.h"
#include "id_names.h"
#include "message.h"
#include "text_name.h"

#include <inttypes.h>
#include <string.h>

enum { NAME_COLUMNS = 20, GROUP, EVENT, BLOCK };

RESULT_MAKES(mean, rbwp_duration,
             result_u64(row->count ? (uint64_t)(rbwp_duration_mean_ns(row) + 0.5) : 0))

static struct result_cell made(const struct result_at *at, int what)
{
    const struct durations_report *report = at->all;
    const struct rbwp_duration *row = at->row;
    if (what == BLOCK)
        return report->by_block ? result_u64(row->group >> 32) : result_nothing();
    return result_word(what == GROUP
                           ? report->group(report->context, row->group & UINT32_MAX, report->text)
                           : report->event(report->context, row->event, report->text));
}

static void durations_report_put_name(struct out *out, const struct result_cell name)
{
    text_name(out, name.text, name.bytes);
    for (uint32_t i = name.bytes; i < NAME_COLUMNS; i++)
        out_text(out, " ");
    out_text(out, " ");
}

static void show_names(struct out *out, const struct result_at *at)
{
    const struct durations_report *report = at->all;
    if (report->by_block)
        out_format(out, "%8" PRIu64 " ", made(at, BLOCK).u64);
    durations_report_put_name(out, made(at, GROUP));
    durations_report_put_name(out, made(at, EVENT));
}

#define ROW(field) RESULT_FIELD(struct rbwp_duration, field)
#define NAMES "group                event                "
#define BLOCK_NAMES "   block " NAMES
#define NUMBERS ",n,total us,mean us,min us,p50 us,p99 us,max us,unmatched"

static const struct result_column columns[] = {
    {NULL, NAMES, sizeof NAMES - 1, RESULT_OWN, .show = show_names},
    {NULL, BLOCK_NAMES, sizeof BLOCK_NAMES - 1, RESULT_OWN, .show = show_names},
    {"block", NULL, 0, RESULT_ID, RESULT_MADE(made, BLOCK), .optional = true},
    {"group", NULL, 0, RESULT_TEXT, RESULT_MADE(made, GROUP)},
    {"event", NULL, 0, RESULT_TEXT, RESULT_MADE(made, EVENT)},
    {"n", "n", 10, RESULT_ID, ROW(count)},
    {"total_us", "total us", 15, RESULT_MICROS, ROW(total_ns)},
    {"mean_us", "mean us", 12, RESULT_MICROS, RESULT_MADE(mean, 0)},
    {"min_us", "min us", 12, RESULT_MICROS, ROW(min_ns)},
    {"p50_us", "p50 us", 12, RESULT_MICROS, ROW(p50_ns)},
    {"p99_us", "p99 us", 12, RESULT_MICROS, ROW(p99_ns)},
    {"max_us", "max us", 12, RESULT_MICROS, ROW(max_ns)},
    {"unmatched", "unmatched", 10, RESULT_ID, ROW(unmatched)},
    {0}};
const struct result_table durations_table = {"durations", NULL, columns, NAMES NUMBERS, NULL, 0};

struct result_rows durations_rows(const struct result_at *at)
{
    size_t count;
    const struct rbwp_duration *rows =
        rbwp_durations_rows(((const struct durations_report *)at->all)->durations, &count);
    return result_array(rows, sizeof *rows, (uint32_t)count);
}

static void durations_report_put_text(struct out *out, const struct durations_report *report)
{
    const struct result_view view = {out, {"", "", "", "", false}, UINT16_MAX, false, 0, NULL};
    const struct result_rows rows = durations_rows(&(struct result_at){.all = report});
    const struct result_layout layout = result_layout(
        &view, &durations_table, report->by_block ? BLOCK_NAMES NUMBERS : NAMES NUMBERS, 0);
    result_text_titles(&view, &layout);
    result_text_rows(&view, &layout, &rows, report, NULL, NULL);
}

enum exit_code durations_show(struct durations_report *report, const struct kernel_options *options,
                              struct operands files)
{
    struct out out;
    char text[ID_NAME_BYTES];
    enum exit_code code = EXIT_BAD_DATA;
    report->text = text;
    report->durations = rbwp_durations_new();
    if (!report->durations || !report->fill(report->context, report->durations)) {
        message("out of memory");
    } else if (out_open(&out, &options->export.reading.output, files)) {
        if (options->json || options->csv)
            result_document(&out, report->json, options->csv, report, report->context);
        else
            durations_report_put_text(&out, report);
        code = out_close(&out);
    }
    rbwp_durations_free(report->durations);
    return code;
}
