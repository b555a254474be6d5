/* SPDX-License-Identifier: Apache-2.0 */
#include "queue_rows.h"
#include "table_shape.h"

void queue_columns_find(struct queue_columns *columns, const struct rbwp_schema *schema)
{
    *columns = (struct queue_columns){TABLE_NO_COLUMN, TABLE_NO_COLUMN};
    if (!schema_is_named(schema, "queued"))
        return;
    uint16_t slot = schema_column(schema, "slot");
    if (slot == TABLE_NO_COLUMN || schema->columns[slot].type != RBWP_COLUMN_U64)
        return;
    columns->slot = slot;
    columns->from = schema_column(schema, "from");
}
