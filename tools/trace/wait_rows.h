/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wait_rows.h - what rows of the table wait (SPEC.md, section 9.3) say beyond their roles: who
 * ended the wait, and how long the thread had been free to run.
 */
#ifndef WAIT_ROWS_H
#define WAIT_ROWS_H

#include "rbwp_table.h"
#include "trace.h"

#include <stdbool.h>

/* Its columns; waker is TABLE_NO_COLUMN of any other table. */
struct wait_columns {
    uint16_t waker, delay, outcome;
};
void wait_columns_find(struct wait_columns *columns, const struct rbwp_schema *schema);

struct wait_wake {
    uint64_t waker;          /* thread */
    struct trace_span delay; /* from the signal to the end of the wait: lies inside of it */
};
/* The wait's span gets its flags. False: nobody is known to have ended it. */
bool wait_rows_wake(const struct wait_columns *columns, const struct rbwp_rows *rows, uint32_t row,
                    struct trace_span *span, struct wait_wake *wake_out);

#endif /* WAIT_ROWS_H */
