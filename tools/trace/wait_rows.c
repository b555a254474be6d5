/* SPDX-License-Identifier: Apache-2.0 */
#include "wait_rows.h"
#include "table_shape.h"

#include <string.h>

enum { STILL_WAITS = 2 }; /* an outcome */

static bool is_named(const char *name, uint32_t bytes, const char *wanted)
{
    return bytes == strlen(wanted) && memcmp(name, wanted, bytes) == 0;
}

static uint16_t column_named(const struct rbwp_schema *schema, const char *name)
{
    for (uint16_t i = 0; i < schema->column_count; i++)
        if (is_named(schema->columns[i].name, schema->columns[i].name_bytes, name))
            return i;
    return TABLE_NO_COLUMN;
}

void wait_columns_find(struct wait_columns *columns, const struct rbwp_schema *schema)
{
    *columns = (struct wait_columns){TABLE_NO_COLUMN, TABLE_NO_COLUMN, TABLE_NO_COLUMN};
    if (!is_named(schema->name, schema->name_bytes, "wait"))
        return;
    columns->delay = column_named(schema, "delay");
    columns->outcome = column_named(schema, "outcome");
    if (columns->delay != TABLE_NO_COLUMN)
        columns->waker = column_named(schema, "waker");
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
