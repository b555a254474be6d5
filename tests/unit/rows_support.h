/* SPDX-License-Identifier: Apache-2.0 */
/* rows_support.h - what a file says of one of its tables, read back whole. */
#ifndef ROWS_SUPPORT_H
#define ROWS_SUPPORT_H

#include "rbwp_table.h"

struct read_table {
    struct rbwp_catalog *catalog; /* at the end of the file; for names */
    uint32_t columns;             /* 0: the file has no such table */
    size_t rows, room;
    uint64_t *cells;   /* row after row */
    uint64_t *threads; /* by row */
};

/* The test fails if a block of any table breaks a rule, or a row is missing. */
struct read_table read_table(const char *path, const char *name);
void read_table_free(struct read_table *table);

static inline const uint64_t *read_table_row(const struct read_table *table, size_t row)
{
    return table->cells + row * table->columns;
}

#endif /* ROWS_SUPPORT_H */
