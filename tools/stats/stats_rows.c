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

const char *const stats_column_name[STATS_COLUMNS] = {
    "count", "total", "share", "self", "mean", "p50", "p90", "p99", "max", "kind", "id", "name"};

enum stats_column stats_column_of(const char *name, size_t bytes)
{
    unsigned column = 0;
    while (column < STATS_COLUMNS && (strlen(stats_column_name[column]) != bytes ||
                                      memcmp(stats_column_name[column], name, bytes) != 0))
        column++;
    return (enum stats_column)column;
}

static uint64_t number_of(const struct stats_row *row, enum stats_column column)
{
    switch (column) {
    case STATS_COUNT:
        return row->count;
    case STATS_SELF:
        return stats_self_ns(row);
    case STATS_MEAN:
        return stats_mean_ns(row);
    case STATS_P50:
        return stats_quantile_ns(row, 500);
    case STATS_P90:
        return stats_quantile_ns(row, 900);
    case STATS_P99:
        return stats_quantile_ns(row, 990);
    case STATS_LONGEST:
        return row->max_ns;
    default:
        return row->total_ns;
    }
}

/* A row on its way into its place: what it is sorted by is looked up once. */
struct sorted_row {
    const struct stats_row *row;
    uint64_t key;
    uint32_t number;
};

static int compare_totals(const struct stats_row *left, const struct stats_row *right)
{
    if (left->total_ns != right->total_ns)
        return left->total_ns > right->total_ns ? -1 : 1;
    if (left->category != right->category)
        return left->category < right->category ? -1 : 1;
    int order = compare_text(left->name, right->name);
    return order ? order : left->item < right->item ? -1 : left->item > right->item;
}

static int compare_numbers(const void *a, const void *b)
{
    const struct sorted_row *left = a, *right = b;
    if (left->key != right->key)
        return left->key > right->key ? -1 : 1;
    return compare_totals(left->row, right->row);
}

static int compare_names(const void *a, const void *b)
{
    const struct sorted_row *left = a, *right = b;
    int order = compare_text(left->row->name, right->row->name);
    return order ? order : compare_totals(left->row, right->row);
}

static int compare_kinds(const void *a, const void *b)
{
    const struct sorted_row *left = a, *right = b;
    int order = (int)left->row->category - (int)right->row->category;
    return order ? order : compare_totals(left->row, right->row);
}

static int compare_items(const void *a, const void *b)
{
    const struct sorted_row *left = a, *right = b;
    if (left->row->item != right->row->item)
        return left->row->item < right->row->item ? -1 : 1;
    return compare_totals(left->row, right->row);
}

uint32_t *stats_rows_of(const struct stats *stats, enum stats_section section,
                        enum stats_column order, uint32_t *count_out)
{
    struct sorted_row *sorted = malloc((stats->row_count + (size_t)1) * sizeof *sorted);
    uint32_t *rows = malloc((stats->row_count + (size_t)1) * sizeof *rows), count = 0;
    for (uint32_t i = 0; sorted && rows && i < stats->row_count; i++)
        if (stats_section_of(stats->rows[i].category) == section)
            sorted[count++] =
                (struct sorted_row){&stats->rows[i], number_of(&stats->rows[i], order), i};
    if (count)
        qsort(sorted, count, sizeof *sorted,
              order == STATS_NAME   ? compare_names
              : order == STATS_KIND ? compare_kinds
              : order == STATS_ITEM ? compare_items
                                    : compare_numbers);
    for (uint32_t i = 0; rows && i < count; i++)
        rows[i] = sorted[i].number;
    if (!sorted) {
        free(rows);
        rows = NULL;
    }
    free(sorted);
    *count_out = count;
    return rows;
}
