/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row_place.h - when and on which thread a row of a table happened, as far as the roles of its
 * columns say.
 */
#ifndef ROW_PLACE_H
#define ROW_PLACE_H

#include "rbwp_table.h"

/* Columns; -1: there is none. */
struct row_place {
    int time;   /* that of the start, or else the first time */
    int thread; /* where rows of a block may be of several threads */
};
struct row_place row_place_of(const struct rbwp_schema *schema);

/* False if the rows have no time. */
bool row_time(const struct row_place *place, const struct rbwp_rows *rows, uint32_t row,
              int64_t *time_ns_out);
/* 0: not known. */
uint64_t row_thread(const struct row_place *place, const struct rbwp_rows *rows, uint32_t row);

#endif /* ROW_PLACE_H */
