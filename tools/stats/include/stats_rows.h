/* SPDX-License-Identifier: Apache-2.0 */
/* stats_rows.h - which rows of the sums stand in which table, and in which order. */
#ifndef STATS_ROWS_H
#define STATS_ROWS_H

#include "stats.h"

enum stats_section {
    SECTION_WORK_ITEMS = 1, /* calls, by slot */
    SECTION_SUB_ITEMS = 2,
    SECTION_GPU_WORK = 4,
    SECTION_THREADS = 8,
    SECTION_GPUS = 16,
    SECTION_CONCURRENCY = 32,
    SECTION_LONGEST = 64,
    SECTION_RANGES = 128,
    SECTION_COUNTERS = 256,
    SECTION_INSIDE = 512,
    SECTION_MESSAGES = 1024,
    SECTION_NODES = 4096,
    SECTION_ALL = 2047 | SECTION_NODES,
    /* What rows are shown beside the ranges, and beside the work items. */
    SECTION_GPU_RANGES = 2048,
    SECTION_QUEUED = 8192,
    /* Only if they are asked for. */
    SECTION_FINDINGS = 16384,
    SECTION_ARGUMENTS = 32768
};

/* What rows have, and may be sorted by. */
enum stats_column {
    STATS_COUNT,
    STATS_TOTAL,
    STATS_SHARE,
    STATS_SELF,
    STATS_MEAN,
    STATS_P50,
    STATS_P90,
    STATS_P99,
    STATS_LONGEST,
    STATS_KIND,
    STATS_ITEM,
    STATS_NAME,
    STATS_COLUMNS
};
/* "count", "total" ... "max", "kind", "id", "name". */
extern const char *const stats_column_name[STATS_COLUMNS];
/* A choice of them, in order. */
struct stats_columns {
    uint8_t list[STATS_COLUMNS];
    unsigned count;
};
/* STATS_COLUMNS: none is called so. */
enum stats_column stats_column_of(const char *name, size_t bytes);

/* The section whose table the category's rows stand in. */
enum stats_section stats_section_of(unsigned category);

/* Numbers of the rows of a section (of a stats_section) by a column, numbers from the greatest on;
 * count_out of them, in memory that the caller frees. NULL when out of memory. */
uint32_t *stats_rows_of(const struct stats *stats, enum stats_section section,
                        enum stats_column order, uint32_t *count_out);

#endif /* STATS_ROWS_H */
