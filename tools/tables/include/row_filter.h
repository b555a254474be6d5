/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row_filter.h - which rows of a table are wanted: by the columns whose roles say time, thread and
 * name.
 */
#ifndef ROW_FILTER_H
#define ROW_FILTER_H

#include "filter.h"
#include "input.h"
#include "table_bind.h"

/* Does not move while it is in use. */
struct row_filter {
    const struct filter_options *options;
    const struct rbwp_catalog *catalog; /* of the names */
    struct filter filter;
    struct names names; /* of threads */
    struct row_place place;
    int label; /* column; -1: there is none */
    uint64_t thread_id;
    bool any_thread, takes_thread; /* what was said of that thread */
};

/* False without memory. Stop it in each case. */
bool row_filter_start(struct row_filter *filter, const struct filter_options *options,
                      const struct input *input, const struct rbwp_catalog *catalog);
void row_filter_stop(struct row_filter *filter);

/* Before rows of a table. What is asked and is not in the table: "--from" ...; NULL: nothing. */
const char *row_filter_enter(struct row_filter *filter, const struct rbwp_schema *schema);
bool row_filter_takes(struct row_filter *filter, const struct rbwp_rows *rows, uint32_t row);

#endif /* ROW_FILTER_H */
