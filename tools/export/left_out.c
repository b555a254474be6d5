/* SPDX-License-Identifier: Apache-2.0 */
/* One line of counts. */
#include "left_out.h"
#include "message.h"
#include "trace_span.h"

#include <inttypes.h>
#include <stdio.h>

uint64_t left_out_arguments(const struct trace_span *spans, size_t count,
                            const struct trace_details *details)
{
    uint64_t found = 0;
    for (size_t i = 0; details && i < count; i++) {
        const struct trace_detail *detail = trace_detail_of(details, &spans[i]);
        found += detail && detail->arg_count;
    }
    return found;
}

void left_out_tell(const struct trace_pass *pass, const char *format, struct left_out left_out)
{
    if (!pass->trace || pass->nothing)
        return;
    const struct trace_totals *totals = trace_totals(pass->trace);
    const struct {
        uint64_t count;
        const char *one, *many;
    } kinds[] = {
        {pass->sink.link ? left_out.links : totals->links, "link", "links"},
        {pass->sink.samples ? left_out.counters : totals->samples, "value of a counter",
         "values of counters"},
        {left_out.points, "point in time", "points in time"},
        {left_out.no_work, "range or wait in a queue", "ranges and waits in queues"},
        {left_out.details, "span's arguments", "spans' arguments"},
        {pass->sink.loss ? 0 : totals->losses, "mark of a loss", "marks of losses"},
        {pass->sink.rows ? left_out.rows : totals->rows, "row of a table", "rows of tables"},
        {pass->sink.fact ? 0 : totals->own_facts, "fact about the recording",
         "facts about the recording"},
        {totals->unjudged_rows, "row of a table that filters know nothing of",
         "rows of tables that filters know nothing of"},
    };
    char line[512];
    int used = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (kinds[i].count)
            used += snprintf(line + used, sizeof line - (size_t)used, "%s%" PRIu64 " %s",
                             used ? ", " : "", kinds[i].count,
                             kinds[i].count == 1 ? kinds[i].one : kinds[i].many);
    if (used)
        message("%s: left out %s", format, line);
}
