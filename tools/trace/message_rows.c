/* SPDX-License-Identifier: Apache-2.0 */
#include "message_rows.h"
#include "table_shape.h"

void message_columns_find(struct message_columns *columns, const struct rbwp_schema *schema)
{
    *columns = (struct message_columns){
        .key = TABLE_NO_COLUMN, .arrived = TABLE_NO_COLUMN, .bytes = TABLE_NO_COLUMN};
    columns->handled = schema_is_named(schema, "message_handled");
    if (!columns->handled && !schema_is_named(schema, "message_sent"))
        return;
    uint16_t key = schema_column(schema, "key");
    if (key == TABLE_NO_COLUMN || schema->columns[key].type != RBWP_COLUMN_U64)
        return;
    columns->key = key;
    columns->bytes = schema_column(schema, "bytes");
    columns->arrived = schema_column(schema, "arrived");
}

struct trace_message_end message_rows_end(const struct message_columns *columns,
                                          const struct rbwp_rows *rows, uint32_t row,
                                          const struct trace_axis *axis,
                                          const struct trace_span *span)
{
    struct trace_message_end end = {.handled = columns->handled,
                                    .key = rows->cells[columns->key][row],
                                    .track = span->track,
                                    .name = span->name,
                                    .span = span->id,
                                    .start_ns = span->start_ns,
                                    .stop_ns = span->stop_ns,
                                    .arrived_ns = span->start_ns};
    if (columns->bytes != TABLE_NO_COLUMN)
        end.bytes = rows->cells[columns->bytes][row];
    if (columns->handled && columns->arrived != TABLE_NO_COLUMN)
        end.arrived_ns = trace_on_axis(axis, (int64_t)rows->cells[columns->arrived][row]);
    if (end.arrived_ns > end.start_ns)
        end.arrived_ns = end.start_ns; /* a handler does not begin before */
    return end;
}
