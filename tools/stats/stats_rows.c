/* SPDX-License-Identifier: Apache-2.0 */
#include "stats_report.h"
#include "sorted.h"
#include "stats_tables.h"
#include "trace_category.h"

#include <stdlib.h>
#include <string.h>

/* The section whose table the category's rows stand in. */
static enum stats_section stats_section_of(unsigned category)
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

bool stats_has_title(const char *title, size_t bytes)
{
    for (const char *at = stats_row_titles; *at; at += *at == ',') {
        size_t own = strcspn(at, ",");
        if (own == bytes && memcmp(at, title, bytes) == 0)
            return true;
        at += own;
    }
    return false;
}

/* With equal sorting keys. */
static int compare_totals(const void *a, const void *b)
{
    const struct stats_row *left = a, *right = b;
    SORTED_BY(right, left, total_ns);
    SORTED_BY(left, right, category);
    int order = trace_text_compare(left->name, right->name);
    return order ? order : left->item < right->item ? -1 : left->item > right->item;
}

struct result_rows stats_rows_of(const struct stats *stats, enum stats_section section,
                                 const char *title)
{
    struct result_rows rows = result_ordered(stats->rows, sizeof *stats->rows, stats->row_count);
    struct result_place place;
    uint32_t count = rows.count;
    rows.count = 0;
    for (uint32_t i = 0; i < count; i++)
        if (stats_section_of(stats->rows[i].category) == section)
            rows.order[rows.count++] = i;
    title = title ? title : "total";
    if (!rows.order || !result_find(stats_row_columns, title, strlen(title), &place) ||
        !result_sort(&rows, place.column, stats, compare_totals)) {
        free(rows.order);
        rows.order = NULL;
        rows.count = 0;
    }
    return rows;
}
