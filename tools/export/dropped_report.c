/* SPDX-License-Identifier: Apache-2.0 */
/* One line of counts. */
#include "dropped_report.h"
#include "export.h"
#include "message.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* clang-format off */
#define DROPPED_KINDS(KIND) \
    KIND(0, "links", "link", "links") \
    KIND(1, "counter_values", "value of a counter", "values of counters") \
    KIND(2, "points", "point in time", "points in time") \
    KIND(3, "ranges_and_waits", "range or wait in a queue", "ranges and waits in queues") \
    KIND(4, "spans_arguments", "span's arguments", "spans' arguments") \
    KIND(5, "losses", "mark of a loss", "marks of losses") \
    KIND(6, "table_rows", "row of a table", "rows of tables") \
    KIND(7, "facts", "fact about the recording", "facts about the recording") \
    KIND(8, "unfiltered_rows", "row of a table that filters know nothing of", \
         "rows of tables that filters know nothing of")
/* clang-format on */
#define WORDS(number, key, one, many) {one, many},
#define COLUMN(number, key, one, many)                                                             \
    RESULT_PLAIN(key, RESULT_COUNT, struct export_file, dropped[number]),
const struct result_column dropped_columns[] = {DROPPED_KINDS(COLUMN) RESULT_LAST};

/* For --json and --csv. */
static void sum_up(const struct trace_pass *pass, struct export_file *file)
{
    struct export_summary *summary = export_options_of(pass)->summary;
    if (!summary)
        return;
    file->path = strdup(pass->options->output.path);
    if (file->path &&
        grow_array32(&summary->files, &summary->room, summary->count + 1, sizeof *file)) {
        summary->files[summary->count++] = *file;
        return;
    }
    free(file->path);
    summary->failed = true;
}

void dropped_report(const struct trace_pass *pass, const char *format, struct dropped dropped)
{
    if (!pass->trace || pass->nothing)
        return;
    const struct trace_totals *totals = trace_totals(pass->trace);
    struct export_file file = {
        .totals = *totals,
        .dropped = {pass->sink.link ? dropped.links : totals->links,
                    pass->sink.samples ? dropped.counters : totals->samples, dropped.points,
                    dropped.no_work, dropped.details, pass->sink.loss ? 0 : totals->losses,
                    pass->sink.rows ? dropped.rows : totals->rows,
                    pass->sink.fact ? 0 : totals->own_facts, totals->unjudged_rows}};
    static const char *const words[EXPORT_DROPPED][2] = {DROPPED_KINDS(WORDS)};
    char line[512];
    int used = 0;
    for (size_t i = 0; i < EXPORT_DROPPED; i++)
        if (file.dropped[i])
            used += snprintf(line + used, sizeof line - (size_t)used, "%s%" PRIu64 " %s",
                             used ? ", " : "", file.dropped[i], words[i][file.dropped[i] > 1]);
    if (used)
        message("%s: dropped %s", format, line);
    sum_up(pass, &file);
}
