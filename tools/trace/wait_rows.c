/* SPDX-License-Identifier: Apache-2.0 */
#include "wait_rows.h"
#include "table_shape.h"

enum { STILL_WAITS = 2 }; /* an outcome */

void wait_columns_find(struct wait_columns *columns, const struct rbwp_schema *schema)
{
    *columns = (struct wait_columns){TABLE_NO_COLUMN, TABLE_NO_COLUMN, TABLE_NO_COLUMN};
    if (!schema_is_named(schema, "wait"))
        return;
    columns->delay = schema_column(schema, "delay");
    columns->outcome = schema_column(schema, "outcome");
    if (columns->delay != TABLE_NO_COLUMN)
        columns->waker = schema_column(schema, "waker");
}

bool wait_rows_wake(const struct wait_columns *columns, const struct rbwp_rows *rows, uint32_t row,
                    struct trace_span *span, struct wait_wake *wake_out)
{
    if (columns->outcome != TABLE_NO_COLUMN && rows->cells[columns->outcome][row] == STILL_WAITS)
        span->flags |= TRACE_UNFINISHED; /* not open: who waits is not stuck in its work */
    uint64_t delay_ns = rows->cells[columns->delay][row];
    *wake_out = (struct wait_wake){.waker = rows->cells[columns->waker][row], .delay = *span};
    if (delay_ns < trace_duration_ns(span))
        wake_out->delay.start_ns = span->stop_ns - (int64_t)delay_ns;
    return wake_out->waker != 0;
}
