/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cell_value.h - cells of a file's own tables as text: CSV, TSV, JSON, and for people.
 *
 * Numbers and times are decimal, times and durations in nanoseconds; a name is
 * its text; a cell without a name or row is empty (JSON: null).
 */
#ifndef CELL_VALUE_H
#define CELL_VALUE_H

#include "out.h"
#include "rbwp_table.h"

enum cell_form { CELL_CSV, CELL_TSV, CELL_JSON, CELL_PEOPLE };

struct cell_source {
    const struct rbwp_catalog *catalog; /* of the names */
    const struct rbwp_rows *rows;
};

void cell_value(struct out *out, const struct cell_source *source, uint32_t column, uint32_t row,
                enum cell_form form);

#endif /* CELL_VALUE_H */
