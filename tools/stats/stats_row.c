/* SPDX-License-Identifier: Apache-2.0 */
#include "stats_row.h"

bool stats_row_merge(struct stats_row *row, const struct stats_row *from)
{
    row->count += from->count;
    row->unfinished += from->unfinished;
    row->open += from->open;
    row->open_ns = stats_sum(row->open_ns, from->open_ns);
    row->total_ns = stats_sum(row->total_ns, from->total_ns);
    row->nested_ns = stats_sum(row->nested_ns, from->nested_ns);
    row->min_ns = from->min_ns < row->min_ns ? from->min_ns : row->min_ns;
    row->max_ns = from->max_ns > row->max_ns ? from->max_ns : row->max_ns;
    return histogram_merge(&row->durations, &from->durations);
}
