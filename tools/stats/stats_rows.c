/* SPDX-License-Identifier: Apache-2.0 */
#include "stats_rows.h"

#include <stdlib.h>
#include <string.h>

enum stats_section stats_section_of(unsigned category)
{
    if (stats_is_call(category))
        return SECTION_WORK_ITEMS;
    if (category == TRACE_RANGE)
        return SECTION_RANGES;
    if (category == TRACE_ANNOTATION)
        return SECTION_GPU_RANGES;
    if (category == TRACE_QUEUED)
        return SECTION_QUEUED;
    return category == TRACE_GPU_WORK || category == TRACE_COPY ? SECTION_GPU_WORK
                                                                : SECTION_SUB_ITEMS;
}

static int compare_text(struct trace_text a, struct trace_text b)
{
    int order = memcmp(a.text, b.text, a.bytes < b.bytes ? a.bytes : b.bytes);
    return order ? order : a.bytes < b.bytes ? -1 : a.bytes > b.bytes;
}

static int compare_rows(const void *a, const void *b, void *context)
{
    const struct stats *stats = context;
    const struct stats_row *left = &stats->rows[*(const uint32_t *)a];
    const struct stats_row *right = &stats->rows[*(const uint32_t *)b];
    if (left->total_ns != right->total_ns)
        return left->total_ns > right->total_ns ? -1 : 1;
    if (left->category != right->category)
        return left->category < right->category ? -1 : 1;
    int order = compare_text(left->name, right->name);
    return order ? order : left->item < right->item ? -1 : left->item > right->item;
}

uint32_t *stats_rows_of(const struct stats *stats, enum stats_section section, uint32_t *count_out)
{
    uint32_t *rows = malloc((stats->row_count + 1) * sizeof *rows), count = 0;
    if (!rows)
        return NULL;
    for (uint32_t i = 0; i < stats->row_count; i++)
        if (stats_section_of(stats->rows[i].category) == section)
            rows[count++] = i;
    qsort_r(rows, count, sizeof *rows, compare_rows, (void *)(uintptr_t)stats);
    *count_out = count;
    return rows;
}
